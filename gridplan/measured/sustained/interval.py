"""How far the true rate may lie from the last one that passed: between neighbours, beyond chance, and by repeats."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from gridplan.measured.sustained.verdict import PointVerdict, RateVerdict, SloVerdict, judge_rates
from gridplan.measured.sweep import SweepPoint

__all__ = ["bracket", "climb", "crossing", "noise_interval", "rates_of_repeats", "relative_error"]

ALIKE = 10.0
"""Neighbouring requests that share a fate and count as one (assumption; the same as in `gridplan.simulation`)."""

SIGMAS = 1.0
"""Standard errors by which a figure must be off its limit to be beyond chance (policy; covers the true rate in 90% of
simulated sweeps or more: reports/sweep.md)."""

Interval = tuple[float, float | None]
"""Requests a second; the lower end is 0 where no rate surely holds, the upper None where none surely fails."""


def climb(rates: Sequence[RateVerdict]) -> tuple[RateVerdict | None, RateVerdict | None]:
    """The last rate that holds and the first that fails, going up; rates that are not known are passed over."""
    last: RateVerdict | None = None
    for rate in rates:
        if rate.holds is False:
            return last, rate
        if rate.holds:
            last = rate
    return last, None


def bracket(rates: Sequence[RateVerdict]) -> Interval:
    """From the last rate that holds to the first that fails, as measured [1/s]."""
    last, first = climb(rates)
    return (0.0 if last is None else last.rate_per_s, None if first is None else first.rate_per_s)


def relative_error(item: SloVerdict, requests: int | None, points: Sequence[SweepPoint]) -> float:
    """Relative standard error of a figure from its number of requests; 0 where that is not known.

    A tail above the median is taken as exponential, and `ALIKE` requests as one: the error of a quantile is
    scale sqrt(ALIKE q / ((1 - q) n)). Without a median the tail starts at 0. Means and goodput: ALIKE/n, of the value
    itself and of its share of misses.
    """
    if not requests or item.value is None or item.value <= 0:
        return 0.0
    statistic = item.slo.statistic
    if item.slo.figure == "goodput":
        return math.sqrt(ALIKE * max(0.0, 1 - item.value) / (item.value * requests))
    if not isinstance(statistic, float):
        return math.sqrt(ALIKE / requests)
    q = statistic / 100.0
    medians = [_median_of(point, item.slo.figure) for point in points]
    known = [value for value in medians if value is not None]
    spread, start_s = math.log(1 / (1 - q)), 0.0
    if len(known) == len(medians) and known and q > 0.5:
        spread, start_s = spread - math.log(2.0), statistics.median(known)
    scale_s = max(item.value - start_s, 0.0) / spread
    return scale_s * math.sqrt(ALIKE * q / ((1 - q) * requests)) / item.value


def _median_of(point: SweepPoint, figure: str) -> float | None:
    latency = getattr(point, figure)
    return None if latency is None else latency.percentiles_s.get(50.0)


def noise_interval(rates: Sequence[RateVerdict], points: Sequence[SweepPoint]) -> Interval:
    """From the last rate below which all hold beyond chance to the first that fails beyond chance [1/s].

    Rates whose number of requests is not known are taken as they stand.
    """
    low, high = bracket(rates)
    sure_low = 0.0
    for rate in rates:
        if rate.holds is None:
            continue
        if not rate.holds or not all(_clear(item, rate, points) for item in rate.limits):
            break
        sure_low = rate.rate_per_s
    sure_high: float | None = None
    for rate in rates:
        broken = [item for item in rate.limits if item.holds is False]
        if rate.overloaded or any(_clear(item, rate, points) for item in broken):
            sure_high = rate.rate_per_s
            break
    if sure_high is not None and high is not None:
        sure_high = max(sure_high, high)
    return min(low, sure_low), sure_high


def _clear(item: SloVerdict, rate: RateVerdict, points: Sequence[SweepPoint]) -> bool:
    if item.margin is None or item.value is None:
        return True
    error = relative_error(item, rate.requests, [points[row] for row in rate.rows])
    apart = abs(item.slo.limit / item.value - 1)
    return apart >= SIGMAS * error


def rates_of_repeats(verdicts: Sequence[PointVerdict]) -> tuple[float, ...]:
    """The rate of each repeat of the whole sweep [1/s]; empty unless every rate was run equally often, twice or more.

    The k-th run of each rate, in the order of the points, makes the k-th repeat; 0 where nothing holds.
    """
    series: dict[int, list[PointVerdict]] = {}
    seen: dict[float, int] = {}
    for verdict in verdicts:
        if not verdict.unused:
            rate = float(f"{verdict.point.offered_rate_per_s:.6g}")
            seen[rate] = seen.get(rate, 0) + 1
            series.setdefault(seen[rate], []).append(verdict)
    if len(series) < 2 or len(set(seen.values())) > 1:
        return ()
    return tuple(bracket(judge_rates(runs))[0] for runs in series.values())


def crossing(last: RateVerdict | None, first: RateVerdict | None) -> float | None:
    """Rate at which a straight line between two neighbours first reaches a limit [1/s].

    Latencies rise ever faster with the rate, so the line lies above them and reaches a limit too early. None where a
    value is missing, or the upper neighbour fails for another reason than a limit.
    """
    if last is None or first is None:
        return None
    rates: list[float] = []
    for low, high in zip(last.limits, first.limits, strict=True):
        if high.holds is not False:
            continue
        if low.value is None or high.value is None or low.value == high.value:
            return None
        share = (low.slo.limit - low.value) / (high.value - low.value)
        rates.append(last.rate_per_s + share * (first.rate_per_s - last.rate_per_s))
    return min(rates, default=None)
