"""Laws of indices and distributions that hold for any array and any numbers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gridplan.sensitivity.distributions import Distribution
from gridplan.sensitivity.factorial import axis_shares
from gridplan.sensitivity.sample_folds import NumberFold

VALUES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4),
    elements=st.integers(-50, 50).map(float),
)


@st.composite
def weighted(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray]]:
    values = draw(VALUES)
    weights = [np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), float) for n in values.shape]
    return values, weights


@given(weighted())
def test_indices_of_a_full_grid(case: tuple[np.ndarray, list[np.ndarray]]) -> None:
    found = axis_shares(*case)
    assert (found.first_order >= 0).all()
    assert (found.total <= 1).all()
    assert (found.total >= found.first_order - 1e-12).all()
    assert found.first_order.sum() <= 1 + 1e-12
    assert found.variance == 0 or found.total.sum() >= 1 - 1e-12


@given(weighted(), st.floats(0.01, 100), st.floats(-1000, 1000), st.booleans())
def test_an_affine_map_changes_no_index(
    case: tuple[np.ndarray, list[np.ndarray]], factor: float, shift: float, negative: bool
) -> None:
    values, weights = case
    moved = axis_shares(values * (-factor if negative else factor) + shift, weights)
    found = axis_shares(values, weights)
    np.testing.assert_allclose(moved.first_order, found.first_order, atol=1e-6)
    np.testing.assert_allclose(moved.total, found.total, atol=1e-6)


@given(weighted(), st.data())
def test_a_label_split_in_two_of_half_its_weight_changes_nothing(
    case: tuple[np.ndarray, list[np.ndarray]], data: st.DataObject
) -> None:
    values, weights = case
    axis = data.draw(st.integers(0, values.ndim - 1))
    label = data.draw(st.integers(0, values.shape[axis] - 1))
    order = [*range(values.shape[axis]), label]
    halves = weights[axis][order].copy()
    halves[[label, -1]] /= 2
    parts = axis_shares(np.take(values, order, axis=axis), [*weights[:axis], halves, *weights[axis + 1 :]])
    found = axis_shares(values, weights)
    np.testing.assert_allclose(parts.first_order, found.first_order, atol=1e-12)
    np.testing.assert_allclose(parts.total, found.total, atol=1e-12)


@given(weighted(), st.data())
def test_with_missing_cells_each_index_stays_a_share(
    case: tuple[np.ndarray, list[np.ndarray]], data: st.DataObject
) -> None:
    values, weights = case
    values = np.where(data.draw(hnp.arrays(np.bool_, values.shape)), np.nan, values)
    found = axis_shares(values, weights)
    if np.isnan(values).all():
        assert np.isnan(found.total).all()
    else:
        assert ((found.first_order >= 0) & (found.first_order <= 1)).all()
        assert ((found.total >= 0) & (found.total <= 1)).all()


@given(weighted(), st.randoms(use_true_random=False))
def test_the_order_of_axes_and_labels_does_not_matter(
    case: tuple[np.ndarray, list[np.ndarray]], random: object
) -> None:
    values, weights = case
    axes = list(range(values.ndim))
    random.shuffle(axes)  # type: ignore[attr-defined]
    turned = axis_shares(np.flip(np.transpose(values, axes)), [weights[axis][::-1] for axis in axes])
    found = axis_shares(values, weights)
    np.testing.assert_allclose(turned.total, found.total[axes], atol=1e-12)
    np.testing.assert_allclose(turned.first_order, found.first_order[axes], atol=1e-12)


POSITIVE = st.floats(0.01, 100)


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    kind = draw(st.sampled_from(["normal", "lognormal", "uniform", "triangular"]))
    if kind == "normal":
        return Distribution(kind, {"mean": draw(st.floats(-100, 100)), "sd": draw(POSITIVE)})
    if kind == "lognormal":
        return Distribution(kind, {"mean": draw(POSITIVE), "scv": draw(st.floats(0.01, 4))})
    low, width, place = draw(st.floats(-100, 100)), draw(POSITIVE), draw(st.floats(0, 1))
    if kind == "uniform":
        return Distribution(kind, {"low": low, "high": low + width})
    return Distribution(kind, {"low": low, "mode": min(low + place * width, low + width), "high": low + width})


@settings(max_examples=200)
@given(distributions(), st.floats(0.001, 0.999))
def test_quantiles_undo_probabilities(item: Distribution, point: float) -> None:
    assert math.isclose(item.below(float(item.quantile(np.array([point]))[0])), point, abs_tol=1e-6)


@given(distributions(), st.floats(0.05, 0.45), st.floats(0.55, 0.95), st.floats(0.001, 0.999))
def test_truncated_quantiles_lie_between_the_ends(item: Distribution, start: float, end: float, point: float) -> None:
    low, high = item.quantile(np.array([start, end])).tolist()
    if low >= high:
        return
    found = float(item.cut(low, high).quantile(np.array([point]))[0])
    assert low <= found <= high
    assert math.isclose(item.below(found), start + point * (end - start), abs_tol=1e-6)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=st.integers(0, 9).map(float)),
    st.data(),
)
def test_folded_in_parts_or_at_once(values: np.ndarray, data: st.DataObject) -> None:
    values = np.where(data.draw(hnp.arrays(np.bool_, values.shape)), np.nan, values)
    cut = data.draw(st.integers(0, len(values)))
    fold = NumberFold(*values.shape)
    for part in (values[:cut], values[cut:]):
        if len(part):
            fold.add(part)
    found = fold.results([10, 50, 90, 100])
    for cell in range(values.shape[1]):
        known = values[~np.isnan(values[:, cell]), cell]
        assert math.isclose(found["null_share"][cell], 1 - known.size / len(values), abs_tol=1e-12)
        if not known.size:
            assert np.isnan([found[name][cell] for name in ("mean", "p50", "min", "max", "sd")]).all()
            continue
        np.testing.assert_allclose(found["mean"][cell], known.mean(), atol=1e-12)
        for p in (10, 50, 90, 100):
            assert found[f"p{p}"][cell] == np.percentile(known, p, method="inverted_cdf")
        if known.size > 1:
            np.testing.assert_allclose(found["sd"][cell], known.std(ddof=1), atol=1e-12)
