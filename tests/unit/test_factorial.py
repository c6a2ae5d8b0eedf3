"""Exact indices on full grids: numbers worked by hand, published test functions, brute force, missing cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.errors import ContractError
from gridplan.sensitivity.factorial import axis_shares
from gridplan.sensitivity.flips import codes_of, flips_along


def midpoints(low: float, high: float, count: int) -> np.ndarray:
    return low + (high - low) * (np.arange(count) + 0.5) / count


def brute(values: np.ndarray, weights: list[np.ndarray]) -> tuple[list[float], list[float]]:
    """Both indices cell by cell, by the law of total variance."""
    cells = [at for at in product(*map(range, values.shape)) if not np.isnan(values[at])]
    mass = {at: float(np.prod([w[i] for w, i in zip(weights, at, strict=True)])) for at in cells}
    whole = sum(mass.values())
    mean = sum(mass[at] * values[at] for at in cells) / whole
    variance = sum(mass[at] * (values[at] - mean) ** 2 for at in cells) / whole
    first, total = [], []
    for axis in range(values.ndim):
        groups: dict[object, list[tuple[int, ...]]] = {}
        lines: dict[object, list[tuple[int, ...]]] = {}
        for at in cells:
            groups.setdefault(at[axis], []).append(at)
            lines.setdefault(at[:axis] + at[axis + 1 :], []).append(at)

        def moments(held: list[tuple[int, ...]]) -> tuple[float, float, float]:
            own = sum(mass[at] for at in held)
            middle = sum(mass[at] * values[at] for at in held) / own
            return own, middle, sum(mass[at] * (values[at] - middle) ** 2 for at in held) / own

        first.append(sum(m[0] * (m[1] - mean) ** 2 for m in map(moments, groups.values())) / whole / variance)
        total.append(sum(m[0] * m[2] for m in map(moments, lines.values())) / whole / variance)
    return first, total


def test_ishigami() -> None:
    # Ishigami and Homma, 1990: a = 7, b = 0.1; V = a^2/8 + b pi^4/5 + b^2 pi^8/18 + 1/2.
    x = midpoints(-np.pi, np.pi, 100)
    y = np.sin(x)[:, None, None] * (1 + 0.1 * x[None, None, :] ** 4) + 7 * np.sin(x)[None, :, None] ** 2
    found = axis_shares(y)
    np.testing.assert_allclose(found.first_order, [0.3139, 0.4424, 0.0], atol=0.005)
    np.testing.assert_allclose(found.total, [0.5576, 0.4424, 0.2437], atol=0.005)
    assert found.first_order[2] < 1e-12
    assert found.mean == pytest.approx(3.5)
    assert found.variance == pytest.approx(13.8446, rel=0.005)


def test_sobol_g() -> None:
    # Saltelli and Sobol', 1995: V_i = 1 / (3 (1 + a_i)^2); V = prod(1 + V_i) - 1.
    a = np.array([0.0, 1.0, 4.5, 9.0])
    x = midpoints(0, 1, 40)
    y = np.ones((1,) * a.size)
    for axis, own in enumerate(a):
        factor = (np.abs(4 * x - 2) + own) / (1 + own)
        y = y * factor.reshape([-1 if at == axis else 1 for at in range(a.size)])
    partial = 1 / (3 * (1 + a) ** 2)
    variance = np.prod(1 + partial) - 1
    total = [partial[i] * np.prod(np.delete(1 + partial, i)) / variance for i in range(a.size)]
    found = axis_shares(y)
    np.testing.assert_allclose(found.first_order, partial / variance, atol=0.005)
    np.testing.assert_allclose(found.total, total, atol=0.005)


def test_pure_interaction_and_addition() -> None:
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    found = axis_shares(x[:, None] * x[None, :])
    np.testing.assert_allclose(found.first_order, 0, atol=1e-15)
    np.testing.assert_allclose(found.total, 1)
    added = axis_shares(x[:, None] + 2 * x[None, :])
    np.testing.assert_allclose(added.first_order, [0.2, 0.8])
    np.testing.assert_allclose(added.total, [0.2, 0.8])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_is_the_law_of_total_variance_cell_by_cell(share: float) -> None:
    random = np.random.default_rng(7)
    values = random.normal(size=(3, 4, 2, 3)).cumsum(axis=1)
    values[random.random(values.shape) < share] = np.nan
    weights = [random.random(size) for size in values.shape]
    weights[1][2] = 0.0
    found = axis_shares(values, weights)
    first, total = brute(np.delete(values, 2, axis=1), [*weights[:1], np.delete(weights[1], 2), *weights[2:]])
    np.testing.assert_allclose(found.first_order, first, rtol=1e-11)
    np.testing.assert_allclose(found.total, total, rtol=1e-11)
    assert np.isnan(found.conditional_mean[1][2])


def test_an_axis_without_effect_has_exactly_none() -> None:
    random = np.random.default_rng(1)
    values = np.repeat(random.random((4, 1, 5)), 3, axis=1)
    values[2, :, 3] = np.nan
    found = axis_shares(values)
    assert (found.first_order[1], found.total[1]) == (0, 0)
    assert found.null_share == pytest.approx(1 / 20)


def test_nothing_varies_or_nothing_is_there() -> None:
    constant = axis_shares(np.full((3, 4), 0.1))
    assert (constant.first_order.tolist(), constant.total.tolist(), constant.variance) == ([0, 0], [0, 0], 0)
    assert constant.mean == pytest.approx(0.1)
    empty = axis_shares(np.full((2, 2), np.nan))
    assert np.isnan(empty.total).all()
    assert empty.null_share == 1


def test_large_and_tiny_values_keep_their_digits() -> None:
    small = np.array([[1.0, 2.0, 4.0], [2.0, 5.0, 5.0]])
    expected = axis_shares(small)
    for scale, shift in ((1e12, 1e15), (1e-12, 0.0), (1.0, 1e9)):
        found = axis_shares(small * scale + shift)
        np.testing.assert_allclose(found.total, expected.total, rtol=1e-6)
        assert found.variance == pytest.approx(expected.variance * scale**2, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        ([1.0, np.inf], None),
        ([1.0, 2.0], [np.array([1.0, -1.0])]),
        ([1.0, 2.0], [np.array([0.0, 0.0])]),
        ([1.0, 2.0], [np.array([1.0, 1.0, 1.0])]),
        ([1.0, 2.0], []),
    ],
)
def test_what_has_no_variance_is_refused(values: list[float], weights: list[np.ndarray] | None) -> None:
    with pytest.raises(ValueError, match=r"weights|infinite"):
        axis_shares(np.array(values), weights)


def cube() -> xr.DataArray:
    labels = {"gpu": ["a", "b"], "rho_target": [0.5, 0.7, 0.9]}
    return xr.DataArray([[6.0, 4.0, 2.0], [16.0, np.nan, 12.0]], labels, ["gpu", "rho_target"], name="nodes")


def test_table_of_a_measure() -> None:
    found = gridplan.factorial_indices(cube(), {"rho_target": {0.5: 1, 0.7: 0, 0.9: 1}})
    # 6, 2, 16, 12: mean 9, variance 29; means by gpu 4 and 14 (25), by target 11 and 7 (4).
    np.testing.assert_allclose(found.first_order, [25 / 29, 4 / 29])
    np.testing.assert_allclose(found.interaction, 0, atol=1e-15)
    assert found.sel(axis="gpu").highest_label.item() == "b"
    assert found.sel(axis="rho_target").lowest_label.item() == "0.9"
    np.testing.assert_allclose(found.swing, [10, 4])
    assert found.swing.attrs["unit"] == "count"
    assert (found.attrs["null_share"], found.attrs["warnings"]) == (0, "")


def test_cells_without_a_value_are_counted_and_said() -> None:
    found = gridplan.factorial_indices(cube())
    assert found.attrs["null_share"] == pytest.approx(1 / 6)
    assert "16.7% of the weight is on cells without nodes" in found.attrs["warnings"]
    has = gridplan.factorial_indices(cube(), of="has_value")
    # 1 1 1 / 1 0 1: variance 5/36, of means by gpu 1/36, by target 1/18.
    np.testing.assert_allclose(has.first_order, [1 / 5, 2 / 5])
    np.testing.assert_allclose(has.total, [3 / 5, 4 / 5])


def test_wrong_weights_are_all_said() -> None:
    wrong = {"gpus": [1], "gpu": [1, 2, 3], "rho_target": {0.5: 1, 0.6: 2}}
    with pytest.raises(ContractError) as caught:
        gridplan.factorial_indices(cube(), wrong)
    said = str(caught.value)
    for text in (
        "did you mean gpu",
        "gpu has 2 labels (a, b) and 3 weights",
        "0.6 is not a label",
        "none for 0.7, 0.9",
    ):
        assert text in said


def test_text_has_no_variance() -> None:
    text = xr.DataArray(np.array(["a", None], dtype=object), dims=["x"], name="status")
    with pytest.raises(ContractError, match="has_value"):
        gridplan.factorial_indices(text)
    assert gridplan.factorial_indices(text, of="has_value").total.item() == pytest.approx(1)


GRID = """schema: 1
workload: {prompt_tokens: 1000, output_tokens: 200, peak_to_average: 2}
slo: {tpot: {limit: 60 ms}}
deployment: {model: llama-3.1-8b, gpus_per_node: 8, usd_per_node_hour: 30}
axes: {gpu: [h100-sxm, l4], kv_dtype: [bf16, fp8], rho_target: [0.5, 0.8], arrival_rate: [5, 50, 500]}
scenarios: {nominal: {}, surge: {arrival_rate: {multiply: 2}}}
"""


def test_grid_and_cube_say_the_same() -> None:
    grid = gridplan.loads_grid(GRID)
    whole = gridplan.evaluate(grid, ["replicas", "lambda_instance", "binding_constraint"])
    for at in ({}, {"gpu": "l4"}, {"scenario": "surge", "arrival_rate": 50}):
        of_grid = gridplan.axis_indices(grid, "replicas", at=at)
        assert of_grid.identical(gridplan.axis_indices(whole, "replicas", at=at))
        direct = gridplan.factorial_indices(whole.replicas.sel(at))
        np.testing.assert_allclose(of_grid.total, direct.total.sel(axis=of_grid.axis), rtol=1e-12)


def test_axes_that_a_measure_does_not_stand_on() -> None:
    found = gridplan.axis_indices(gridplan.loads_grid(GRID), "lambda_instance", weights={"arrival_rate": [1, 2, 3]})
    assert found.axis.values.tolist() == ["scenario", "gpu", "kv_dtype", "rho_target", "arrival_rate"]
    assert found.total.sel(axis=["scenario", "rho_target", "arrival_rate"]).values.tolist() == [0, 0, 0]
    assert found.total.sel(axis="gpu").item() > 0.5
    assert found.attrs["cells"] == 48
    with pytest.raises(ContractError, match="arrival_rate has 3 labels"):
        gridplan.axis_indices(gridplan.loads_grid(GRID), "lambda_instance", weights={"arrival_rate": [1, 2]})


@pytest.mark.parametrize(
    ("measure", "at", "said"),
    [("node", {}, "did you mean nodes"), ("nodes", {"gpu": "l5"}, "l4"), ("nodes", {"gpus": "l4"}, "did you mean gpu")],
)
def test_unknown_names(measure: str, at: dict[str, str], said: str) -> None:
    grid = gridplan.loads_grid(GRID)
    with pytest.raises(ContractError, match=said):
        gridplan.axis_indices(grid, measure, at=at)
    with pytest.raises(ContractError, match=said):
        gridplan.axis_indices(gridplan.evaluate(grid, ["nodes"]), measure, at=at)


def test_changes_of_a_label_by_brute_force() -> None:
    random = np.random.default_rng(3)
    labels = np.array(["memory", "tpot", None], dtype=object)[random.integers(0, 3, (4, 5, 3))]
    codes = codes_of(labels)
    for axis in range(3):
        lines = np.moveaxis(labels, axis, -1).reshape(-1, labels.shape[axis])
        mixed = sum(
            sum(label is not None for label in line)
            for line in lines
            if len({label for label in line if label is not None}) > 1
        )
        found = flips_along(codes, axis)
        assert found.share == pytest.approx(mixed / sum(label is not None for label in labels.ravel()))
        for step in range(labels.shape[axis] - 1):
            pairs = [(a, b) for a, b in lines[:, step : step + 2] if a is not None and b is not None]
            assert found.step[step] == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
