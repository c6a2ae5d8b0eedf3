"""Sampled indices: SALib's estimates on the same samples, published functions inside their intervals, a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.saltelli import saltelli_shares

Columns = Mapping[str, np.ndarray]


def ishigami(x: Columns) -> np.ndarray:
    return np.sin(x["x1"]) * (1 + 0.1 * x["x3"] ** 4) + 7 * np.sin(x["x2"]) ** 2


def sobol_g(x: Columns) -> np.ndarray:
    parts = [(np.abs(4 * x[name] - 2) + a) / (1 + a) for name, a in (("x1", 0.0), ("x2", 1.0), ("x3", 9.0))]
    return np.prod(parts, axis=0)


ISHIGAMI = dict.fromkeys(("x1", "x2", "x3"), f"uniform({-np.pi}, {np.pi})")
UNIT = dict.fromkeys(("x1", "x2", "x3"), "uniform(0, 1)")
G = 1 / (3 * (1 + np.array([0.0, 1.0, 9.0])) ** 2)
V = np.prod(1 + G) - 1


@pytest.mark.parametrize(
    ("function", "inputs", "first", "total"),
    [
        (ishigami, ISHIGAMI, [0.31390, 0.44241, 0.0], [0.55759, 0.44241, 0.24368]),
        (sobol_g, UNIT, G / V, [G[i] * np.prod(np.delete(1 + G, i)) / V for i in range(3)]),
        (lambda x: x["x1"] + 2 * x["x2"], UNIT, [0.2, 0.8, 0.0], [0.2, 0.8, 0.0]),
        (lambda x: (x["x1"] - 0.5) * (x["x2"] - 0.5), UNIT, [0, 0, 0], [1, 1, 0]),
    ],
)
def test_published_values_lie_inside_the_intervals(
    function: Callable[[Columns], np.ndarray], inputs: Mapping[str, str], first: list[float], total: list[float]
) -> None:
    found = gridplan.sobol_indices(function, inputs, 8192, seed=1)
    slack = 0.002  # an input without effect has an interval of width 0 around 0
    assert (found.first_order_low <= np.add(first, slack)).all()
    assert (found.first_order_high >= np.subtract(first, slack)).all()
    assert (found.total_low <= np.add(total, slack)).all()
    assert (found.total_high >= np.subtract(total, slack)).all()
    np.testing.assert_allclose(found.first_order, first, atol=0.02)
    np.testing.assert_allclose(found.total, total, atol=0.02)
    assert found.attrs["evaluations"] == 8192 * 5


def test_agrees_with_salib_on_its_samples() -> None:
    pytest.importorskip("SALib")
    from SALib.analyze import sobol as analyze
    from SALib.sample import sobol as draw

    problem = {"num_vars": 3, "names": ["x1", "x2", "x3"], "bounds": [[-np.pi, np.pi]] * 3}
    rows = draw.sample(problem, 1024, calc_second_order=False, seed=5)
    y = 1000 + ishigami(dict(zip(problem["names"], rows.T, strict=True)))
    theirs = analyze.analyze(problem, y, calc_second_order=False, seed=5)
    ours = saltelli_shares(y[0::5], y[4::5], np.stack([y[1::5], y[2::5], y[3::5]]))
    np.testing.assert_allclose(ours.first_order, theirs["S1"], atol=1e-10, rtol=0)
    np.testing.assert_allclose(ours.total, theirs["ST"], atol=1e-10, rtol=0)
    half = (ours.total_interval[:, 1] - ours.total_interval[:, 0]) / 2
    np.testing.assert_allclose(half, theirs["ST_conf"], rtol=0.35)


def test_intervals_cover_at_about_their_confidence() -> None:
    # Independent rows, for which the bootstrap is meant: 200 repeats of a sum with S = 0.2, 0.8.
    inside = 0
    for seed in range(200):
        a, b = np.random.default_rng(seed).random((2, 256, 2)) - 0.5
        ab = np.stack([b[:, 0] + 2 * a[:, 1], a[:, 0] + 2 * b[:, 1]])
        found = saltelli_shares(a @ [1, 2], b @ [1, 2], ab, seed=seed)
        inside += int(found.total_interval[1, 0] <= 0.8 <= found.total_interval[1, 1])
    assert 175 <= inside <= 200


def test_missing_and_constant_values() -> None:
    def partly(x: Columns) -> np.ndarray:
        return np.where(x["x3"] > 0.25, x["x1"] + x["x2"], np.nan)

    found = gridplan.sobol_indices(partly, UNIT, 2048)
    assert found.attrs["null_share"] == pytest.approx(0.25, abs=0.01)
    assert found.attrs["rows"] < 2048
    assert "rows have a sample without a value" in found.attrs["warnings"]
    np.testing.assert_allclose(found.total, [0.5, 0.5, 0], atol=0.05)
    constant = gridplan.sobol_indices(lambda x: 0 * x["x1"] + 0.1, UNIT, 64)
    assert constant.total.values.tolist() == [0, 0, 0]
    nothing = gridplan.sobol_indices(lambda x: np.full(x["x1"].size, np.nan), UNIT, 64)
    assert np.isnan(nothing.total).all()


def test_wrong_functions_and_sizes() -> None:
    with pytest.raises(ContractError, match="power of 2"):
        gridplan.sobol_indices(ishigami, ISHIGAMI, 1000)
    with pytest.raises(ContractError, match="values of shape"):
        gridplan.sobol_indices(lambda x: np.float64(1.0), UNIT, 64)
    with pytest.raises(ContractError, match="more than"):
        gridplan.sobol_indices(ishigami, ISHIGAMI, 1 << 25)


GRID = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, arrival_rate: 60, peak_to_average: 2}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, gpus_per_node: 8, usd_per_node_hour: 30}
capacity: {capacity_model: measured, lambda_instance_given: {value: 5, source: made up}, applies_to: {kv_dtype: any}}
policy: {rho_target: 0.65, redundancy: 0}
axes: {kv_dtype: [bf16, fp8], hours_per_month: [720, 730]}
"""


def test_a_measure_of_a_grid_is_the_function_of_its_formula() -> None:
    grid = gridplan.loads_grid(GRID)
    inputs = {
        "arrival_rate": "normal(60, 6)",
        "rho_target": "uniform(0.5, 0.8)",
        "usd_per_node_hour": "x normal(1, 0.1)",
    }

    def bill(x: Columns) -> np.ndarray:
        nodes = np.ceil(np.ceil(x["arrival_rate"] / (5 * x["rho_target"])) / 8)
        return nodes * 30 * x["usd_per_node_hour"] * 720

    at = {"kv_dtype": "fp8", "hours_per_month": 720}
    found = gridplan.input_indices(grid, inputs, "usd_per_month", 512, seed=2, at=at)
    by_hand = gridplan.sobol_indices(bill, inputs, 512, seed=2)
    for name in by_hand.data_vars:
        np.testing.assert_allclose(found[name], by_hand[name], atol=1e-9)
    assert found.attrs["at"] == "kv_dtype=fp8, hours_per_month=720"
    assert found.attrs["unit"] == "USD/month"


def test_a_cell_must_be_named() -> None:
    grid = gridplan.loads_grid(GRID)
    with pytest.raises(ContractError, match="fix kv_dtype at one of: bf16, fp8"):
        gridplan.input_indices(grid, {"arrival_rate": "normal(60, 6)"}, "nodes")
    # An axis whose input is sampled needs no label.
    sampled = {"hours_per_month": "uniform(700, 740)"}
    assert gridplan.input_indices(grid, sampled, "usd_per_month", 64, at={"kv_dtype": "bf16"}).total.item() > 0.9
    with pytest.raises(ContractError, match="is text"):
        gridplan.input_indices(grid, sampled, "status")
