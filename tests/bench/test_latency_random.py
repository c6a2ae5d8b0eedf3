"""Errors of the formulas of one replica against simulations of the same step times: where a simulator is present."""

from __future__ import annotations

import latency_random as lr
import numpy as np
import pytest
from step_loop import gap_quantile, simulate_steps

from gridplan.formulas import tpot_at_concurrency

MOST = {"tpot": 1.0, "e2e": 1.0, "ttft": 2.0, "ttft_p95": 6.0, "tpot_p95": 3.0, "e2e_p99": 2.0}
"""Largest mean absolute error [%] by quantity, within validity."""


def test_draws_repeat_and_are_mostly_valid() -> None:
    first, second = lr.draw(3, 200), lr.draw(3, 200)
    assert [config.arrival_rate for config in first] == [config.arrival_rate for config in second]
    points = [config.solve() for config in first]
    stable = [point for point in points if point.stable]
    assert np.mean([bool(point.valid) for point in stable]) >= 0.85
    unstable = {str(point.limit) for point in points if not point.stable}
    assert unstable <= {"token_budget"}  # the law draws a busy share below 1


@pytest.mark.skipif(not lr.ORACLE.is_dir(), reason="no simulator beside the project")
@pytest.mark.slow
def test_errors_against_the_simulator() -> None:
    found = lr.compare(lr.draw(5, 60), lr.simulate_oracle, requests=100_000)
    for name, most in MOST.items():
        known = np.abs(found[name][np.isfinite(found[name])])
        assert known.size >= 30
        assert 100 * known.mean() <= most, name


def test_gaps_and_clients_against_plain_steps() -> None:
    """ITL of the 70B plan and a closed loop, step by step."""
    one = np.ones(1)
    step, context, prefill = 70.55e9 / 4 / (3.35e12 * 0.75), 327_680 / 4 / (3.35e12 * 0.75), 3.5649e-5
    for budget in (512, 2048):
        config = lr.Replica(200 / 34, one, 2000 * one, 2000 * one, 300 * one, step, context, prefill, budget)
        sample, point = simulate_steps(config, 20_000, 1, gaps=False), config.solve()
        for q in (0.5, 0.9, 0.95, 0.99):
            assert point.itl_quantile(q) == pytest.approx(gap_quantile(sample, q), rel=0.10)
    loop = simulate_steps(config, 3_000, 1, clients=30, gaps=False, jitter=0.5)
    closed = tpot_at_concurrency(30, one, 2000 * one, 2000 * one, 300 * one, step, context, prefill)
    assert closed.tpot_mean_s == pytest.approx(np.mean(loop["decode_s"] / (loop["output_tokens"] - 1)), rel=0.03)
    assert closed.ttft_s == pytest.approx(np.mean(loop["ttft_s"]), rel=0.10)
