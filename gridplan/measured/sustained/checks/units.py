"""Figures that cannot be in the unit they claim, found against each other; and percentiles that fall."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gridplan.measured.sustained.check import LATENCIES, Load, SweepCheck
from gridplan.measured.sustained.checks.little import tpot_ratio
from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.quantities import format_quantity

__all__ = ["percentiles_fall", "swapped_units"]

FACTOR = 30.0
"""From here on a figure against others is a slip of 1,000, not of a definition (policy: the root of 1,000)."""

FACTOR_PERCENTILES = 150.0
"""The same where percentiles stand for means: a p99 of unequal answers is some ten times a mean (policy)."""

FIRST_OVER_NEXT = 1 / 5
"""Least TTFT in times per output token (policy): the first token takes a step as others do."""

FIRST_OVER_LAST = 1.05
"""Most TTFT in end-to-end latencies (policy): rounding, and statistics over other requests."""

_COMMON = ("mean", 50.0, 75.0, 90.0, 95.0)
"""Statistics at which TTFT and TPOT are compared (policy): a far TPOT is that of a short answer that was held up."""

LIGHTER = 50.0
"""Times by which a lighter load is slower than a heavier one only by a slip (policy)."""

PLAUSIBLE_S = {"ttft": (5e-4, 1e5), "tpot": (2e-5, 20.0), "e2e": (5e-4, 1e5)}
"""Means and medians that a server can have [s] (policy): a network takes half a millisecond, and the slowest
public run of an overfull server had 6.2 s a token."""


def percentiles_fall(load: Load) -> Iterator[SweepCheck]:
    """Points with a percentile below a lower one."""
    for row, point in load.rows():
        for name in LATENCIES:
            latency = load.latency(point, name)
            steps = pairwise(sorted(latency.percentiles_s.items())) if latency is not None else ()
            for (low, low_s), (high, high_s) in steps:
                if high_s < low_s * (1 - 1e-6):
                    yield SweepCheck(
                        "percentiles_fall", "error",
                        f"{name} p{high:g} {_s(high_s)} is below p{low:g} {_s(low_s)}", (row,), (name,),
                    )  # fmt: skip


def swapped_units(load: Load) -> Iterator[SweepCheck]:
    """Points whose latencies are a thousand times off each other, or off what a server can do: ms taken as s."""
    for row, point in load.rows():
        found = _parts(load, point) or _plausible(point) or _longer_than_run(point)
        if found is not None:
            said, figures = found
            yield SweepCheck(
                "swapped_units", "error", f"{said}: are milliseconds taken as seconds?", (row,), figures
            )  # fmt: skip
    yield from _against_lighter(load)


Found = tuple[str, tuple[str, ...]]


def _parts(load: Load, point: SweepPoint) -> Found | None:
    """TTFT against E2E, E2E against TTFT and TPOT, TPOT against E2E, TTFT against TPOT, at one statistic."""
    for name, ttft_s in _statistics(point.ttft):
        last_s = _at(point.e2e, name)
        if last_s is not None and ttft_s > FIRST_OVER_LAST * last_s:
            return f"{_n(name)} TTFT {_s(ttft_s)} is longer than E2E {_s(last_s)}", ("ttft", "e2e")
    for low, early_s in _percentiles(point.ttft):
        for high, late_s in _percentiles(point.e2e):
            if high >= low and early_s > FIRST_OVER_LAST * late_s:
                said = f"p{low:g} TTFT {_s(early_s)} is longer than p{high:g} E2E {_s(late_s)}"
                return said, ("ttft", "e2e")
    if point.tpot is None:
        return None
    tokens = load.output_tokens(point)
    ratio = tpot_ratio(point)
    if ratio is not None and not 1 / FACTOR < ratio < FACTOR:
        return f"mean TPOT {_s(point.tpot.mean_s)} is {ratio:.3g} times what E2E and TTFT leave for it", ("tpot", "e2e")
    for name, tpot_s in _statistics(point.tpot):
        first_s, e2e_s = _at(point.ttft, name), _at(point.e2e, name)
        most = FACTOR if name == "mean" else FACTOR_PERCENTILES
        if e2e_s is not None and tokens is not None and tokens >= 2:
            sum_s = (first_s or 0.0) + (tokens - 1) * tpot_s
            if e2e_s * most < sum_s or (first_s is not None and e2e_s > most * sum_s):
                said = f"{_n(name)} E2E {_s(e2e_s)} is {e2e_s / sum_s:.3g} times what TTFT and {tokens:.4g} tokens take"
                return said, ("tpot", "e2e")
        if e2e_s is not None and tpot_s > e2e_s and tokens is not None and tokens >= 2:
            return f"{_n(name)} TPOT {_s(tpot_s)} is longer than E2E {_s(e2e_s)}", ("tpot", "e2e")
        if first_s is not None and first_s < FIRST_OVER_NEXT * tpot_s and name in _COMMON:
            said = f"{_n(name)} TTFT {_s(first_s)} is {first_s / tpot_s:.3g} of a TPOT of {_s(tpot_s)}"
            return said, ("ttft", "tpot")
    return None


def _plausible(point: SweepPoint) -> Found | None:
    for figure, (least_s, most_s) in PLAUSIBLE_S.items():
        latency: Latency | None = getattr(point, figure)
        for name in ("mean", 50.0):
            value_s = _at(latency, name)
            if value_s is not None and not least_s <= value_s <= most_s:
                return f"{_n(name)} {figure.upper()} of {_s(value_s)} is that of no server", (figure,)
        for percentile, value_s in _percentiles(latency):
            if percentile > 50.0 and value_s < least_s:
                return f"p{percentile:g} {figure.upper()} of {_s(value_s)} is that of no server", (figure,)
    return None


def _longer_than_run(point: SweepPoint) -> Found | None:
    for name in ("mean", 50.0):
        e2e_s = _at(point.e2e, name)
        if e2e_s is not None and point.duration_s is not None and e2e_s > 1.1 * point.duration_s:
            return f"{_n(name)} E2E {_s(e2e_s)} is longer than the run of {_s(point.duration_s)}", ("e2e",)
    return None


def _against_lighter(load: Load) -> Iterator[SweepCheck]:
    """Latencies that are many times longer at a lighter load than at the next heavier one."""
    rates: dict[float, list[int]] = {}
    for row, point in load.rows():
        if point.loop == "open" and point.offered_rate_per_s:
            rates.setdefault(point.offered_rate_per_s, []).append(row)
    for low, high in pairwise(sorted(rates)):
        for figure in ("ttft", "tpot", "e2e"):
            fastest = _fastest(load, rates[high], figure)
            for row in rates[low]:
                yield from _slower(load, row, figure, fastest)


Fastest = dict[str | float, tuple[float, tuple[int, ...]]]


def _fastest(load: Load, rows: list[int], figure: str) -> Fastest:
    """The least value of each statistic [s] among some points, with all points that have it."""
    found: Fastest = {}
    for row in rows:
        for name, value_s in _statistics(load.latency(load.points[row], figure)):
            least_s, alike = found.get(name, (value_s, ()))
            if value_s <= least_s:
                found[name] = (value_s, (*alike, row) if value_s == least_s else (row,))
    return found


def _slower(load: Load, row: int, figure: str, fastest: Fastest) -> Iterator[SweepCheck]:
    for name, low_s in _statistics(load.latency(load.points[row], figure)):
        high_s, heavier = fastest.get(name, (low_s, ()))
        if low_s > LIGHTER * high_s:
            said = f"{_n(name)} {figure.upper()} is {_s(low_s)} at the lighter load and {_s(high_s)} at the next"
            yield SweepCheck(
                "swapped_units", "error", f"{said}: are milliseconds taken as seconds?", (row, *heavier), (figure,)
            )  # fmt: skip
            return


def _statistics(latency: Latency | None) -> list[tuple[str | float, float]]:
    """Mean and inner percentiles that are above 0."""
    if latency is None:
        return []
    found: list[tuple[str | float, float]] = [("mean", latency.mean_s)] if latency.mean_s else []
    return found + [(p, value) for p, value in latency.percentiles_s.items() if 0 < p < 100 and value > 0]


def _percentiles(latency: Latency | None) -> list[tuple[float, float]]:
    """Inner percentiles that are above 0."""
    return [(name, value) for name, value in _statistics(latency) if not isinstance(name, str)]


def _at(latency: Latency | None, name: str | float) -> float | None:
    if latency is None:
        return None
    return latency.mean_s if name == "mean" else latency.percentiles_s.get(name)  # type: ignore[arg-type]


def _n(name: str | float) -> str:
    return "mean" if name == "mean" else f"p{name:g}"


def _s(seconds: float | None) -> str:
    return format_quantity(seconds, "s")
