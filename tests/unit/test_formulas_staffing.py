"""Least numbers of servers against a linear search, and the square-root rule against them."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan import formulas as f

TARGETS = [0.99, 0.7, 0.5, 0.2, 0.05, 1e-3, 1e-6]


def blocked_by_servers(load: float, last: int) -> list[float]:
    """Erlang B of 0 to `last` servers by its recurrence."""
    found = [1.0]
    for n in range(1, last + 1):
        found.append(load * found[-1] / (n + load * found[-1]))
    return found


@pytest.mark.parametrize("load", [0.01, 0.7, 1.0, 5.0, 33.3, 400.0])
def test_least_servers_are_those_of_a_linear_search(load: float) -> None:
    blocked = blocked_by_servers(load, int(load + 20 * math.sqrt(load) + 30))
    waits = [b / (1 - load / c * (1 - b)) if c > load else 1.0 for c, b in enumerate(blocked)]
    for target in TARGETS:
        fewest = next(c for c, b in enumerate(blocked) if c >= 1 and b <= target * (1 + 1e-13))
        assert f.mmcc_servers_needed(load, target) == fewest
        waiting = next(c for c, w in enumerate(waits) if c > load and w <= target * (1 + 1e-13))
        assert f.mmc_servers_needed(load, target) == waiting


def test_a_probability_that_is_met_exactly_is_met() -> None:
    servers = np.arange(1.0, 300.0)
    for share in (0.3, 0.8, 0.97):
        load = servers * share
        np.testing.assert_array_equal(f.mmc_servers_needed(load, f.erlang_c(servers, load)), servers)
        np.testing.assert_array_equal(f.mmcc_servers_needed(load, f.erlang_b(servers, load)), servers)


def test_least_servers_of_a_huge_load() -> None:
    load = np.array([1e4, 1e6])
    needed = f.mmc_servers_needed(load, 0.1)
    assert (f.erlang_c(needed, load) <= 0.1).all()
    assert (f.erlang_c(needed - 1, load) > 0.1).all()


def test_edges_of_least_servers() -> None:
    assert f.mmc_servers_needed(0.0, 0.5) == f.mmcc_servers_needed(0.0, 0.5) == 1
    assert f.mmc_servers_needed(4.0, 1.0) == 5
    assert f.mmcc_servers_needed(4.0, 1.0) == 1
    for load, target in ((-1.0, 0.5), (1.0, 0.0), (1.0, 1.5), (math.nan, 0.5), (1.0, math.nan), (math.inf, 0.5)):
        assert math.isnan(f.mmc_servers_needed(load, target))
        assert math.isnan(f.mmcc_servers_needed(load, target))
        if load != math.inf:
            assert math.isnan(f.square_root_staffing(load, target))
    assert f.mmc_servers_needed(np.full((2, 3), 5.0), 0.04).tolist() == [[10.0] * 3] * 2


@settings(deadline=None, max_examples=60)
@given(st.floats(0.01, 1e5), st.floats(1e-8, 1.0), st.floats(1.0, 3.0))
def test_more_load_or_less_waiting_takes_more_servers(load: float, target: float, factor: float) -> None:
    needed = f.mmc_servers_needed(load, target)
    assert f.mmc_servers_needed(load * factor, target) >= needed
    assert f.mmc_servers_needed(load, target / factor) >= needed
    # two separate groups never need fewer servers than one that shares them
    assert f.mmc_servers_needed(2 * load, target) <= 2 * needed


@settings(deadline=None, max_examples=60)
@given(st.floats(1.0, 1e6), st.floats(1e-4, 0.99))
def test_the_square_root_rule_is_on_the_safe_side_by_at_most_one(load: float, target: float) -> None:
    rounded = math.ceil(f.square_root_staffing(load, target) - 1e-9)
    assert 0 <= rounded - f.mmc_servers_needed(load, target) <= 1


def test_the_correction_of_the_square_root_rule_halves_with_four_times_the_load() -> None:
    # The next term goes with 1/sqrt(load): measured against the real root of Erlang C = target.
    errors = []
    for load in (100.0, 400.0, 1600.0):
        root = mp.findroot(lambda c, a=load: f.erlang_c(float(c), a) - 0.01, load + 2.4 * math.sqrt(load), tol=1e-20)
        errors.append(f.square_root_staffing(load, 0.01) - float(root))
    assert errors[0] > 0
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)


def test_the_limit_of_many_servers() -> None:
    # C at a fixed beta = (1 - rho) sqrt(c) tends to Halfin and Whitt's; the error goes with 1/sqrt(c).
    servers = np.array([1e2, 1e4, 1e6])
    for beta in (0.1, 0.5, 1.0, 2.0):
        load = servers - beta * np.sqrt(servers)
        error = np.abs(f.halfin_whitt_c(servers, load) / f.erlang_c(servers, load) - 1)
        assert (np.diff(error) < 0).all()
        assert error[-1] < 3e-3
    # beta = 1: 1 / (1 + 0.8413447461 / 0.2419707245) by hand
    assert f.halfin_whitt_c(100, 90) == pytest.approx(0.22336, abs=1e-5)
    assert f.halfin_whitt_c(10, 20) == 1.0
    assert math.isnan(f.halfin_whitt_c(0, 1))
