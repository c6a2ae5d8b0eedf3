"""Is a run long enough: for its percentiles, for its own latencies, and against its repeats."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sweep import SweepPoint
from gridplan.quantities import format_quantity

__all__ = ["repeats_differ", "run_too_short", "too_few_requests"]

FEW_BEYOND, GOOD_BEYOND = 10.0, 30.0
"""Requests beyond a percentile below which it is a guess, and from which it is a figure (policy)."""

LATENCIES_LONG = 10.0
"""End-to-end latencies that a run must last (policy): while it starts and ends the server is not full."""

REPEATS_APART = 1.25
"""Largest over least rate that repeats of one load complete, from which one of them is wrong (policy)."""


def too_few_requests(load: Load) -> Iterator[SweepCheck]:
    """Percentiles of the limits with too few requests beyond them, one check a limit."""
    for slo in load.slos:
        if not isinstance(slo.statistic, float):
            continue
        tail = 1.0 - slo.statistic / 100.0
        counted = [(row, p.requests_completed) for row, p in load.rows() if p.requests_completed is not None]
        for severity, low, high in (("warning", 0.0, FEW_BEYOND), ("info", FEW_BEYOND, GOOD_BEYOND)):
            # 1000 * (1 - 0.99) is 10.000000000000009 or less in floating point
            rows = [(row, n) for row, n in counted if low <= round(n * tail, 6) < high]
            if rows:
                fewest = min(n for _, n in rows)
                yield SweepCheck(
                    "too_few_requests",
                    "warning" if severity == "warning" else "info",
                    f"{slo.name} of {fewest:,} requests rests on the {fewest * tail:.2g} slowest; {GOOD_BEYOND:.0f} "
                    f"take {GOOD_BEYOND / tail:,.0f} requests",
                    tuple(row for row, _ in rows),
                    (slo.figure,),
                    {"beyond": fewest * tail},
                )


def run_too_short(load: Load) -> Iterator[SweepCheck]:
    """Points whose run is shorter than ten of its own end-to-end latencies."""
    for row, point in load.rows():
        duration_s, e2e_s = _duration(point), _usual(point)
        if duration_s is None or e2e_s is None or duration_s >= LATENCIES_LONG * e2e_s:
            continue
        yield SweepCheck(
            "run_too_short",
            "warning",
            f"a run of {format_quantity(duration_s, 's')} is {duration_s / e2e_s:.2g} end-to-end latencies long, "
            f"{LATENCIES_LONG:.0f} are due: the server was never full for long, and rates come out too low",
            (row,),
            numbers={"latencies": duration_s / e2e_s},
        )


def _duration(point: SweepPoint) -> float | None:
    rate = point.achieved_rate_per_s or point.offered_rate_per_s
    if point.duration_s is not None or point.requests_completed is None or not rate:
        return point.duration_s
    return point.requests_completed / rate


def _usual(point: SweepPoint) -> float | None:
    """Mean end-to-end latency, or its median [s]."""
    if point.e2e is None:
        return None
    return point.e2e.mean_s if point.e2e.mean_s is not None else point.e2e.percentiles_s.get(50.0)


def repeats_differ(load: Load) -> Iterator[SweepCheck]:
    """Repeats of one load that completed far different rates."""
    loads: dict[tuple[object, ...], list[tuple[int, float]]] = {}
    for row, point in load.rows():
        if point.achieved_rate_per_s:
            of_load = (point.loop, point.offered_rate_per_s, point.concurrency_limit)
            loads.setdefault(of_load, []).append((row, point.achieved_rate_per_s))
    for rates in loads.values():
        least, most = min(rate for _, rate in rates), max(rate for _, rate in rates)
        if len(rates) > 1 and most > REPEATS_APART * least:
            yield SweepCheck(
                "repeats_differ",
                "warning",
                f"runs of one load completed {least:.4g} to {most:.4g} requests/s, {most / least:.3g} times apart",
                tuple(row for row, _ in rates),
                numbers={"under_estimate": most / least},
            )
