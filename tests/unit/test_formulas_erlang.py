"""Erlang's formulas against arbitrary precision (their recurrence and their integral), and their edges."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from gridplan.formulas import allen_cunneen_wait_s, erlang_b, erlang_c, mmc_wait_s

LOADS = [1e-3, 0.05, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999, 1 - 1e-6, 1.0, 1 + 1e-6, 1.001, 1.05, 1.5, 2.0, 3.0, 10.0, 1000.0]


def exact_blocking(servers: int, load: float) -> mp.mpf:
    """Erlang B by its recurrence 1/B_n = 1 + n/a / B_(n-1), in 40 digits."""
    inverse, a = mp.mpf(1), mp.mpf(load)
    for n in range(1, servers + 1):
        inverse = 1 + mp.mpf(n) / a * inverse
    return 1 / inverse


def integral_blocking(servers: float, load: float) -> mp.mpf:
    """Erlang B of any real number of servers: 1/B is the integral of e^-t (1 + t/a)^c."""
    c, a = mp.mpf(servers), mp.mpf(load)
    peak = max(c - a, mp.mpf(0))
    width = max(mp.sqrt(c) if c > a else min(mp.sqrt(a), a / (a - c) if a > c else a), mp.mpf("0.5"))
    knots = sorted(
        {mp.mpf(0), *(max(mp.mpf(0), peak + k * width) for k in (-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40, 80))}
    )
    return 1 / mp.quad(lambda t: mp.exp(-t) * (1 + t / a) ** c, knots)


def waiting(servers: float, load: float, blocked: mp.mpf) -> mp.mpf:
    rho = mp.mpf(load) / mp.mpf(servers)
    return mp.mpf(1) if load >= servers else blocked / (1 - rho + rho * blocked)


@pytest.mark.parametrize("servers", [1, 2, 5, 14, 15, 16, 40, 100, 333, 1000])
def test_erlang_formulas_match_arbitrary_precision(servers: int) -> None:
    rho = np.array(LOADS)
    got_b, got_c = erlang_b(servers, rho * servers), erlang_c(servers, rho * servers)
    with mp.workdps(40):
        for share, b, c in zip(LOADS, got_b.tolist(), got_c.tolist(), strict=True):
            load = float(share * servers)
            blocked = exact_blocking(servers, load)
            if blocked < mp.mpf("1e-300"):
                assert b <= 1e-300
                continue
            assert abs(b / blocked - 1) < mp.mpf("1e-12"), (share, b, blocked)
            assert abs(c / waiting(servers, load, blocked) - 1) < mp.mpf("1e-12"), (share, c)


@pytest.mark.parametrize("servers", [0.5, 2.7, 14.5, 67.5, 99.25, 1e4, 1e5, 1e6])
def test_real_and_huge_numbers_of_servers_match_the_integral(servers: float) -> None:
    rho = np.array(LOADS)
    got_b, got_c = erlang_b(servers, rho * servers), erlang_c(servers, rho * servers)
    checked = 0
    with mp.workdps(30):
        for share, b, c in zip(LOADS, got_b.tolist(), got_c.tolist(), strict=True):
            if b < 1e-290:
                assert share < 0.98
                continue
            load = float(share * servers)
            blocked = integral_blocking(servers, load)
            assert abs(b / blocked - 1) < mp.mpf("1e-12"), (share, b, blocked)
            assert abs(c / waiting(servers, load, blocked) - 1) < mp.mpf("1e-12"), (share, c)
            checked += 1
    assert checked >= 11


def test_a_million_servers_match_the_recurrence() -> None:
    # B_n = a B / (n + a B) is stable: an error of one step shrinks in the next.
    servers, load = 1_000_000, np.array([0.99, 0.999, 1.0, 1.0005, 1.01, 2.0, 1000.0]) * 1e6
    blocked = np.ones_like(load)
    for n in range(1, servers + 1):
        blocked = load * blocked
        blocked = blocked / (n + blocked)
    np.testing.assert_allclose(erlang_b(servers, load), blocked, rtol=1e-10)


def test_nothing_jumps_where_the_method_changes() -> None:
    servers = np.array([0.5, 3.0, 14.999, 15.0, 200.0, 1e4, 1e6])
    border = servers + 8.0 * np.sqrt(servers + 1.0)
    below, above = erlang_b(servers, np.nextafter(border, 0.0)), erlang_b(servers, np.nextafter(border, np.inf))
    np.testing.assert_allclose(below, above, rtol=1e-11)


def test_erlang_edges() -> None:
    assert erlang_b(5, 0.0) == 0.0
    assert erlang_b(0, 3.0) == pytest.approx(1.0)
    assert erlang_b(0, 1e6) == pytest.approx(1.0)
    assert erlang_c(5, 0.0) == 0.0
    assert erlang_c(5, 5.0) == erlang_c(5, 50.0) == 1.0
    assert erlang_b(5, math.inf) == erlang_c(5, math.inf) == 1.0
    assert math.isnan(erlang_b(math.nan, 1.0))
    assert math.isnan(erlang_c(3, math.nan))
    assert math.isnan(erlang_b(-1, 1.0))
    assert math.isnan(erlang_b(1, -1.0))
    assert math.isnan(erlang_c(0, 1.0))
    assert erlang_b(10, 1e9) == pytest.approx(1 - 10 / 1e9, rel=1e-12)
    assert erlang_b(1e5, 1.0) == 0.0


def test_two_moments_agree_with_the_exact_queues() -> None:
    assert allen_cunneen_wait_s(3.0, 4, 1.0, 1.0, 1.0) == mmc_wait_s(3.0, 4, 1.0)
    # Pollaczek-Khinchine: lambda E[S^2] / (2 (1 - rho)), E[S^2] = s^2 (1 + cs2)
    rate, service, scv = 0.3, 2.5, 3.0
    exact = rate * service**2 * (1 + scv) / (2 * (1 - rate * service))
    assert allen_cunneen_wait_s(rate, 1, service, 1.0, scv) == pytest.approx(exact, rel=1e-12)
    assert allen_cunneen_wait_s(1.0, 1, 1.0, 0.5, 0.5) == math.inf


def test_two_moments_are_near_a_simulated_queue_at_high_load() -> None:
    # Kiefer and Wolfowitz: the next request goes to the server that is free first. M/D/4 at rho 0.9.
    rng = np.random.default_rng(7)
    gaps = rng.exponential(1 / 3.6, 200_000).tolist()
    free, now, total = [0.0] * 4, 0.0, 0.0
    for gap in gaps:
        now += gap
        first = min(range(4), key=free.__getitem__)
        start = max(now, free[first])
        total += start - now
        free[first] = start + 1.0
    assert allen_cunneen_wait_s(3.6, 4, 1.0, 1.0, 0.0) == pytest.approx(total / len(gaps), rel=0.12)
