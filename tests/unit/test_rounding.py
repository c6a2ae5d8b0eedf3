"""Rounding against exact rational arithmetic on decimal inputs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.rounding import ceil_exact, floor_exact, floor_ratio, round_label, to_int64


@st.composite
def decimals(draw: st.DrawFn, largest: int, digits: int) -> tuple[float, Fraction]:
    """A positive decimal with at most `digits` digits after the point, as float64 and exactly."""
    exact = Fraction(draw(st.integers(1, largest)), 10 ** draw(st.integers(0, digits)))
    return float(exact), exact


@settings(deadline=None)
@given(decimals(10**5, 6), decimals(10**5, 6))
def test_quotients_of_decimals_round_as_on_paper(a: tuple[float, Fraction], b: tuple[float, Fraction]) -> None:
    assert ceil_exact(a[0] / b[0]) == math.ceil(a[1] / b[1])
    assert floor_exact(a[0] / b[0]) == math.floor(a[1] / b[1])


@settings(deadline=None)
@given(decimals(10**5, 3), st.integers(1, 1000), decimals(1000, 3))
def test_replicas_of_decimals_round_as_on_paper(
    load: tuple[float, Fraction], rho_milli: int, rate: tuple[float, Fraction]
) -> None:
    rho = Fraction(rho_milli, 1000)
    assert ceil_exact(load[0] / (float(rho) * rate[0])) == math.ceil(load[1] / (rho * rate[1]))


@settings(deadline=None)
@given(st.integers(1, 1000), decimals(10**4, 4), decimals(10**4, 4))
def test_sequences_of_decimals_round_as_on_paper(
    eta_milli: int, pool: tuple[float, Fraction], each: tuple[float, Fraction]
) -> None:
    eta = Fraction(eta_milli, 1000)
    assert floor_exact(float(eta) * pool[0] / each[0]) == math.floor(eta * pool[1] / each[1])


@settings(deadline=None)
@given(decimals(10**5, 3), st.integers(1, 100), decimals(10**5, 3), decimals(10**4, 3), decimals(10**4, 3))
def test_differences_of_decimals_round_as_on_paper(
    total: tuple[float, Fraction],
    fraction_percent: int,
    weights: tuple[float, Fraction],
    workspace: tuple[float, Fraction],
    each: tuple[float, Fraction],
) -> None:
    share = Fraction(fraction_percent, 100)
    usable = total[0] * float(share)
    pool = usable - weights[0] - workspace[0]
    exact = (total[1] * share - weights[1] - workspace[1]) / each[1]
    assert floor_ratio(pool, each[0], usable + weights[0] + workspace[0]) == math.floor(exact)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_results_are_whole_near_and_ordered(x: float) -> None:
    low, high = floor_exact(x), ceil_exact(x)
    assert low == math.floor(low)
    assert high == math.ceil(high)
    assert abs(high - x) <= 1
    assert abs(low - x) <= 1
    if abs(x) < 1e11:  # above, whole numbers lie within the guard of each other
        assert high - low in (0.0, 1.0)
        assert low <= x * (1 + 1e-12 * math.copysign(1, x))
        assert high >= x * (1 - 1e-12 * math.copysign(1, x))


def exact_cells() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(load, denominator, count) where load / denominator is the whole `count` on paper, from decimal inputs."""
    rho = [Fraction(n, 100) for n in range(50, 100, 5)]
    rate = [Fraction(n, 10) for n in range(1, 60, 3)]
    cells = [(n, r, m) for r in rho for m in rate for n in range(1, 150)]
    load = np.array([float(n * r * m) for n, r, m in cells])
    return load, np.array([float(r) * float(m) for _, r, m in cells]), np.array([float(n) for n, _, _ in cells])


def test_plain_ceil_and_floor_miss_whole_quotients_and_exact_ones_do_not() -> None:
    load, denominator, count = exact_cells()
    assert np.mean(np.ceil(load / denominator) != count) > 0.05
    assert np.mean(np.floor(load / denominator) != count) > 0.05
    np.testing.assert_array_equal(ceil_exact(load / denominator), count)
    np.testing.assert_array_equal(floor_exact(load / denominator), count)


def test_a_relative_guard_alone_misses_whole_differences_and_the_magnitude_guard_does_not() -> None:
    # Pools of a few blocks left of hundreds of units: total - weights - 0.05 where weights = total - 0.05 - n blocks.
    totals = [Fraction(5123 + 7 * n, 10) for n in range(300)]
    each, workspace = Fraction(1, 100), Fraction(5, 100)
    cells = [(t, t - workspace - n * each, n) for t in totals for n in (1, 2, 3, 5)]
    total, weights = np.array([float(t) for t, _, _ in cells]), np.array([float(w) for _, w, _ in cells])
    count, pool = np.array([float(n) for _, _, n in cells]), total - weights - float(workspace)
    assert np.mean(np.floor(pool / float(each)) != count) > 0.2
    assert np.mean(floor_exact(pool / float(each)) != count) > 0.05
    np.testing.assert_array_equal(floor_ratio(pool, float(each), total + weights + float(workspace)), count)


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (2.1 / 0.7, 3.0, 3.0),  # 3.0000000000000004
        (21 / (1 * 0.7), 30.0, 30.0),  # public case D03
        (0.6 * 1 / 0.05, 12.0, 12.0),  # public case D04: 11.999999999999998
        (3.0, 3.0, 3.0),
        (3.0 + 1e-11, 4.0, 3.0),  # above the guard: a real excess
        (3.0 - 1e-11, 3.0, 2.0),
        (0.0, 0.0, 0.0),
        (1e-300, 1.0, 0.0),  # the guard is relative: a tiny demand still needs one
        (-2.5, -2.0, -3.0),
        (-3.0 + 1e-14, -3.0, -3.0),
        (1e13, 1e13, 1e13),  # a whole number stays, however wide the guard
        (1e13 + 0.25, 1e13 + 1, 1e13),  # 1e13 is far above any count, and fractions still count
        (1e13 + 0.75, 1e13 + 1, 1e13),
        (2.0**53 - 1, 2.0**53 - 1, 2.0**53 - 1),
        (1e300, 1e300, 1e300),
        (math.inf, math.inf, math.inf),
        (-math.inf, -math.inf, -math.inf),
    ],
)
def test_hand_checked_values(value: float, up: float, down: float) -> None:
    assert (ceil_exact(value), floor_exact(value)) == (up, down)
    assert ceil_exact(np.array([value]))[0] == up
    assert floor_exact(np.array([value]))[0] == down


def test_nan_stays_and_zero_is_never_negative() -> None:
    assert math.isnan(ceil_exact(math.nan))
    assert math.isnan(floor_exact(math.nan))
    assert math.isnan(floor_ratio(math.nan, 1.0, 1.0))
    for zero in (ceil_exact(-0.5), ceil_exact(-0.0), floor_exact(-0.0), ceil_exact(np.array([-0.5]))[0]):
        assert math.copysign(1.0, zero) == 1.0


def test_floor_ratio_of_zero_and_infinite_divisors() -> None:
    assert floor_ratio(5.0, 0.0, 5.0) == math.inf
    assert floor_ratio(5.0, math.inf, 5.0) == 0.0
    assert floor_ratio(-0.4, 1.0, 1.0) == -1.0


def test_kinds_are_kept_and_inputs_untouched() -> None:
    values = np.array([[2.1 / 0.7, 2.5]])
    before = values.copy()
    assert isinstance(ceil_exact(1), float)
    assert isinstance(floor_ratio(1, 2, 3), float)
    assert ceil_exact(values).tolist() == [[3.0, 3.0]]
    np.testing.assert_array_equal(values, before)
    labelled = xr.DataArray([2.5, np.nan], dims="x", coords={"x": ["a", "b"]})
    assert ceil_exact(labelled).equals(xr.DataArray([3.0, np.nan], dims="x", coords={"x": ["a", "b"]}))
    assert ceil_exact(np.array([3], dtype=np.int32)).dtype == np.float64


def test_int64_holds_what_int32_would_wrap() -> None:
    # Public traps: a cast of 3e9, 1e13 or NaN to int32 gives -2147483648 without a word.
    assert to_int64(np.array([3e9, 1e13, 2.0**53, -5.0])).tolist() == [3_000_000_000, 10**13, 2**53, -5]
    assert to_int64(np.array([3e9])).dtype == np.int64
    assert to_int64(7.0) == 7
    assert type(to_int64(7.0)) is int
    assert to_int64([1.0, 2.0]).tolist() == [1, 2]
    assert to_int64(np.array([2**62])).tolist() == [2**62]
    assert to_int64(np.array([], dtype=np.float64)).shape == (0,)


def test_int64_masks_nulls() -> None:
    values = np.array([[1.0, np.nan], [np.inf, 4.0]])
    assert to_int64(values, mask=~np.isfinite(values)).tolist() == [[1, 0], [0, 4]]
    assert to_int64(values, mask=np.array(True)).tolist() == [[0, 0], [0, 0]]
    labelled = xr.DataArray([1.0, np.nan], dims="x")
    assert to_int64(labelled, mask=np.isnan(labelled)).equals(xr.DataArray([1, 0], dims="x"))


def test_int64_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(OverflowError, match="18014398509481984 is above 2"):
        to_int64(np.array([1.0, 2.0**54, 2.0**53 + 2]))
    with pytest.raises(ValueError, match="2 of 3 values are NaN or infinite"):
        to_int64(np.array([1.0, np.nan, -np.inf]))
    with pytest.raises(ValueError, match=r"2\.5 is not a whole number"):
        to_int64(np.array([1.0, 2.5]))
    with pytest.raises(ValueError, match="NaN"):
        to_int64(math.nan)


def test_labels_have_twelve_significant_digits() -> None:
    assert round_label(0.1 + 0.2) == 0.3
    assert round_label(-0.0) == 0.0
    assert math.copysign(1.0, round_label(-0.0)) == 1.0
    assert round_label(123456789012345.0) == 123456789012000.0
    assert round_label([[0.7, 3 * 0.1]]).tolist() == [[0.7, 0.3]]
    assert round_label(70553706496) == 70553706496.0


@settings(deadline=None)
@given(st.integers(1, 10**12), st.integers(-6, 6))
def test_labels_of_twelve_digits_are_kept(mantissa: int, exponent: int) -> None:
    value = float(Fraction(mantissa) * Fraction(10) ** exponent)
    assert round_label(value) == value
    assert round_label(round_label(value / 3)) == round_label(value / 3)
