"""A scenario is a grid of its own: `nominal` is the plain contract, every other one the contract with its value set."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import pytest
import xarray as xr

import gridplan
from gridplan.dictionary import dictionary, measures

BASE: dict[str, Any] = {
    "workload": {"prompt_tokens": 500, "output_tokens": 100, "arrival_rate": 50, "peak_to_average": 3},
    "slo": {"tpot": {"limit": "50 ms", "percentile": "mean"}, "e2e": {"limit": 20, "percentile": "mean"}},
    "deployment": {"gpu": "h100-sxm", "model": "llama-3.1-8b"},
    "policy": {"rho_target": 0.7, "redundancy": 1},
}
CHANGES: list[dict[str, Any]] = [
    # labels whose default comes from another label
    {"kv_dtype": "fp8"},
    {"weight_dtype": "fp8"},
    {"engine": "vllm@0.19"},
    # labels that the contract states
    {"model": "qwen3-8b"},
    {"gpu": "h200-sxm"},
    {"instance": "aws-p5-48xlarge"},
    {"capacity_model": "littles_law"},
    # numbers with a default of the dictionary, the engine or the catalog
    {"tensor_parallel": 2},
    {"max_num_seqs": 64},
    {"gpu_memory_utilization": 0.8},
    {"kv_block_tokens": 32},
    {"workspace_bytes": 5e9},
    {"mbu": 0.5, "mfu": 0.3},
    {"memory_bandwidth_bytes_per_s": 2e12, "peak_flops": 5e14},
    {"weights_bytes": 2e10, "weights_read_bytes": 1.5e10},
    {"params_total": 7e9},
    {"prefix_hit_ratio": 0.5},
    {"failure_domain": "zone", "zones": 3},
    {"lost_units": 1, "lost_domain": "node"},
    {"flop_params": "matmul", "compute_ceiling_model": "weights_only"},
    {"resident_context": "mean", "step_context": "final"},
    {"arrival_rate": 500, "hours_per_month": 700, "rho_target": 0.9, "redundancy": 0},
    {"prompt_tokens": 5000},
    {"ttft_slo_s": 0.001},
    {"tpot_slo_s": 0.02},
    # prices
    {"usd_per_gpu_hour": 3},
    {"usd_per_gpu_hour": 3, "gpus_per_node": 4},
    {"usd_per_node_hour": 30, "gpus_per_node": 8},
]


def contract(change: dict[str, Any]) -> dict[str, Any]:
    """BASE with values set where they belong; an instance takes the place of its GPU."""
    text: dict[str, Any] = {"schema": 1, **{name: dict(section) for name, section in BASE.items()}, "capacity": {}}
    for name, value in change.items():
        if name.endswith("_slo_s"):
            text["slo"][name.removesuffix("_slo_s")] = {"limit": value, "percentile": "mean"}
        else:
            text[dictionary()[name].section][name] = value
    if "instance" in change:
        del text["deployment"]["gpu"]
    return {name: section for name, section in text.items() if section}


@cache
def plain(change: str) -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(json.dumps(contract(json.loads(change)))))


def differences(cube: xr.Dataset, scenario: str, expected: xr.Dataset) -> list[str]:
    """Measures of one scenario that are not those of the plain contract."""
    found = []
    for name in measures():
        mine = cube[name].sel(scenario=scenario) if "scenario" in cube[name].dims else cube[name]
        got, want = mine.item(), expected[name].item()
        if got != want and not (got != got and want != want):
            found.append(f"{name}: {got!r}, alone {want!r}")
    return found


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "+".join(change))
def test_a_scenario_changes_its_own_cells_and_no_others(change: dict[str, Any]) -> None:
    text = {**contract({}), "scenarios": {"changed": change}}
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    assert cube["scenario"].values.tolist() == ["nominal", "changed"]
    wrong = differences(cube, "nominal", plain("{}"))
    assert not wrong, "nominal: " + "; ".join(wrong[:5])
    wrong = differences(cube, "changed", plain(json.dumps(change)))
    assert not wrong, "changed: " + "; ".join(wrong[:5])


@pytest.mark.parametrize(
    ("name", "operation", "value", "result"),
    [
        ("arrival_rate", "multiply", 1.5, 75),
        ("arrival_rate", "add", 25, 75),
        ("rho_target", "multiply", 0.5, 0.35),
        ("prompt_tokens", "add", 100, 600),
        ("memory_bandwidth_bytes_per_s", "multiply", 0.5, 1.675e12),
        ("redundancy", "add", 1, 2),
    ],
)
def test_a_scaled_value_equals_the_value_written(name: str, operation: str, value: float, result: float) -> None:
    """Multiplying and adding work on stated values, on defaults and on values of the catalog alike."""
    text = {**contract({}), "scenarios": {"changed": {name: {operation: value}}}}
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    assert differences(cube, "changed", plain(json.dumps({name: result}))) == []
    assert differences(cube, "nominal", plain("{}")) == []


def test_a_price_of_one_scenario_is_not_the_price_of_all() -> None:
    """With an instance: its own price by name and date in nominal, half of it in the other."""
    text = contract({"instance": "aws-p5-48xlarge"})
    text["scenarios"] = {"half": {"usd_per_node_hour": {"multiply": 0.5}}}
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    assert cube["usd_per_gpu_hour_used"].values.tolist() == [6.88, 3.44]
    assert cube["priced_by"].sel(scenario="nominal") == "aws-p5-48xlarge"
    assert cube["price_as_of"].sel(scenario="nominal") == "2026-07-20"
    assert cube["price_kind"].values.tolist() == ["on_demand", "list_equivalent"]


@pytest.mark.parametrize(
    "changes",
    [
        [{"arrival_rate": 500}, {"kv_efficiency": 0.1}, {"kv_dtype": "fp8"}],
        [{"gpu": "h200-sxm"}, {"mbu": 0.5}],
        [{"gpu": "l4"}, {"max_num_seqs": 64}, {"gpu_memory_utilization": 0.8}],
        [{"model": "qwen3-8b"}, {"kv_dtype": "fp8"}, {"tensor_parallel": 2}],
        [{"model": "qwen3-8b"}, {"workspace_bytes": 5e9}],
        [{"gpu": "h200-sxm"}, {"tensor_parallel": 2}, {"redundancy": 2, "failure_domain": "node"}],
        [{"gpu": "h200-sxm", "mbu": 0.5}, {"model": "qwen3-8b", "kv_dtype": "fp8", "max_num_seqs": 64}],
        [{"weight_dtype": "fp8"}, {"kv_dtype": "fp8"}, {"weight_dtype": "int4", "kv_dtype": "int8"}],
    ],
    ids=lambda changes: " ".join("+".join(change) for change in changes),
)
def test_scenarios_that_touch_different_inputs_do_not_mix(changes: list[dict[str, Any]]) -> None:
    """What follows from a label that one scenario changes may be what another one overrides."""
    text = {**contract({}), "scenarios": {f"s{number}": change for number, change in enumerate(changes)}}
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    assert differences(cube, "nominal", plain("{}")) == []
    for number, change in enumerate(changes):
        assert differences(cube, f"s{number}", plain(json.dumps(change))) == []


def test_no_status_without_a_reason() -> None:
    """Infeasible is a value with a reason: one holds exactly where the other does, and rates exist elsewhere."""
    one_value = {"memory_bandwidth_bytes_per_s", "weights_bytes", "params_total", "usd_per_gpu_hour", "instance"}
    kept = [change for change in CHANGES if not one_value & change.keys() and "usd_per_node_hour" not in change]
    text = {**contract({}), "scenarios": {f"s{i}": change for i, change in enumerate(kept)}}
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))
    status, reason, rate = (cube[name].values.tolist() for name in ("status", "infeasible_reason", "lambda_instance"))
    silent = [
        str(label)
        for label, ok, why, value in zip(cube["scenario"].values, status, reason, rate, strict=True)
        if (ok == "ok") != (why is None) or (ok == "ok") == math.isnan(value)
    ]
    assert silent == []
