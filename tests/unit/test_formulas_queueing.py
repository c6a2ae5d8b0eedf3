"""Erlang's formulas against arbitrary precision, and the identities between the queues."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from gridplan.formulas import (
    burst_ratio,
    erlang_b,
    erlang_c,
    kingman_wait_s,
    mmc_wait_s,
    queue_factor,
    queue_growth,
)


def exact_blocking(servers: int, load: float) -> mp.mpf:
    """Erlang B by its recurrence 1/B_n = 1 + n/a / B_(n-1), in 40 digits."""
    inverse, a = mp.mpf(1), mp.mpf(load)
    for n in range(1, servers + 1):
        inverse = 1 + mp.mpf(n) / a * inverse
    return 1 / inverse


@pytest.mark.parametrize("servers", [1, 2, 5, 14, 15, 16, 40, 100, 333, 1000])
def test_erlang_formulas_match_arbitrary_precision(servers: int) -> None:
    rho = np.array([0.05, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999, 1.0, 1.001, 1.05, 1.5, 2.0, 3.0, 10.0, 1000.0])
    got_b, got_c = erlang_b(servers, rho * servers), erlang_c(servers, rho * servers)
    with mp.workdps(40):
        for share, b, c in zip(rho.tolist(), got_b.tolist(), got_c.tolist(), strict=True):
            load = float(share * servers)
            blocked = exact_blocking(servers, load)
            if blocked < mp.mpf("1e-300"):
                assert b <= 1e-300
                continue
            waiting = mp.mpf(1) if load >= servers else blocked / (1 - mp.mpf(load) / servers * (1 - blocked))
            assert abs(b / blocked - 1) < mp.mpf("1e-12"), (share, b, blocked)
            assert abs(c / waiting - 1) < mp.mpf("1e-12"), (share, c, waiting)


def test_erlang_b_keeps_its_digits_for_many_servers() -> None:
    # Differences of logarithms of factorials would lose five digits here.
    with mp.workdps(40):
        assert abs(erlang_b(10_000, 9_900.0) / exact_blocking(10_000, 9_900.0) - 1) < mp.mpf("1e-13")


def test_erlang_b_satisfies_its_recurrence_for_many_servers() -> None:
    servers = np.array([10_000.0, 100_000.0])
    load = servers * 0.995
    before, after = erlang_b(servers - 1, load), erlang_b(servers, load)
    np.testing.assert_allclose(after, load * before / (servers + load * before), rtol=1e-10)


def test_erlang_edges() -> None:
    assert erlang_b(5, 0.0) == 0.0
    assert erlang_b(0, 3.0) == pytest.approx(1.0)
    assert erlang_c(5, 0.0) == 0.0
    assert erlang_c(5, 5.0) == erlang_c(5, 50.0) == 1.0
    assert math.isnan(erlang_b(math.nan, 1.0))
    assert math.isnan(erlang_c(3, math.nan))
    assert erlang_b(10, 1e9) == pytest.approx(1 - 10 / 1e9, rel=1e-12)
    assert erlang_b(1e5, 1.0) == 0.0


def test_one_server_is_mm1() -> None:
    rho = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(erlang_c(1, rho), rho, rtol=1e-13)
    np.testing.assert_allclose(mmc_wait_s(rho / 2.0, 1, 2.0), 2.0 * queue_factor(rho), rtol=1e-12)
    np.testing.assert_allclose(kingman_wait_s(rho, 1, 1, 2.0), 2.0 * queue_factor(rho), rtol=1e-14)


def test_waits_are_infinite_from_saturation_on() -> None:
    assert queue_factor(np.array([0.0, 1.0, 1.5])).tolist() == [0.0, np.inf, np.inf]
    assert mmc_wait_s(4.0, 4, 1.0) == math.inf
    assert mmc_wait_s(5.0, 4, 1.0) == math.inf
    assert kingman_wait_s(1.0, 1, 1, 1.0) == math.inf
    assert burst_ratio(0.95, 1.1) == math.inf


def test_bursts_are_growth_to_the_burst_load() -> None:
    assert burst_ratio(0.7, 1.1) == pytest.approx(queue_growth(0.7, 0.77), rel=1e-14)
    assert burst_ratio(0.0, 1.1) == pytest.approx(1.1)


def test_deterministic_service_halves_the_wait() -> None:
    assert kingman_wait_s(0.8, 1, 0, 1.0) == pytest.approx(kingman_wait_s(0.8, 1, 1, 1.0) / 2)
