"""Little's law and the sum of a request's parts: identities that the means of any run obey.

Of the same requests, whatever the server does:

* mean E2E = mean TTFT + (mean output tokens - 1) x mean TPOT weighted by lengths;
* requests in flight = rate x mean E2E, and those of them that decode = rate x (mean output tokens - 1) x mean TPOT,
  so a stated concurrency lies between the two.

Where percentiles alone are stated, the mean that follows must not lie above a high one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.measured.sustained.check import Load, SweepCheck
from gridplan.measured.sustained.checks.served import SERVED
from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.quantities import format_quantity

__all__ = ["concurrency", "parts", "per_event", "tpot_ratio", "with_first"]

TPOT_WITHIN = (0.7, 1.6)
"""Mean TPOT over the one that follows from E2E and TTFT (policy): a mean over requests differs from one over tokens
where answers are unequal; reports/sweep.md has the range of simulated runs, a halved one is at 0.5."""

CONCURRENCY_WITHIN, DECODE_WITHIN = 1.25, 1.5
"""Stated concurrency over what mean E2E says, and what mean TPOT says over it (policy): tools average over windows of
their own, and a mean TPOT over requests is not one over tokens."""

ABOVE_PERCENTILE = 1.05
"""A mean that follows over a percentile from p90 on (policy): the rate of one run is off by some percent."""

CUT_OFF = 0.02
"""Share of requests that failed or were cut off from which concurrency counts more than those completed (policy)."""


def tpot_ratio(point: SweepPoint) -> float | None:
    """Stated mean TPOT over what mean E2E, TTFT and output tokens say it is; None where one is not stated.

    >>> point = SweepPoint(file="", place="", tool="csv", format="csv", loop="open", output_tokens_mean=128.0,
    ...     ttft=Latency(0.0743), tpot=Latency(0.00725), e2e=Latency(1.9158))
    >>> round(tpot_ratio(point), 2)
    0.5
    """
    derived_s = point.tpot_derived_mean_s
    stated_s = None if point.tpot is None else point.tpot.mean_s
    if stated_s is None or not derived_s or derived_s <= 0:
        return None
    if point.tpot_definition == "includes_first_token":
        derived_s = point.e2e.mean_s / point.output_tokens_mean  # type: ignore[union-attr,operator]
    return stated_s / derived_s


def parts(load: Load) -> Iterator[SweepCheck]:
    """Points whose mean TPOT is not what mean E2E, TTFT and tokens leave for it."""
    for row, point in load.rows():
        ratio = tpot_ratio(point)
        if ratio is None or TPOT_WITHIN[0] <= ratio <= TPOT_WITHIN[1] or point.tpot_definition == "per_event":
            continue
        if point.tpot_definition == "unknown" and _with_first(point):
            continue
        stated_s, tokens = point.tpot.mean_s, point.output_tokens_mean  # type: ignore[union-attr]
        ttft_s, e2e_s = point.ttft.mean_s, point.e2e.mean_s  # type: ignore[union-attr]
        half = ": about half, as when two events are counted for a token" if 0.4 <= ratio <= 0.6 else ""
        yield SweepCheck(
            "littles_law",
            "error",
            f"mean TPOT {_ms(stated_s)} is {ratio:.2f} of what mean E2E and TTFT leave for {tokens:.4g} tokens, "
            f"({_ms(e2e_s)} - {_ms(ttft_s)}) / {tokens - 1:.4g} = {_ms(stated_s / ratio)}{half}",  # type: ignore[operator]
            (row,),
            ("tpot",),
            {"ratio": ratio},
        )


def with_first(load: Load) -> Iterator[SweepCheck]:
    """Points whose TPOT counts the first token: as the file says, or because it equals E2E over tokens."""
    for row, point in load.rows():
        if point.tpot_definition == "includes_first_token" or (
            point.tpot_definition == "unknown" and _with_first(point)
        ):
            yield SweepCheck(
                "tpot_includes_ttft",
                "warning",
                "the time per output token counts the wait for the first one: it is too long as a TPOT",
                (row,),
                ("tpot",),
            )


def per_event(load: Load) -> Iterator[SweepCheck]:
    """Points whose TPOT is a time per event of the stream."""
    for row, point in load.rows():
        if point.tpot_definition == "per_event":
            yield SweepCheck(
                "tpot_per_event",
                "error",
                "the time per output token is one per event of the stream, about half of a token's",
                (row,),
                ("tpot",),
            )


def _with_first(point: SweepPoint) -> bool:
    derived_s, tokens = point.tpot_derived_mean_s, point.output_tokens_mean
    if point.tpot is None or point.tpot.mean_s is None or derived_s is None or not tokens or point.e2e is None:
        return False
    whole_s = (point.e2e.mean_s or 0.0) / tokens
    return abs(point.tpot.mean_s - whole_s) <= 0.03 * whole_s and whole_s > 1.1 * derived_s


def concurrency(load: Load) -> Iterator[SweepCheck]:
    """Points whose stated mean concurrency contradicts their rate and latencies."""
    for row, point in load.rows():
        rate = _rate(load, point)
        if point.concurrency_mean is None or rate is None or _cut_off(point):
            continue
        in_flight_s = point.concurrency_mean / rate
        e2e_s = None if point.e2e is None else point.e2e.mean_s
        if e2e_s is None:
            yield from _by_percentiles(load, row, point, in_flight_s)
            continue
        said = f"concurrency {point.concurrency_mean:.4g} at {rate:.4g} requests a second"
        if in_flight_s > CONCURRENCY_WITHIN * e2e_s:
            yield SweepCheck(
                "littles_law", "error", f"{said} means a mean E2E of {_ms(in_flight_s)}, not {_ms(e2e_s)}", (row,),
                ("e2e",), {"ratio": e2e_s / in_flight_s},
            )  # fmt: skip
        decode_s = _decode(load, point)
        if decode_s is not None and in_flight_s * DECODE_WITHIN < decode_s:
            yield SweepCheck(
                "littles_law", "error",
                f"{said} leaves {_ms(in_flight_s)} a request, but its tokens take {_ms(decode_s)}", (row,), ("tpot",),
                {"ratio": decode_s / in_flight_s},
            )  # fmt: skip


def _by_percentiles(load: Load, row: int, point: SweepPoint, in_flight_s: float) -> Iterator[SweepCheck]:
    """The mean E2E that concurrency and rate say, and the mean TPOT in it, against high percentiles."""
    said = f"concurrency {point.concurrency_mean:.4g} means a mean E2E of {_ms(in_flight_s)}"
    e2e, tpot, ttft_s = _high(point.e2e), _high(point.tpot), _at_most(point.ttft)
    if e2e is not None and in_flight_s > ABOVE_PERCENTILE * e2e[1]:
        yield SweepCheck(
            "littles_law", "warning", f"{said}, above the stated p{e2e[0]:g} of {_ms(e2e[1])}", (row,), ("e2e",),
            {"ratio": e2e[1] / in_flight_s},
        )  # fmt: skip
    tokens = load.output_tokens(point)
    if tpot is None or ttft_s is None or tokens is None or tokens <= 1:
        return
    mean_s = (in_flight_s - ttft_s) / (tokens - 1)
    if mean_s > ABOVE_PERCENTILE * tpot[1]:
        yield SweepCheck(
            "littles_law", "warning",
            f"{said} and so a mean TPOT of at least {_ms(mean_s)}, above the stated p{tpot[0]:g} of {_ms(tpot[1])}",
            (row,), ("tpot",), {"tpot_mean_s": mean_s, "ratio": tpot[1] / mean_s},
        )  # fmt: skip


def _rate(load: Load, point: SweepPoint) -> float | None:
    """Requests a second that went through: completed, else offered where tokens do not fall short."""
    if point.achieved_rate_per_s is not None:
        return point.achieved_rate_per_s or None
    tokens, asked, offered = point.output_tokens_per_s, load.output_tokens(point), point.offered_rate_per_s
    if tokens is not None and asked is not None and offered is not None and tokens < SERVED * offered * asked:
        return tokens / asked or None
    return offered


def _cut_off(point: SweepPoint) -> bool:
    lost = (point.requests_failed or 0) + (point.requests_cancelled or 0)
    return lost > CUT_OFF * (point.requests_completed or 0)


def _decode(load: Load, point: SweepPoint) -> float | None:
    tokens, tpot_s = load.output_tokens(point), None if point.tpot is None else point.tpot.mean_s
    if tokens is None or tpot_s is None or point.tpot_definition in ("includes_first_token", "per_event"):
        return None
    return max(0.0, tokens - 1) * tpot_s


def _high(latency: Latency | None) -> tuple[float, float] | None:
    """The highest percentile from p90 on, with its value [s]."""
    if latency is None:
        return None
    return max(((p, value) for p, value in latency.percentiles_s.items() if p >= 90), default=None)


def _at_most(latency: Latency | None) -> float | None:
    """The mean, or a high percentile in its place, which makes what is left for decoding less [s]."""
    if latency is None or latency.mean_s is not None:
        return None if latency is None else latency.mean_s
    high = _high(latency)
    return None if high is None else high[1]


def _ms(seconds: float | None) -> str:
    return format_quantity(seconds, "s")
