"""Requests a second of the simulator; `pytest tests/bench --benchmark-enable` times it, otherwise each runs once."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from gridplan.simulation import Simulation, simulate

# Llama-3.1-70B FP16 on four H100 SXM at 75% of bandwidth and 50% of peak.
T_W, K, P = 70.55e9 / 4 / (3.35e12 * 0.75), 327680 / 4 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)
REQUESTS, UNTIMED = 1000, 100
"""Requests that are timed, and of a run that only shows that it can be."""


def run(cells: int, classes: int, requests: int) -> Simulation:
    outputs = np.linspace(100, 500, classes).round() if classes > 1 else np.array([300.0])
    return simulate(np.linspace(2.0, 8.0, cells), np.ones(classes), 2000, None, outputs, T_W, K, P, requests=requests)


@pytest.mark.parametrize(("cells", "classes"), [(10, 1), (100, 1), (1000, 1), (1000, 64)])
def test_requests_a_second(benchmark: BenchmarkFixture, cells: int, classes: int) -> None:
    requests = REQUESTS if benchmark.enabled else UNTIMED
    found = benchmark.pedantic(run, args=(cells, classes, requests), rounds=1)
    assert found.ttft_s.shape == (cells, requests)
    if benchmark.enabled:
        benchmark.extra_info["requests_per_s"] = round(found.ttft_s.size / benchmark.stats.stats.mean)
