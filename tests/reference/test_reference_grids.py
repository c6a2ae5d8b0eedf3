"""Every figure of the reference texts that a shipped grid carries, read through the three doors.

Each row is asserted on `gridplan.evaluate` and on `gridplan.explain`, and one cell of each grid on the command line.
A tolerance of 0 is equality; else it is half a unit of the last digit that a text prints. Texts: THEORY "Sizing a
Serving Cluster End to End"; PROBLEM "Implement the cluster sizing formula"; LESSON "Capacity Planning: From Traffic
Profile to GPU Count"; CHAINS "Inference system design chains". Where a text prints another number, `test_errata.py`
says which and why; figures that need another setting than a shipped grid has are in `test_reference_values.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import gridplan

GIB, MB, GB, MILLI, MICRO, NANO = 2**30, 1e6, 1e9, 1e-3, 1e-6, 1e-9
Rows = dict[str, tuple[float | str, float]]

THEORY_AND_PROBLEM: dict[tuple[str, str], Rows] = {
    # M_kv 40 GB, m 500 MB, eta 0.9, W 4 s, 500 req/s; ratio 300, two bytes a parameter
    ("theory", "scenario=nominal,rho_target=0.7"): {
        "kv_pool_bytes_per_gpu": (40 * GB, 0),
        "concurrency_memory": (72, 0),
        "concurrency_compute": (300, 0),
        "binding_constraint": ("memory", 0),
        "lambda_safe": (12.6, 1e-12),
        "in_flight": (2000, 1e-9),
        "replicas": (40, 0),
    },
    ("theory", "scenario=kv_halved,rho_target=0.7"): {"concurrency_memory": (144, 0), "replicas": (20, 0)},
    ("theory", "scenario=w_halved,rho_target=0.7"): {"concurrency_memory": (72, 0), "replicas": (20, 0)},
    ("theory", "scenario=nominal,rho_target=0.9"): {"replicas": (31, 0)},
    # 80 - 28 - 6 = 46 GB; eta 0.92, 640 MB; 900 req/s, 5 s, rho 0.65
    ("coding-problem", ""): {
        "kv_pool_bytes_per_gpu": (46 * GB, 0),
        "concurrency_memory": (66, 0),
        "concurrency": (66, 0),
        "concurrency_compute": (300, 0),
        "binding_constraint": ("memory", 0),
        "replicas_fractional": (104.895, 5e-4),
        "replicas": (105, 0),
    },
}

LESSON: dict[tuple[str, str], Rows] = {
    ("lesson", "scenario=nominal,instance=aws-p4de"): {
        "prompt_tokens_mean": (99.2, 1e-9),
        "output_tokens_mean": (121.6, 1e-9),
        "context_tokens_mean": (220.8, 1e-9),
        "context_tokens_max": (768, 0),
        "weights_bytes_per_gpu": (14.90 * GIB, 1),
        "usable_memory_bytes_per_gpu": (71.685 * GIB, 1),
        "kv_pool_bytes_per_gpu": (55.035 * GIB, 1),
        "kv_bytes_per_token": (131_072, 0),
        "kv_pool_tokens": (450_846, 0),
        "concurrency_memory": (1970, 0),
        "concurrency_memory_worst": (587, 0),
        "step_weights_read_s": (16.06e9 / 1550e9, 1e-8),
        "prefill_compute_per_token_s": (2 * 8.03e9 / 140e12, 1e-9),
        "decode_bytes": (16.986 * GB, 0.5 * MB),
        "decode_step_s": (10.959 * MILLI, 0.5 * MICRO),
        "prefill_longest_flop": (8.223e12, 5e8),
        "prefill_longest_s": (58.73 * MILLI, 5 * MICRO),
        "lambda_instance": (10.0, 0),
        "capacity_source": ("measured", 0),
        "lambda_basis": ("percentile_measured", 0),
        "binding_constraint": ("measured", 0),
        "lambda_safe": (7.0, 1e-12),
        "replicas_active": (9, 0),
        "replicas": (10, 0),
        "nodes": (2, 0),
        "gpus_deployed": (16, 0),
        "arrival_rate_safe_deployed": (112, 1e-9),
        "arrival_rate_average": (20, 0),
        "requests_per_month": (52.704e6, 1e-3),
        "output_tokens_per_month": (6.4088e9, 5e4),
        "usd_per_month": (59_965.44, 1e-6),
        "usd_per_mtok_output": (9.357, 5e-4),
    },
    ("lesson", "scenario=nominal,instance=fractional"): {
        "nodes": (10, 0),
        "gpus_deployed": (10, 0),
        "usd_per_month": (18_226.80, 1e-6),
        "usd_per_mtok_output": (2.844, 5e-4),
    },
    ("lesson", "scenario=surge,instance=aws-p4de"): {
        "replicas_active": (13, 0),
        "gpus_deployed": (16, 0),
        "utilization_deployed_safe": (0.80, 5e-3),
        "utilization_deployed": (0.5625, 1e-12),
    },
    ("lesson", "scenario=fp8_kv,instance=aws-p4de"): {
        "kv_bytes_per_token": (65_536, 0),
        "capacity_source": ("scaled", 0),
    },
    ("lesson", "scenario=ttft_400ms,instance=aws-p4de"): {
        "lambda_safe": (5.2, 1e-12),
        "replicas_active": (12, 0),
        "replicas": (13, 0),
    },
    ("lesson", "scenario=gpu_loss,instance=aws-p4de"): {"arrival_rate_safe_after_loss": (105, 1e-9)},
    ("lesson", "scenario=gpu_loss,instance=fractional"): {"arrival_rate_safe_after_loss": (63, 1e-9)},
    ("lesson", "scenario=node_loss,instance=aws-p4de"): {
        "arrival_rate_safe_after_loss": (56, 1e-9),
        "headroom_kept_after_loss": (0, 0),
        "slo_held_after_loss": (1, 0),
        "replicas_after_loss": (8, 0),  # 60 of 8 x 10: the limits hold at 75%
    },
    ("lesson", "scenario=context_x2_lambda7,instance=aws-p4de"): {
        "replicas_active": (13, 0),
        "replicas": (14, 0),
        "nodes": (2, 0),
        "arrival_rate_safe_deployed": (78.4, 1e-9),
    },
    ("lesson", "scenario=context_and_surge,instance=aws-p4de"): {
        "replicas_active": (19, 0),
        "replicas": (20, 0),
        "nodes": (3, 0),
    },
    ("lesson-opening", "scenario=given_1000_tok_s,rho_target=1"): {
        "concurrency_memory": (450, 0),
        "concurrency_slo": (4, 0),
        "concurrency": (4, 0),
        "in_flight": (100, 1e-9),
        "replicas_active": (25, 0),
        "replicas": (26, 0),
        "nodes": (4, 0),
        "usd_per_hour": (163.84, 1e-9),
        "usd_per_day": (3932.16, 1e-9),
        "output_tokens_per_month": (21.96e9, 1),
        "usd_per_mtok_output": (5.461, 5e-4),
    },
    ("lesson-opening", "scenario=given_1000_tok_s,rho_target=0.7"): {"replicas_active": (36, 0)},
    ("lesson-exercises", "scenario=exercise_1,instance=aws-p4de"): {
        "kv_pool_bytes_per_gpu": (19.17 * GIB, 1),
        "kv_pool_tokens": (157_040, 0),
        "concurrency_memory": (148, 0),
    },
    ("lesson-exercises", "scenario=nominal,instance=aws-p4de"): {
        "replicas_active": (8, 0),
        "replicas": (9, 0),
        "nodes": (2, 0),
        "arrival_rate_safe_deployed": (89.6, 1e-9),
    },
    ("lesson-exercises", "scenario=nominal,instance=fractional"): {
        "arrival_rate_average": (16, 0),
        "usd_per_month": (13_834.80, 1e-6),
        "output_tokens_per_month": (5.127e9, 5e5),
        "usd_per_mtok_output": (2.698, 5e-4),
    },
    ("lesson-exercises", "scenario=exercise_4,instance=aws-p4de"): {
        "replicas_active": (13, 0),
        "replicas": (14, 0),
        "nodes": (2, 0),
        "arrival_rate_safe_deployed": (78.4, 1e-9),
    },
    ("lesson-exercises", "scenario=exercise_4_surge,instance=aws-p4de"): {
        "replicas_active": (19, 0),
        "replicas": (20, 0),
        "nodes": (3, 0),
    },
}

CHAINS: dict[tuple[str, str], Rows] = {
    ("chains-70b", ""): {
        "prefill_compute_per_token_s": (35.649 * MICRO, 0.5 * NANO),
        "prefill_demand": (14.260, 5e-4),
        "weights_bytes_per_gpu": (17.6375 * GB, 0),
        "step_weights_read_s": (7.020 * MILLI, 0.5 * MICRO),
        "kv_bytes_per_sequence_per_gpu": (176.128 * MB, 1e-6),
        "kv_read_per_context_token_s": (32.60 * NANO, 0.006 * NANO),
        "kv_read_per_sequence_s": (70.10 * MICRO, 5 * NANO),
        "decode_demand": (4.206, 5e-4),
        "tpot_share": (0.8596, 5e-5),
        "replicas_fractional": (33.05, 5e-3),
        "replicas": (34, 0),
        "gpus": (136, 0),
        "output_tokens_per_s_replica": (1765, 0.5),
        "tpot_s": (15.36 * MILLI, 5 * MICRO),
        "batch_mean": (27.1, 0.05),
        "burst_to_slo": (1.583, 5e-4),
        "kv_pool_tokens": (702_879, 0),
    },
    ("chains-price", ""): {
        "prefill_compute_per_token_s": (32.48 * MICRO, 5 * NANO),
        "usd_per_mtok_prefill_full": (0.02255, 5e-6),
        "decode_bytes": (41.226 * GB, 0.5 * MB),
        "decode_step_s": (16.408 * MILLI, 0.5 * MICRO),
        "usd_per_mtok_decode_full": (0.08902, 5e-6),
    },
}

TABLE = {**THEORY_AND_PROBLEM, **LESSON, **CHAINS}
FIRST_CELLS = {name: at for name, at in reversed(TABLE)}
NOT_PRINTED = {"prefill_longest_flop", "replicas_after_loss", "arrival_rate_average"}
"""Measures that the page of a cell shows only inside other lines."""


def labels_of(at: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in at.split(",") if pair)


def read(ds: xr.Dataset, measure: str, at: str) -> float | str:
    """The value of one cell; labels of dimensions that the measure does not have are left out."""
    array = ds[measure]
    for name, label in labels_of(at).items():
        if name in array.dims:
            array = array.sel({name: label if ds[name].dtype.kind in "OU" else float(label)})
    found: float | str = array.item()
    return found


def check(found: Any, expected: float | str, tolerance: float) -> None:
    if isinstance(expected, str):
        assert found == expected
    else:
        assert abs(found - expected) <= tolerance


@pytest.mark.parametrize(
    ("name", "at", "measure"), [(name, at, measure) for (name, at), rows in TABLE.items() for measure in rows]
)
def test_figure_in_the_cube(name: str, at: str, measure: str, cube: Callable[[str], xr.Dataset]) -> None:
    check(read(cube(name), measure, at), *TABLE[name, at][measure])


@pytest.mark.parametrize(("name", "at"), TABLE)
def test_figures_on_the_page_of_the_cell(name: str, at: str, grids: Path) -> None:
    found = gridplan.explain(gridplan.load_grid(grids / f"{name}.yaml"), **labels_of(at))
    assert found.status == "ok"
    printed = {**found.facts, **{line.name: line.value for line in found.lines}}
    assert TABLE[name, at].keys() - printed.keys() <= NOT_PRINTED
    for measure in TABLE[name, at].keys() & printed.keys():
        check(printed[measure], *TABLE[name, at][measure])


@pytest.mark.parametrize("name", FIRST_CELLS)
def test_figures_on_the_command_line(name: str, grids: Path, cli: Callable[..., Any]) -> None:
    at = FIRST_CELLS[name]
    shown = cli("explain", grids / f"{name}.yaml", "--json", *(["--at", at] if at else []))
    assert (shown.code, shown.err) == (0, "")
    found = json.loads(shown.out)
    for measure in TABLE[name, at].keys() - NOT_PRINTED:
        check({**found["labels_of_the_cell"], **found["values"]}[measure], *TABLE[name, at][measure])
