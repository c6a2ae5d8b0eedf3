"""What a study does to inputs: the same as the contract that says so, in every cell."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.sensitivity.roles import levers, uncertainties
from gridplan.sensitivity.shifted import in_cells, with_samples

GRID = """schema: 1
workload:
  classes:
    - {name: chat, weight: 0.8, prompt_tokens: 600, output_tokens: 250}
    - {name: long, weight: 0.2, prompt_tokens: {mean: 6000, scv: 0.5, kind: gamma, max: 60000}, output_tokens: 400}
  arrival_rate: 40
  peak_to_average: 2.5
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.3-70b, weight_dtype: fp8, tensor_parallel: 4, gpus_per_node: 8, usd_per_node_hour: 30}
policy: {rho_target: 0.65}
axes: {gpu: [h100-sxm, b200], kv_dtype: [bf16, fp8]}
scenarios: {nominal: {}, SCENARIOS}
"""
NAMES = ["lambda_instance", "replicas", "nodes", "usd_per_month", "output_tokens_mean", "kv_pool_tokens", "tpot_s"]

MOVES = {
    "arrival_rate": ("multiply", 1.7),
    "rho_target": ("set", 0.8),
    "peak_to_average": ("add", 1.0),
    "usd_per_node_hour": ("multiply", 0.8),
    "output_tokens": ("multiply", 2.0),
    "prompt_tokens": ("multiply", 0.5),
    "tpot_slo_s": ("set", 0.04),
    "gpu_memory_bytes": ("multiply", 0.9),
    "memory_bandwidth_bytes_per_s": ("multiply", 1.2),
    "workspace_bytes": ("set", 6e9),
    "mbu": ("set", 0.6),
}


def grid(scenarios: str = "") -> gridplan.Grid:
    return gridplan.loads_grid(GRID.replace("SCENARIOS", scenarios))


def at(values: xr.DataArray, **labels: object) -> np.ndarray:
    """The values at labels of those dimensions that they depend on."""
    known = {name: label for name, label in labels.items() if name in values.dims}
    return values.sel(known).values


@pytest.mark.parametrize("name", MOVES)
def test_a_sample_is_the_scenario_that_says_the_same(name: str) -> None:
    op, value = MOVES[name]
    said = f"{name}: {value}" if op == "set" else f"{name}: {{{op}: {value}}}"
    scenario = gridplan.evaluate(grid(f"moved: {{{said}}}"), NAMES)
    samples = gridplan.evaluate(with_samples(grid("same: {}"), {name: (op, np.array([np.nan, value]))}), NAMES)
    for measure in NAMES:
        for sample, label in enumerate(("nominal", "moved")):
            found = at(samples[measure], sample=float(sample), scenario="nominal")
            np.testing.assert_allclose(found, at(scenario[measure], scenario=label), rtol=1e-12, err_msg=measure)


def test_samples_move_together() -> None:
    moves = {"arrival_rate": [10.0, 20.0, 40.0], "rho_target": [0.5, 0.7, 0.9]}
    together = with_samples(grid("same: {}"), {name: ("set", np.array(values)) for name, values in moves.items()})
    cube = gridplan.evaluate(together, ["replicas_active", "lambda_instance"])
    expected = [
        np.ceil(rate / (target * cube.lambda_instance.values)) for rate, target in zip(*moves.values(), strict=True)
    ]
    assert cube.replicas_active.dims == ("sample", "gpu", "kv_dtype")
    np.testing.assert_array_equal(cube.replicas_active.values, expected)


def test_every_cell_may_have_a_value_of_its_own() -> None:
    values = np.array([[5.0, 10.0], [20.0, 40.0]])
    moved = in_cells(grid("same: {}"), {"arrival_rate": ("set", values[np.newaxis])})
    cube = gridplan.evaluate(moved, ["replicas_active", "lambda_safe"])
    np.testing.assert_array_equal(cube.replicas_active.values, np.ceil(values / cube.lambda_safe.values))


def test_roles_of_axes() -> None:
    names = (
        "gpu",
        "arrival_rate",
        "scenario",
        "rho_target",
        "context_tokens",
        "purchase",
        "usd_per_node_hour",
        "workload",
    )
    assert levers(names) == ("gpu", "rho_target", "purchase")
    assert uncertainties(names) == ("arrival_rate", "scenario", "context_tokens", "usd_per_node_hour", "workload")
