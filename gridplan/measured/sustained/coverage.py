"""What the verdicts leave open: too few rates, no failing rate, figures that nobody stated, passes after a failure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from gridplan.measured.sustained.check import SweepCheck, plural
from gridplan.measured.sustained.interval import climb
from gridplan.measured.sustained.verdict import PointVerdict, RateVerdict

__all__ = ["check_coverage"]

ONE_RUN = 0.07, 1000.0
"""Standard deviation of the rate from one run, of that many requests a point (measurement: simulated sweeps of random
replicas, reports/sweep.md); it falls with the root of the number at the least."""


def check_coverage(
    verdicts: Sequence[PointVerdict], rates: Sequence[RateVerdict], copies: Mapping[int, int]
) -> list[SweepCheck]:
    """Findings that need the verdicts."""
    return [
        *(*_copied(copies), *_missing(verdicts), *_reach(rates)),
        *(*_disagree(verdicts, rates), *_order(rates), *_one_run(rates)),
    ]


def _copied(copies: Mapping[int, int]) -> Iterator[SweepCheck]:
    if copies:
        said = f"{plural(len(copies), 'row')} repeat the figures of others to the last digit: a copy is no second run"
        yield SweepCheck("copied_rows", "info", said, tuple(sorted(copies)))


def _missing(verdicts: Sequence[PointVerdict]) -> Iterator[SweepCheck]:
    """Limits that open-loop points neither hold nor break, by limit."""
    found: dict[str, list[int]] = {}
    for verdict in verdicts:
        if verdict.unused or verdict.holds is not None:
            continue
        for item in verdict.limits:
            if item.holds is None:
                found.setdefault(item.why, []).append(verdict.row)
    for why, rows in found.items():
        yield SweepCheck("not_known", "warning", f"{why}: that is no pass", tuple(rows))


def _reach(rates: Sequence[RateVerdict]) -> Iterator[SweepCheck]:
    last, first = climb(rates)
    if not rates:
        yield SweepCheck("no_rate", "warning", "no point of an open loop can be used: there is no rate to take")
        return
    if len(rates) == 1:
        said = "there is one rate alone: nothing says how far from it the limits break"
        yield SweepCheck("one_point_only", "warning", said, rates[0].rows)
    if last is not None and first is None:
        said = f"no limit breaks up to {rates[-1].rate_per_s:.4g} requests a second: the rate is a lower bound"
        if not rates[-1].holds:
            said = f"nothing above {last.rate_per_s:.4g} requests a second can be judged: the rate is a lower bound"
        yield SweepCheck("still_passing", "warning", said, rates[-1].rows)
    if last is None and first is not None:
        said = f"the lowest rate, {first.rate_per_s:.4g} a second, fails: the rate that holds lies below the sweep"
        if first is not rates[0]:
            said = f"{first.rate_per_s:.4g} requests a second fail, and no rate below is known to hold"
        yield SweepCheck("nothing_holds", "warning", said, first.rows)


def _disagree(verdicts: Sequence[PointVerdict], rates: Sequence[RateVerdict]) -> Iterator[SweepCheck]:
    """Rates of which one run holds every limit and another does not."""
    for rate in rates:
        found = {verdicts[row].holds for row in rate.rows}
        if {True, False} <= found:
            verdict = "holds" if rate.holds else "does not hold"
            said = f"runs of {rate.rate_per_s:.4g} requests a second hold and break limits; together the rate {verdict}"
            yield SweepCheck("repeats_disagree", "warning", said, rate.rows)


def _order(rates: Sequence[RateVerdict]) -> Iterator[SweepCheck]:
    """Rates that hold above one that fails."""
    _, first = climb(rates)
    if first is None:
        return
    later = [rate for rate in rates if rate.holds and rate.rate_per_s > first.rate_per_s]
    if later:
        shown = ", ".join(f"{rate.rate_per_s:.4g}" for rate in later)
        said = f"{first.rate_per_s:.4g} requests a second fail but {shown} hold: chance or a change between the runs"
        yield SweepCheck("non_monotone", "warning", said, tuple(row for rate in later for row in rate.rows))


def _one_run(rates: Sequence[RateVerdict]) -> Iterator[SweepCheck]:
    """How much one run varies, where the rate that holds and the one that fails were run once and counted."""
    last, first = climb(rates)
    if last is None or first is None or not last.requests or not first.requests or len(last.rows + first.rows) > 2:
        return
    fewest = min(last.requests, first.requests)
    spread = ONE_RUN[0] * math.sqrt(ONE_RUN[1] / fewest)
    said = f"one run a rate of {fewest:,} requests: another sweep would give a rate some {spread:.0%} away"
    yield SweepCheck("one_run", "info", said, (*last.rows, *first.rows), numbers={"relative_sd": spread})
