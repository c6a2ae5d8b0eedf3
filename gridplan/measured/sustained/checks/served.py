"""Did the server serve what was offered: requests, tokens, errors.

Completed requests over the whole duration are fewer a second than offered even where nothing queues, for the duration
ends with the last answer and arrivals are random. So where requests are counted a shortfall must be beyond chance, of a
long run, and answers must come late by as much as it says; where they are not counted it counts as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sweep import SweepPoint

__all__ = ["errors_over_budget", "few_tokens", "not_steady", "over_saturated", "served_share"]

SERVED = 0.98
"""Least share of the offered load that counts as served (policy; default of vllm-project/guidellm#552, 2025-12)."""

_SIGMAS = 3.0
"""Standard deviations of random arrivals that a shortfall must exceed by itself (policy): 1 point in 740 by chance."""

LONG = 8.0
"""Late answers of the lightest load that a run must last before its shortfall says anything (policy): in a shorter one
the tail, in which answers finish and none arrive, is as long as the shortfall."""

_LATE = 0.5
"""Share of a shortfall by which the late answers must be later than in the lightest point (policy): a queue that grows
evenly makes the last request as late as the whole shortfall."""

_TAIL = 1.5
"""Late answers of its own that the tail of a run may last (policy)."""


def served_share(point: SweepPoint) -> float | None:
    """Completed requests over offered ones, both a second, as they stand; None where one is not known.

    >>> point = SweepPoint(file="", place="", tool="csv", format="csv", loop="open", offered_rate_per_s=14.0,
    ...     achieved_rate_per_s=13.0)
    >>> round(served_share(point), 4)
    0.9286
    """
    if point.offered_rate_per_s is None or point.achieved_rate_per_s is None:
        return None
    return point.achieved_rate_per_s / point.offered_rate_per_s


def over_saturated(load: Load) -> Iterator[SweepCheck]:
    """Points that complete less than 98% of what is offered, beyond what chance and the tail of a run explain."""
    usual_s = _lightest_late(load)
    for row, point in load.rows():
        share = served_share(point)
        if point.loop != "open" or share is None or share >= SERVED or not _is_short(point, share, usual_s):
            continue
        offered, achieved = point.offered_rate_per_s, point.achieved_rate_per_s
        said = f"{achieved:.4g} of {offered:.4g} requests a second completed ({share:.1%}, {SERVED:.0%} is due)"
        yield SweepCheck(
            "over_saturated", "warning", f"{said}: this load is not sustained", (row,), numbers={"efficiency": share},
            overloaded=True,
        )  # fmt: skip
        if point.sent_rate_per_s is not None and point.sent_rate_per_s < SERVED * point.offered_rate_per_s:  # type: ignore[operator]
            yield SweepCheck(
                "client_limited", "warning",
                f"the client itself sent {point.sent_rate_per_s:.4g} of {offered:.4g} requests a second: the shortfall "
                "is the client's, in part at least", (row,), numbers={"sent_rate_per_s": point.sent_rate_per_s},
            )  # fmt: skip


def _is_short(point: SweepPoint, share: float, usual_s: float | None) -> bool:
    """Whether a shortfall is the server's: beyond chance, of a long run, and answers came that late."""
    n = point.requests_completed
    if not n or not share:
        return True
    noise = _SIGMAS * _arrival_cv(point) / math.sqrt(n)
    span_s = n / (point.sent_rate_per_s or point.offered_rate_per_s)  # type: ignore[operator]
    late_s = _late(point)
    if late_s is None or usual_s is None:
        return 1 / share - 1 > noise + 1 / SERVED - 1
    after_s = n / (share * point.offered_rate_per_s) - span_s  # type: ignore[operator]
    least_s = (noise + 1 / SERVED - 1) * span_s
    if after_s - _TAIL * late_s > least_s:  # a client that holds requests back keeps them from being late
        return True
    missing_s = after_s - usual_s
    return span_s >= LONG * usual_s and missing_s > least_s and late_s - usual_s >= _LATE * missing_s


def _arrival_cv(point: SweepPoint) -> float:
    if point.sent_rate_per_s is not None:  # measured, so no chance is left in it
        return 0.0
    if any(point.settings.get(key) == "constant" for key in _PACED_BY):
        return 0.0
    burstiness = point.settings.get("burstiness")  # the shape of a gamma law in vLLM: the CV is its root's inverse
    shape = burstiness if isinstance(burstiness, int | float) and not isinstance(burstiness, bool) else 1.0
    return 1.0 / math.sqrt(shape) if shape > 0 else 1.0


_PACED_BY = ("strategy.type_", "loadgen.request_rate_mode", "phases[0].type")
"""Settings in which GuideLLM and AIPerf say that gaps are all alike, or random."""


def _late(point: SweepPoint) -> float | None:
    """How long late answers take [s]: the highest percentile of E2E from p90 on, else of TTFT, else three means."""
    for latency in (point.e2e, point.ttft):
        if latency is None:
            continue
        high = [value for percentile, value in latency.percentiles_s.items() if percentile >= 90]
        if high:
            return max(high)
        if latency.mean_s is not None:
            return 3.0 * latency.mean_s
    return None


def _lightest_late(load: Load) -> float | None:
    """The same at the lightest load of the sweep: how long an answer takes where nothing queues."""
    known = [late for late in map(_late, load.points) if late is not None]
    return min(known) if known else None


def few_tokens(load: Load) -> Iterator[SweepCheck]:
    """Points whose tokens fall short: of the length asked for, or of the load where completions are unknown."""
    for row, point in load.rows():
        measured, asked = point.output_tokens_mean, point.output_tokens_requested
        if measured is not None and asked is not None and measured < SERVED * asked:
            said = f"answers have {measured:.4g} tokens on average, {asked:.4g} were asked for"
            yield SweepCheck(
                "tokens_short", "warning", f"{said}: the load is lighter than it says", (row,),
                numbers={"share": measured / asked},
            )  # fmt: skip
        offered, tokens, each = point.offered_rate_per_s, point.output_tokens_per_s, load.output_tokens(point)
        if point.loop != "open" or point.achieved_rate_per_s is not None or not offered or not each or tokens is None:
            continue
        share = tokens / (offered * each)
        if share < SERVED:
            said = f"{tokens:,.0f} tokens a second are {share:.1%} of {offered:.4g} requests of {each:.4g} tokens"
            yield SweepCheck(
                "tokens_short", "warning", f"{said}: this load is not sustained", (row,), numbers={"share": share},
                overloaded=True,
            )  # fmt: skip


def errors_over_budget(load: Load) -> Iterator[SweepCheck]:
    """Points where more requests failed than the budget allows: latencies are those of the survivors."""
    for row, point in load.rows():
        failed, completed = point.requests_failed, point.requests_completed
        if not failed or completed is None:
            continue
        share = failed / (failed + completed)
        if share > load.error_budget:
            said = f"{failed:,} of {failed + completed:,} requests failed ({share:.1%}, {load.error_budget:.1%} may)"
            yield SweepCheck(
                "errors_over_budget", "warning", f"{said}: the latencies are those of the others", (row,),
                numbers={"failed_share": share}, overloaded=True,
            )  # fmt: skip


def not_steady(load: Load, found: list[SweepCheck]) -> Iterator[SweepCheck]:
    """Points offered more than is served: their latencies depend on how long the run was."""
    pinned = {row for check in found if check.id == "closed_as_open" for row in check.rows}
    over = {row for check in found if check.overloaded and check.id in _OVER for row in check.rows}
    rows = sorted(over - pinned)
    if rows:
        yield SweepCheck(
            "not_steady", "warning",
            "offered beyond capacity: a queue grows as long as the run lasts, and so do these latencies", tuple(rows),
        )  # fmt: skip


_OVER = ("over_saturated", "tokens_short")
