"""Public sweeps of an open loop: each gives a rate, and the checks say what is wrong with its figures.

Source: demos of kubernetes-sigs/inference-perf (2025-11), whose version counts about two events a token, and whose
client keeps at most 440 requests in flight; collected beside this checkout and skipped where that is absent.
"""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

import pytest

from gridplan.measured import sweep_result
from gridplan.measured.sweep import Latency, SweepPoint

FILE = Path(__file__).parents[3] / "shared" / "truth" / "throughput.csv"

EXPECTED = {
    "inference-perf-vllm": 92.19,
    "inference-perf-vllm+chunking_and_prefix_caching": 169.99,
    "inference-perf-vllm+v0_engine": 40.19,
    "inference-perf-vllm+eagle": 52.49,
}
"""Rates at TTFT p90 of 300 ms and E2E p99 of 3 s [requests/s], read from the tables by eye: the last stage before the
queue."""


def sweeps() -> dict[str, list[SweepPoint]]:
    with FILE.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["id"].startswith("inference-perf-")]
    return {
        name: [_point(row) for row in some]
        for name, some in groupby(rows, key=lambda row: row["id"].rpartition("-stage")[0])
    }


def _point(row: dict[str, str]) -> SweepPoint:
    def latency(name: str) -> Latency:
        found = {p: row.get(f"{name}_p{p:g}_ms") for p in (50.0, 90.0, 99.0)}
        return Latency(float(row[f"{name}_mean_ms"]) / 1e3, {p: float(v) / 1e3 for p, v in found.items() if v})

    return SweepPoint(
        file="throughput.csv", place=row["id"], tool="inference-perf", format="csv-table", loop="open",
        offered_rate_per_s=float(row["request_rate_offered_rps"]),
        achieved_rate_per_s=float(row["request_throughput_rps"]), requests_completed=int(float(row["completed"])),
        requests_failed=int(float(row["failed"])), input_tokens_mean=float(row["isl_mean"]),
        output_tokens_mean=float(row["osl_mean"]), ttft=latency("ttft"), tpot=latency("tpot"), e2e=latency("e2e"),
    )  # fmt: skip


@pytest.mark.skipif(not FILE.exists(), reason="the collected sweeps are not beside this checkout")
def test_every_public_sweep_gives_a_rate_and_its_tpot_is_found_out() -> None:
    found = {name: sweep_result(points, "ttft_p90=300ms,e2e_p99=3s") for name, points in sweeps().items()}
    assert {name: result.lambda_instance_per_s for name, result in found.items()} == EXPECTED
    for name, result in found.items():
        ids = {check.id for check in result.checks}
        (halved,) = [{row for check in result.checks if check.id == "littles_law" for row in check.rows}]
        # EAGLE's streams carry several tokens an event: fewer events, so its TPOT is 0.53 to 0.54 of what it should be.
        assert halved == set(range(7)), name
        assert {"over_saturated", "closed_as_open"} <= ids, name
        assert not ids & {"swapped_units", "percentiles_fall", "warm_cache"}, name


@pytest.mark.skipif(not FILE.exists(), reason="the collected sweeps are not beside this checkout")
def test_a_limit_on_the_halved_tpot_is_not_judged() -> None:
    for points in sweeps().values():
        result = sweep_result(points, "tpot_p90=20ms")
        assert result.lambda_instance_per_s is None
        assert {verdict.unused for verdict in result.points} == {"littles_law"}
