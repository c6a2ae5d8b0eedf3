"""The rate of one replica under each limit, and which one binds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import (
    binding_constraint,
    decode_work_s,
    latency_at_concurrency,
    little_in_flight,
    lowest,
    prefill_work_s,
    rate_at_concurrency,
    rate_at_e2e,
    rate_at_tpot,
    rate_littles_law,
    request_work_s,
    tpot_share,
    users_to_rate,
)


def test_binding_constraint_and_its_ties() -> None:
    assert binding_constraint(72, 300) == "memory"
    assert binding_constraint(300, 72) == "compute"
    assert binding_constraint(300, 300.0) == "balanced"
    assert binding_constraint(300, 300 * (1 + 1e-10)) == "balanced"
    assert binding_constraint(300, 300 * (1 + 1e-8)) == "memory"
    assert binding_constraint(0, 0.0) == "balanced"
    assert binding_constraint(5, math.inf) == "memory"
    assert binding_constraint(math.inf, 5) == "compute"
    assert binding_constraint(math.inf, math.inf) == "balanced"
    assert binding_constraint(math.nan, 5) == ""
    assert binding_constraint(np.array([1.0, np.nan]), 2.0).tolist() == ["memory", ""]


def test_work_is_prefill_plus_decode() -> None:
    # by hand: 1 ms x 100 x 0.75 + 20 x (0.1 ms x 50 + 2 ms) = 75 ms + 140 ms
    assert prefill_work_s(0.001, 100, 0.25) == pytest.approx(0.075)
    assert decode_work_s(20, 0.0001, 50, 0.002) == pytest.approx(0.140)
    assert request_work_s(0.001, 100, 0.25, 20, 0.0001, 50, 0.002) == pytest.approx(0.215)
    assert prefill_work_s(0.001, 100, 1.0) == 0.0


def test_share_is_zero_where_the_weight_read_alone_breaks_the_limit() -> None:
    assert tpot_share(0.01, np.array([0.005, 0.01, 0.02, np.inf])).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_rate_at_tpot_puts_the_step_at_the_limit() -> None:
    weights, limit, work = 0.007, 0.05, 0.09
    rate = rate_at_tpot(tpot_share(weights, limit), work)
    assert weights / (1 - rate * work) == pytest.approx(limit, rel=1e-14)


def test_concurrency_cap_obeys_littles_law() -> None:
    cap = np.array([0.0, 1.0, 64.0, 1e6])
    rate, latency = rate_at_concurrency(cap, 300, 0.007, 0.09), latency_at_concurrency(cap, 300, 0.007, 0.09)
    np.testing.assert_allclose(little_in_flight(rate, latency), cap, rtol=1e-14)
    assert rate[0] == 0.0
    assert rate_at_concurrency(math.inf, 300, 0.007, 0.09) == pytest.approx(1 / 0.09)
    assert (np.diff(rate) > 0).all()


def test_e2e_rate_puts_the_mean_latency_at_the_limit() -> None:
    prefill, output, weights, work = 0.1, 300, 0.007, 0.09
    rate = rate_at_e2e(5.0, prefill, output, weights, work)
    assert prefill + output * weights / (1 - rate * work) == pytest.approx(5.0, rel=1e-14)


@pytest.mark.parametrize(
    ("limit", "weights", "expected"),
    [
        (math.inf, 0.007, 1 / 0.09),  # no limit: all busy
        (2.2, 0.007, 0.0),  # 0.1 + 2.1: an idle replica just meets it, with no rate left
        (1.0, 0.007, 0.0),  # the weight reads alone take 2.1 s
        (0.1, 0.007, 0.0),  # prefill takes it all
        (0.05, 0.007, 0.0),  # prefill takes more
        (0.05, 0.0, 0.0),
        (1.0, 0.0, 1 / 0.09),  # nothing but work: any rate below saturation
    ],
)
def test_e2e_rate_at_its_edges(limit: float, weights: float, expected: float) -> None:
    assert rate_at_e2e(limit, 0.1, 300, weights, 0.09) == pytest.approx(expected, abs=1e-12)


def test_littles_law_both_ways() -> None:
    assert rate_littles_law(72, 4) == 18.0
    assert little_in_flight(18, 4) == 72.0
    # a closed loop: all users either think or wait
    rate = users_to_rate(500, 30, 4)
    assert little_in_flight(rate, 30 + 4) == pytest.approx(500)


def test_lowest_names_the_limit_and_its_ties() -> None:
    a, b, c = np.array([1.0, 5.0, np.nan, 7.0, np.nan]), 3.0, np.array([2.0, 3.0 * (1 + 1e-10), 9.0, 3.1, 1.0])
    minimum, index, ties = lowest(a, b, c)
    assert minimum.tolist() == [1.0, 3.0, 3.0, 3.0, 1.0]
    assert index.tolist() == [0, 1, 1, 1, 2]
    assert ties.tolist() == [0b001, 0b110, 0b010, 0b010, 0b100]
    assert index.dtype == ties.dtype == np.int64


def test_lowest_of_absent_and_infinite_limits() -> None:
    minimum, index, ties = lowest(np.array([np.nan, np.inf]), np.array([np.nan, np.nan]))
    assert np.isnan(minimum[0])
    assert minimum[1] == np.inf
    assert index.tolist() == [-1, 0]
    assert ties.tolist() == [0, 1]
    assert lowest(4.0) == (4.0, 0, 1)
    assert lowest(0.0, 0.0) == (0.0, 0, 3)


def test_lowest_broadcasts_small_limits_over_large_ones() -> None:
    minimum, index, ties = lowest(np.array([[1.0], [9.0]]), np.array([4.0, 5.0, 9.0]))
    assert minimum.shape == index.shape == ties.shape == (2, 3)
    assert index.tolist() == [[0, 0, 0], [1, 1, 0]]
    assert ties.tolist() == [[1, 1, 1], [2, 2, 3]]
