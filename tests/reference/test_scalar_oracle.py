"""The cube against the scalar oracle: cells of the quickstart, and small random grids with other axes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from scalar_oracle import plan

import gridplan
from gridplan.catalog import load_catalog
from gridplan.dictionary import dictionary, measures

GRIDS = Path(__file__).parents[2] / "grids"
RELATIVE = 1e-12
BY_QUEUE = {"ttft_s", "e2e_s", "latency_flag", "latency_source"}
"""Measures with exponentials and Gamma functions in them: tests/unit/test_planned_point.py holds them."""

LAW = {"latency_model": "mean_step"}
"""The law of latency that fractions can follow."""

Cell = dict[str, Any]

QUICKSTART: Mapping[str, Any] = {
    **{"output_tokens": 1024, "peak_to_average": 2.5, "tpot_slo_s": 0.05, "ttft_slo_s": 4.0},
    **{"workspace_bytes": 4 * 2**30, "gpu_memory_utilization": 0.9, "kv_efficiency": 0.95, "max_num_seqs": 256},
    **{"mbu": 0.7, "mfu": 0.45, "redundancy": 1, "hours_per_month": 730},
}
QUICKSTART_TP = {"llama-3.3-70b": 4, "mixtral-8x7b": 2, "qwen3-32b": 2, "deepseek-v3": 8}


def differences(cube: xr.Dataset, labels: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Measures of one cell that are not what the oracle says."""
    assert set(expected) == set(measures()) - BY_QUEUE
    place = {name: cube.indexes[name].get_loc(label) for name, label in labels.items()}
    for name, value in expected.items():
        found = cube.variables[name]
        got = found.values[tuple(place[str(dim)] for dim in found.dims)]
        row = dictionary()[name]
        if row.is_label:
            same = got == value
        elif value is None or math.isnan(got):
            same = value is None and math.isnan(got)
        elif row.dtype in ("int64", "bool"):
            same = Fraction(float(got)) == Fraction(value)
        else:
            # A margin is a ratio less one: what is exact to 1e-12 there is the ratio.
            slack = RELATIVE if name == "margin_to_next" else 0.0
            same = math.isclose(got, float(value), rel_tol=RELATIVE, abs_tol=slack)
        if not same:
            shown = value if value is None or isinstance(value, (str, bool)) else float(value)
            yield f"{name}: {got!r}, by hand {shown!r} at {dict(labels)}"


def report(wrong: list[str]) -> None:
    """Fail with the first differences; comparing the list itself would spend minutes on its text."""
    if wrong:
        pytest.fail(f"{len(wrong)} differences\n" + "\n".join(wrong[:10]), pytrace=False)


def one_cell(rng: random.Random, cube: xr.Dataset) -> Cell:
    return {str(name): rng.choice(cube.indexes[name].tolist()) for name in cube.dims}


def test_500_cells_of_the_quickstart() -> None:
    text = (GRIDS / "quickstart.yaml").read_text(encoding="utf-8")
    stated = text.replace("capacity: {", "capacity: {latency_model: mean_step, ")
    quickstart, rng = gridplan.evaluate(gridplan.loads_grid(stated)), random.Random(20261129)
    wrong, feasible, reasons = [], 0, set()
    for _ in range(500):
        labels = one_cell(rng, quickstart)
        given = {**QUICKSTART, "tensor_parallel": QUICKSTART_TP.get(labels["model"], 1), **labels}
        expected = plan(given)
        feasible += expected["status"] == "ok"
        reasons.add(expected["infeasible_reason"])
        wrong += differences(quickstart, labels, expected)
    report(wrong)
    assert 200 < feasible < 350
    assert {"weights_exceed_memory", "context_exceeds_model", "sequence_exceeds_pool"} <= reasons
    assert {"tpot_unreachable", "ttft_unreachable"} <= reasons


PLANNED = [name for name, model in load_catalog().models.items() if len(model.layer_groups) == 1]
GPUS = [name for name, gpu in load_catalog().gpus.items() if gpu.memory_bandwidth_bytes_per_s is not None]


def decimal(rng: random.Random, low: float, high: float, places: int) -> float:
    return round(rng.uniform(low, high), places)


def workload(rng: random.Random) -> Cell:
    """Lengths as a prompt and an output, as a context, or as two classes."""
    kind, longest = rng.choice(["plain", "plain", "context", "classes"]), rng.choice([1000, 3000, 8000, 40000])
    if kind == "context":
        return {"output_tokens": rng.randint(1, 400), "context_tokens": rng.randint(500, longest)}
    if kind == "plain":
        return {"prompt_tokens": rng.randint(1, longest), "output_tokens": rng.randint(1, 2000)}
    share = rng.choice([0.1, 0.25, 0.5, 0.75])
    rows = [(w, rng.randint(1, 6000), rng.randint(1, 1500)) for w in (share, 1 - share)]
    own = random.Random(rows[0][1])  # of its own, so that all other draws stay as they are
    return {"classes": [(*row, decimal(own, 0, 0.95, 2)) if own.random() < 0.5 else row for row in rows]}


def settings(rng: random.Random) -> Cell:
    """Inputs of one grid that are not axes: some always stated, others in a share of the grids."""
    where = (
        {"instance": rng.choice(list(load_catalog().instances))} if rng.random() < 0.3 else {"gpu": rng.choice(GPUS)}
    )
    chosen: Cell = {
        **{"model": rng.choice(PLANNED), **where, **workload(rng)},
        **{"tensor_parallel": rng.choice([1, 1, 2, 4, 8]), "pipeline_parallel": rng.choice([1, 1, 2, 3])},
        **{"data_parallel": rng.choice([1, 1, 2, 3]), "workspace_bytes": decimal(rng, 0, 6, 2) * 10**9},
        **{"arrival_rate": decimal(rng, 0.01, 60, 2), "rho_target": decimal(rng, 0.3, 1, 2)},
        **{
            "kv_efficiency": decimal(rng, 0.5, 1, 3),
            "redundancy": rng.choice([0, 1, 1, 2]),
            "zones": rng.choice([3, 4]),
        },
        **{"failure_domain": rng.choice(["gpu", "replica", "zone"]), "lost_units": rng.choice([0, 1, 2])},
        **{"lost_domain": rng.choice(["gpu", "replica", "node", "zone"]), "mbu": decimal(rng, 0.4, 1, 3)},
    }
    optional: Cell = {
        **{"tpot_slo_s": decimal(rng, 0.002, 0.2, 3), "ttft_slo_s": decimal(rng, 0.02, 2, 2)},
        **{"e2e_slo_s": decimal(rng, 2, 60, 1), "prefix_hit_ratio": decimal(rng, 0, 0.95, 2)},
        **{
            "kv_dtype": rng.choice(["fp16", "fp8", "fp8", "int8", "bf16", "nvfp4"]),
            "max_num_seqs": rng.choice([1, 7, 512, 2000]),
        },
        **{"weight_dtype": rng.choice(["bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "mxfp4"])},
        **{"resident_context": rng.choice(["mean", "residence_weighted", "max"]), "step_context": "final"},
        **{"flop_params": "total", "compute_ceiling_model": "weights_only", "mfu": decimal(rng, 0.2, 0.8, 2)},
        **{"peak_to_average": decimal(rng, 1, 5, 1), "hours_per_month": rng.choice([720, 732]), "kv_block_tokens": 1},
        **{"gpu_memory_utilization": decimal(rng, 0.2, 0.98, 2), "max_model_len": rng.choice([16384, 40000])},
        **{"decode_batch": rng.randint(1, 64), "step_per_sequence_s": decimal(rng, 0, 0.0001, 6)},
    }
    chosen |= {name: value for name, value in optional.items() if rng.random() < 0.45}
    node_size = rng.choice([1, 4, 8, 16])
    prices: list[Cell] = [
        {},
        {},
        {"usd_per_gpu_hour": decimal(rng, 0.5, 9, 2)},
        {"usd_per_node_hour": decimal(rng, 4, 90, 2), "gpus_per_node": node_size},
    ]
    if "gpu" in chosen:  # an instance has the size it has
        prices += [{"usd_per_gpu_hour": decimal(rng, 0.5, 9, 2), "gpus_per_node": node_size}]
        prices += [{"gpus_per_node": node_size}]
    chosen |= rng.choice(prices)
    if "gpus_per_node" in chosen:
        chosen["failure_domain"] = rng.choice(["node", chosen["failure_domain"]])
        chosen |= {"nodes_given": rng.randint(1, 40)} if rng.random() < 0.4 else {}
    within = {"expert_parallel": rng.choice([2, 3, 8]), "decode_context_parallel": rng.choice([2, 4])}
    chosen |= {name: value for name, value in within.items() if rng.random() < 0.08}
    chosen |= {"pipeline_parallel": 130} if rng.random() < 0.03 else {}
    # Without a stated share of a step its overheads count.
    for name in ("mbu", "mfu"):
        if rng.random() < 0.5:
            chosen.pop(name, None)
    return chosen


def axes(rng: random.Random, stated: Cell) -> dict[str, list[Any]]:
    """Two or three inputs that become axes, their base value among the labels."""
    steps: dict[str, Callable[[], Any]] = {
        **{"tensor_parallel": lambda: rng.choice([1, 2, 4, 8]), "pipeline_parallel": lambda: rng.choice([1, 2, 4])},
        **{"data_parallel": lambda: rng.choice([1, 2, 3]), "redundancy": lambda: rng.choice([0, 1, 2])},
        **{"prefix_hit_ratio": lambda: decimal(rng, 0, 0.9, 2), "e2e_slo_s": lambda: decimal(rng, 5, 90, 1)},
        **{"tpot_slo_s": lambda: decimal(rng, 0.004, 0.2, 3), "arrival_rate": lambda: decimal(rng, 0.01, 90, 2)},
        **{"rho_target": lambda: decimal(rng, 0.2, 1, 3), "lost_units": lambda: rng.choice([0, 1, 3])},
        **{
            "failure_domain": lambda: rng.choice(["gpu", "replica", "zone"]),
            "kv_dtype": lambda: rng.choice(["fp8", "bf16"]),
        },
        **{"lost_domain": lambda: rng.choice(["gpu", "node", "zone"]), "model": lambda: rng.choice(PLANNED)},
    }
    names = rng.sample(sorted(steps), rng.choice([2, 3]))
    found = {}
    for name in names:
        first = [stated[name]] if name in stated else []
        found[name] = list(dict.fromkeys([*first, steps[name](), steps[name]()]))
    return found


SECTIONS = ("workload", "slo", "deployment", "capacity", "policy")


def policies(stated: Cell, axis: Mapping[str, list[Any]]) -> Cell:
    """The same settings with a target by its margins, or with a routing that is counted on, in a share of the grids."""
    own = random.Random(str(sorted(stated)) + str(stated["arrival_rate"]))  # so that all other draws stay as they are
    chosen = dict(stated)
    if "rho_target" not in axis and own.random() < 0.4:
        del chosen["rho_target"]
        names = ("margin_statistic", "margin_forecast", "margin_skew", "margin_model_error", "margin_failure")
        chosen |= {name: decimal(own, 0.6, 1, 2) for name in own.sample(names, own.randint(1, 4))}
    if own.random() < 0.3:
        chosen |= {"routing": "least_tokens", "routing_credit": decimal(own, 0.7, 1.5, 2)}
    return chosen


def contract(stated: Cell, axis: Mapping[str, list[Any]]) -> str:
    """The grid as a contract file (JSON is YAML)."""
    text: dict[str, Any] = {"schema": 1, **{section: {} for section in SECTIONS}, "axes": axis}
    text["capacity"] |= LAW
    for name, value in stated.items():
        if name == "classes":
            keys = ("weight", "prompt_tokens", "output_tokens", "prefix_hit_ratio")
            rows = [{"name": f"c{i}", **dict(zip(keys, row, strict=False))} for i, row in enumerate(value)]
            text["workload"]["classes"] = rows
        elif name not in axis and name.endswith("_slo_s"):
            text["slo"][name.removesuffix("_slo_s")] = {"limit": value, "percentile": "mean"}
        elif name not in axis:
            text[dictionary()[name].section][name] = value
    return json.dumps({name: value for name, value in text.items() if value})


@pytest.mark.parametrize("block", range(10))
def test_100_random_grids(block: int) -> None:
    wrong: list[str] = []
    for number in range(block * 10, block * 10 + 10):
        rng = random.Random(number)
        stated = settings(rng)
        axis = axes(rng, stated)
        stated = policies(stated, axis)
        text = contract(stated, axis)
        cube = gridplan.evaluate(gridplan.loads_grid(text))
        for _ in range(6):
            labels = one_cell(rng, cube)
            found = list(differences(cube, labels, plan({**stated, **labels})))
            wrong += [f"grid {number}: {line}\n    in {text}" for line in found]
    report(wrong)


def test_the_random_grids_reach_every_branch() -> None:
    """Every limit binds somewhere; every reason occurs but those of `queueing`, `measured`, the quickstart and caps."""
    elsewhere = {
        *("not_measured", "sequence_exceeds_pool", "itl_unreachable", "budget_exceeded", "power_exceeded"),
    }
    wanted: set[Any] = {"memory", "compute", "scheduler", "tpot", "e2e", "wide", "on_demand", "given", None}
    wanted |= set(dictionary()["infeasible_reason"].labels) - elsewhere
    seen: set[Any] = set()
    for number in range(400):
        rng = random.Random(number)
        stated = settings(rng)
        axis = axes(rng, stated)
        for _ in range(6):
            found = plan({**stated, **{name: rng.choice(labels) for name, labels in axis.items()}})
            seen |= {found["binding_constraint"], found["infeasible_reason"], found["price_kind"]}
            seen |= {"wide"} if (found["nodes"] or 0) > (found["replicas"] or 0) else set()
        if wanted <= seen:
            return
    pytest.fail(f"nowhere: {wanted - seen}")


NODES = """
schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 5, peak_to_average: 2}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment:
  {gpu: h100-sxm, model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 8, pipeline_parallel: 2, %s}
policy: {rho_target: 0.7, redundancy: 1, %s}
"""


def test_a_fleet_too_small_for_one_replica_has_no_utilization() -> None:
    """One node of 8 holds no replica of 16 GPUs: nothing is deployed, so a share of it is null and never infinite."""
    text = NODES % ("workspace_bytes: 4 GiB", "nodes_given: 1")
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    assert (cube["nodes"], cube["replicas_deployed"], cube["fleet_sufficient"]) == (1, 0, 0)
    assert math.isnan(cube["utilization_deployed"])
    assert math.isnan(cube["utilization_deployed_safe"])


def test_a_stated_node_size_does_not_multiply_a_price_of_the_catalog() -> None:
    """A list price is that of its own shape: 31.92 USD/h buys 8 H100, and is not the price of a node of 4."""
    text = NODES % ("workspace_bytes: 4 GiB, gpus_per_node: 4", "zones: 1")
    try:
        each = gridplan.evaluate(gridplan.loads_grid(text))["usd_per_gpu_hour_used"].item()
    except gridplan.ContractError:
        return  # refusing a size without a price is as good an answer
    assert math.isnan(each) or each == pytest.approx(3.99)


def test_a_loss_of_nothing_needs_no_node_size() -> None:
    """lost_units 0 takes nothing, also where the size of a node is not known."""
    text = NODES.replace("h100-sxm", "h100-nvl") % ("workspace_bytes: 4 GiB", "lost_units: 0, lost_domain: node")
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    assert cube["priced_by"].item() is None
    assert cube["replicas_after_loss"] == cube["replicas"] > 0
