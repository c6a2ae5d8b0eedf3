"""The search on arrays alone: thresholds, ladders, crossings, and statements that turn more than once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridplan.sensitivity.crossings import crossings
from gridplan.sensitivity.search import ANSWERS, ladder, threshold, to_digits

EDGES = st.floats(0.0011, 999.0).map(lambda x: float(f"{x:.12g}"))


def named(code: np.ndarray) -> list[str]:
    return [ANSWERS[int(each)] for each in np.ravel(code)]


@given(st.lists(EDGES, min_size=1, max_size=5), st.sampled_from([1, 3, 15]))
def test_the_last_value_that_holds_and_the_next_decimal(edges: list[float], width: int) -> None:
    edge = np.array(edges)
    low, high = np.full(edge.shape, 0.001), np.full(edge.shape, 1000.0)
    found = threshold(lambda x: x <= edge, low, high, width=width)
    assert named(found.code) == ["between"] * len(edges)
    np.testing.assert_array_equal(found.holds_at, edge)
    assert (found.fails_at > edge).all()
    np.testing.assert_allclose(found.fails_at, edge, rtol=1.01e-11)
    rising = threshold(lambda x: x >= edge, low, high, rising=True, width=width)
    np.testing.assert_array_equal(rising.holds_at, edge)
    assert (rising.fails_at < edge).all()
    np.testing.assert_allclose(rising.fails_at, edge, rtol=1.01e-11)


@given(st.integers(-50, 10**7), st.integers(1, 10**6), st.sampled_from([1, 15]))
def test_whole_numbers_are_exact(low: int, size: int, width: int) -> None:
    edge = low + size // 3
    found = threshold(lambda n: n <= edge, float(low), float(low + size), integer=True, width=width)
    if edge == low + size:
        assert named(found.code) == ["always"]
    else:
        assert (float(found.holds_at), float(found.fails_at)) == (edge, edge + 1)


def test_always_never_not_monotone_and_unknown() -> None:
    edges = np.array([1e9, 0.0, 5.0, 5.0, 5.0])

    def statement(x: np.ndarray) -> np.ndarray:
        holds = (x <= edges).astype(float)
        holds[..., 2] = (x[..., 2] <= 5.0) | (x[..., 2] >= 50.0)
        holds[..., 3] = np.where(x[..., 3] <= 5.0, 1.0, np.nan)  # known to hold up to 5, then nobody knows
        holds[..., 4] = np.nan
        return holds

    found = threshold(statement, np.full(5, 1.0), np.full(5, 100.0))
    assert named(found.code) == ["always", "never", "not_monotone", "between", "unknown"]
    np.testing.assert_array_equal(found.holds_at, [100.0, np.nan, np.nan, 5.0, np.nan])
    np.testing.assert_array_equal(found.fails_at, [np.nan, 1.0, np.nan, 5.00000000001, np.nan])


def test_never_of_the_smallest_value_fails_at_the_high_end() -> None:
    found = threshold(lambda x: x >= 200.0, 1.0, 100.0, rising=True)
    assert (named(found.code), float(found.fails_at)) == (["never"], 100.0)
    assert np.isnan(found.holds_at)


@pytest.mark.parametrize("value", [0.3, 17.3, 1e-7, 123456789012.0, 1.5e13, 4.38011565432, 9.99999999999e5])
def test_twelve_digits_are_the_decimal_itself(value: float) -> None:
    near = np.array([value * (1 + 2e-16), value])
    assert to_digits(near).tolist() == [float(f"{value:.12g}")] * 2


def test_a_ladder_has_both_ends_and_rises() -> None:
    steps = ladder(np.array([1.0, 0.0, -3.0]), np.array([1000.0, 10.0, 5.0]), 17)
    assert steps.shape == (17, 3)
    np.testing.assert_array_equal(steps[[0, -1]], [[1.0, 0.0, -3.0], [1000.0, 10.0, 5.0]])
    assert (np.diff(steps, axis=0) > 0).all()
    np.testing.assert_allclose(steps[8], [1000**0.5, 5.0, 1.0])


@given(st.lists(st.floats(1.5, 900.0), min_size=0, max_size=6))
def test_crossings_are_all_turns_of_a_state(turns: list[float]) -> None:
    edges = np.sort(turns)
    assume((np.diff(np.log(edges)) > 0.06).all())  # two steps of the ladder

    def state(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.searchsorted(edges, x, side="left") % 2 == 1, float)

    found = crossings(state, 1.0, 1000.0, (1,), 257)
    assert int(found.count[0]) == len(turns)
    np.testing.assert_allclose(found.below[: len(turns), 0], edges, rtol=1.1e-11)
    assert (found.below[: len(turns), 0] <= edges).all()
    assert (found.above[: len(turns), 0] > edges).all()
    assert np.isnan(found.below[len(turns) :]).all()


def test_a_change_across_unknown_values_is_no_crossing() -> None:
    def state(x: np.ndarray) -> np.ndarray:
        return np.where((x > 3.0) & (x < 30.0), np.nan, (x >= 30.0).astype(float))

    found = crossings(state, 1.0, 100.0, (1,), 33)
    assert (int(found.count[0]), int(found.hidden[0])) == (0, 1)
    assert found.unknown[0] > 0
