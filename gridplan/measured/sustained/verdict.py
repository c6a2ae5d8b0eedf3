"""Whether the limits hold at a load point, and at a rate that was run several times: true, false or not known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridplan.measured.sustained.check import SweepCheck
from gridplan.measured.sustained.slo import Slo, proved_goodput
from gridplan.measured.sweep import SweepPoint, holds

__all__ = ["PointVerdict", "RateVerdict", "SloVerdict", "judge_points", "judge_rates"]


@dataclass(frozen=True, slots=True)
class SloVerdict:
    """One limit at one point or rate.

    `value` is the stated figure [s; goodput: share], None where that very statistic is not stated. `margin` is
    limit/value - 1 (goodput: value/limit - 1), None without a value or where it cannot be right: below 0 the limit is
    broken. `why` says why `holds` is None, or what else proves it.
    """

    slo: Slo
    holds: bool | None
    value: float | None = None
    margin: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class PointVerdict:
    """One load point: whether it is used, its limits, and whether all of them hold.

    `unused` says why no rate is taken from it, empty where it is used; `overloaded` names the checks by which it does
    not hold whatever its latencies are. `binding` is the limit with the least margin.
    """

    row: int
    point: SweepPoint
    limits: tuple[SloVerdict, ...]
    unused: str = ""
    overloaded: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        """All limits: False where one is broken or the point is overloaded, None where one is not known."""
        return _all(self.limits, self.overloaded)

    @property
    def binding(self) -> SloVerdict | None:
        """The limit with the least margin among those whose figure is stated."""
        return _binding(self.limits)


@dataclass(frozen=True, slots=True)
class RateVerdict:
    """One offered rate with all its runs: of each limit the median of the runs decides.

    `requests` counts completed requests of all runs, None where one does not state them.
    """

    rate_per_s: float
    rows: tuple[int, ...]
    limits: tuple[SloVerdict, ...]
    overloaded: tuple[str, ...] = ()
    requests: int | None = None

    @property
    def holds(self) -> bool | None:
        """All limits, as of a point."""
        return _all(self.limits, self.overloaded)

    @property
    def binding(self) -> SloVerdict | None:
        """The limit with the least margin among those whose figure is stated."""
        return _binding(self.limits)

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the limits that are broken, the worst first; of the checks where the load was not served."""
        broken = [item for item in self.limits if item.holds is False]
        broken.sort(key=lambda item: -1.0 if item.margin is None else item.margin)
        return tuple(item.slo.name for item in broken) or self.overloaded


def _all(limits: Sequence[SloVerdict], overloaded: tuple[str, ...]) -> bool | None:
    if overloaded or any(item.holds is False for item in limits):
        return False
    return None if not limits or any(item.holds is None for item in limits) else True


def _binding(limits: Sequence[SloVerdict]) -> SloVerdict | None:
    known = [item for item in limits if item.margin is not None]
    return min(known, key=lambda item: item.margin or 0.0, default=None)


def judge_points(
    points: Sequence[SweepPoint], slos: Sequence[Slo], checks: Sequence[SweepCheck], copies: Mapping[int, int]
) -> tuple[PointVerdict, ...]:
    """The verdict of every point; `copies` maps points that are copies to the first of them."""
    return tuple(_judge(row, point, slos, checks, copies.get(row)) for row, point in enumerate(points))


def _judge(
    row: int, point: SweepPoint, slos: Sequence[Slo], checks: Sequence[SweepCheck], copy_of: int | None
) -> PointVerdict:
    mine = [check for check in checks if row in check.rows]
    wrong = {figure: check.id for check in mine if check.severity == "error" for figure in check.figures}
    whole = [check.id for check in mine if check.severity == "error" and not check.figures]
    overloaded = tuple(dict.fromkeys(check.id for check in mine if check.overloaded))
    limits = tuple(_limit(point, slo, wrong) for slo in slos)
    limits = tuple(_proved(item, limits, slos) for item in limits)
    unused = ""
    if copy_of is not None:
        unused = "copy of another row"
    elif point.loop != "open" or point.offered_rate_per_s is None:
        unused = {"closed": "closed loop", "drain": "everything sent at once"}.get(point.loop, "no offered rate")
    elif whole or any(slo.figure in wrong for slo in slos):
        unused = ", ".join(dict.fromkeys(whole + [wrong[slo.figure] for slo in slos if slo.figure in wrong]))
    return PointVerdict(row, point, limits, unused, overloaded)


def _limit(point: SweepPoint, slo: Slo, wrong: Mapping[str, str]) -> SloVerdict:
    if slo.figure == "goodput":
        return _goodput(point, slo)
    latency = getattr(point, slo.figure)
    statistic = "mean" if slo.statistic is None else slo.statistic
    value = None
    if latency is not None:
        value = latency.mean_s if statistic == "mean" else latency.percentiles_s.get(statistic)
    if slo.figure in wrong:
        return SloVerdict(slo, None, value, why=f"{slo.figure} cannot be right ({wrong[slo.figure]})")
    verdict = holds(latency, statistic, slo.limit)
    if value is not None:
        return SloVerdict(slo, verdict, value, _margin(slo, value))
    why = f"{slo.name} is not stated" if verdict is None else "by another percentile"
    return SloVerdict(slo, verdict, why=why)


def _goodput(point: SweepPoint, slo: Slo) -> SloVerdict:
    good, achieved = point.goodput_rate_per_s, point.achieved_rate_per_s
    if good is None or not achieved:
        return SloVerdict(slo, None, why="goodput is not stated")
    share = good / achieved
    return SloVerdict(slo, share >= slo.limit, share, share / slo.limit - 1)


def _margin(slo: Slo, value: float) -> float | None:
    """Room below a limit, in shares of the value; None where the value is too near 0 to be one."""
    margin = slo.limit / value - 1 if value > 0 else math.inf
    return margin if math.isfinite(margin) else None


def _proved(item: SloVerdict, limits: Sequence[SloVerdict], slos: Sequence[Slo]) -> SloVerdict:
    """Goodput that is not stated but follows from limits that hold at their percentiles."""
    if item.slo.figure != "goodput" or item.holds is not None:
        return item
    others = [other for other in limits if other.slo.figure != "goodput"]
    proved = proved_goodput(slos)
    if all(other.holds for other in others) and proved >= item.slo.limit:
        return SloVerdict(item.slo, True, why=f"at least {proved:.1%} by the other limits")
    return SloVerdict(item.slo, None, why=f"goodput is not stated; the other limits prove {proved:.1%}")


def judge_rates(verdicts: Sequence[PointVerdict]) -> tuple[RateVerdict, ...]:
    """Rates that are used, from the lowest up; runs of one rate (to six digits) are put together."""
    groups: dict[float, list[PointVerdict]] = {}
    for verdict in verdicts:
        if not verdict.unused:
            groups.setdefault(float(f"{verdict.point.offered_rate_per_s:.6g}"), []).append(verdict)
    return tuple(_rate(rate, groups[rate]) for rate in sorted(groups))


def _rate(rate: float, runs: Sequence[PointVerdict]) -> RateVerdict:
    limits = tuple(_median([run.limits[k] for run in runs]) for k in range(len(runs[0].limits)))
    # A rate is overloaded where half of its runs are.
    over = [name for run in runs for name in run.overloaded]
    most = 2 * sum(bool(run.overloaded) for run in runs) >= len(runs)
    counted = [run.point.requests_completed for run in runs]
    known = [count for count in counted if count is not None]
    requests = sum(known) if len(known) == len(counted) else None
    exact = runs[0].point.offered_rate_per_s if len(runs) == 1 else rate
    return RateVerdict(
        rate if exact is None else exact,
        tuple(run.row for run in runs),
        limits,
        tuple(dict.fromkeys(over)) if most else (),
        requests,
    )


def _median(runs: Sequence[SloVerdict]) -> SloVerdict:
    if len(runs) == 1:
        return runs[0]
    slo = runs[0].slo
    values = [run.value for run in runs if run.value is not None]
    if len(values) == len(runs):
        value = statistics.median(values)
        if slo.figure == "goodput":
            return SloVerdict(slo, value >= slo.limit, value, value / slo.limit - 1)
        return SloVerdict(slo, value <= slo.limit, value, _margin(slo, value))
    yes, no = sum(run.holds is True for run in runs), sum(run.holds is False for run in runs)
    verdict = True if 2 * yes > len(runs) else False if 2 * no > len(runs) else None
    why = next((run.why for run in runs if run.why), "")
    return SloVerdict(slo, verdict, why=why)
