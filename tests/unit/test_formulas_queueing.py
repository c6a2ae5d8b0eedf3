"""The identities between the queues of one server and many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import (
    burst_ratio,
    erlang_c,
    kingman_wait_s,
    mmc_wait_s,
    queue_factor,
    queue_growth,
)


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
