"""Time of the formulas of one replica by cell; `pytest tests/bench --benchmark-enable`, and divide by `CELLS`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from latency_cost import lines, random_replicas
from pytest_benchmark.fixture import BenchmarkFixture

from gridplan.formulas import OperatingPoint, operating_point

CELLS = 20_000


@pytest.mark.parametrize("classes", [1, 3])
def test_means(benchmark: BenchmarkFixture, classes: int) -> None:
    inputs = random_replicas(CELLS, classes)
    point = benchmark(lambda: operating_point(**inputs))
    assert np.isfinite(point.ttft_s).mean() > 0.8


@pytest.mark.parametrize("method", ["exact", "fast"])
@pytest.mark.parametrize("name", ["ttft", "tpot", "e2e", "itl"])
@pytest.mark.parametrize("classes", [1, 3])
def test_quantiles(benchmark: BenchmarkFixture, classes: int, name: str, method: str) -> None:
    inputs = random_replicas(CELLS, classes)

    def fresh() -> tuple[tuple[OperatingPoint], dict[str, Any]]:
        return (operating_point(**inputs),), {}

    found = benchmark.pedantic(lambda point: getattr(point, f"{name}_quantile")(0.95, method), setup=fresh, rounds=3)
    assert np.isfinite(found).mean() > 0.8


def test_every_cost_is_measured() -> None:
    table = lines(runs=1, scale=0.002)
    assert len(table) == 2 + 13
    for line in table[2:]:
        one, three = (float(cost) for cost in line.strip("| ").split(" | ")[2:])
        assert one > 0.0
        assert three > 0.0
