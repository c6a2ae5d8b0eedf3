"""What all formats have in common: a latency from keys, tokens of a request, rates over the whole run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal

from gridplan.errors import Problem
from gridplan.measured.sweep.fields import AGREE_WITHIN, Fields
from gridplan.measured.sweep.point import Latency, Loop, SweepPoint

__all__ = [
    "Statistic",
    "check_order",
    "impossible",
    "latency",
    "loop_of",
    "per_request",
    "rate_of",
    "streamed",
    "token_rates",
]

Statistic = float | Literal["mean"]

_LONGEST_S = 1e6
"""Longer latencies are errors of a file or of its unit (policy): eleven days."""

_SAME_DIGITS = 1e-6


def latency(fields: Fields, keys: Iterable[tuple[Statistic, str]], power_of_ten: int) -> Latency | None:
    """The latency whose statistics stand at these keys; None where none is there, or all are 0.

    A tool that measured nothing prints 0 for every statistic. Two keys of one percentile must agree, and percentiles
    must not fall. A least or largest value inside the percentiles, taken over other requests, is left out.

    >>> latency(Fields({"mean": 74.3, "p50": 62.0, "p99": 210}, "f"), [("mean", "mean"), (50, "p50"), (99, "p99")], -3)
    Latency(mean_s=0.0743, percentiles_s={50: 0.062, 99: 0.21})
    """
    mean_s: float | None = None
    found: dict[float, float] = {}
    places: dict[float, str] = {}
    for statistic, key in keys:
        value = fields.number(key, power_of_ten)
        if value is None:
            continue
        if value > _LONGEST_S:
            raise fields.error(key, f"is {value:,.0f} s, longer than any latency: is its unit right?")
        if statistic == "mean":
            mean_s = value
        elif statistic in found:
            fields.agree(key, value, found[statistic], places[statistic])
        else:
            found[statistic], places[statistic] = value, key
    if not mean_s and not any(found.values()):
        return None
    _check_statistics(fields, mean_s, found, places)
    return Latency(mean_s, dict(sorted(found.items())))


def _check_statistics(
    fields: Fields, mean_s: float | None, found: dict[float, float], places: dict[float, str]
) -> None:
    """An error where percentiles fall or the mean is beyond the extremes; drops extremes inside the percentiles."""
    inner = sorted(percentile for percentile in found if 0 < percentile < 100)
    for lower, upper in pairwise(inner):
        if found[upper] < found[lower] * (1 - _SAME_DIGITS):
            shown = f"is {found[upper]:g} s, less than {places[lower]} with {found[lower]:g} s: percentiles cannot fall"
            raise fields.error(places[upper], shown)
    if inner and found.get(0.0, 0.0) > found[inner[0]] * (1 + _SAME_DIGITS):
        del found[0.0]
    if inner and found.get(100.0, math.inf) < found[inner[-1]] * (1 - _SAME_DIGITS):
        del found[100.0]
    least, most = found.get(0.0, 0.0), found.get(100.0, math.inf)
    if mean_s is not None and not least * (1 - AGREE_WITHIN) <= mean_s <= most * (1 + AGREE_WITHIN):
        raise fields.error("", f"the mean {mean_s:g} s is not between the least {least:g} s and the largest {most:g} s")


def streamed(name: str, found: Latency | None, notes: list[str]) -> Latency | None:
    """A latency of streaming; None with a note where its median is 0, as when a parser hides tokens from the client."""
    if found is None or found.percentiles_s.get(50.0) != 0.0:
        return found
    notes.append(f"the median {name} is 0: the client did not see these tokens, so {name} is left out")
    return None


def check_order(fields: Fields, ttft: Latency | None, e2e: Latency | None) -> None:
    """An error where the first token comes after the last: a mean or a percentile of TTFT above that of E2E."""
    if ttft is None or e2e is None:
        return
    pairs: list[tuple[str, float | None, float | None]] = [("mean", ttft.mean_s, e2e.mean_s)]
    pairs += [(f"p{p:g}", value, e2e.percentiles_s.get(p)) for p, value in ttft.percentiles_s.items()]
    for name, first_s, last_s in pairs:
        if first_s is not None and last_s is not None and first_s > last_s * (1 + AGREE_WITHIN):
            shown = f"{name} TTFT is {first_s:g} s, but {name} end-to-end latency is {last_s:g} s: is their unit right?"
            raise fields.error("", shown)


def impossible(point: SweepPoint) -> list[Problem]:
    """What counts of one point say against each other: more requests ended than were sent, more good than completed."""
    found = []
    ended = sum(n or 0 for n in (point.requests_completed, point.requests_failed, point.requests_cancelled))
    if point.requests_offered is not None and ended > point.requests_offered * (1 + AGREE_WITHIN):
        found.append(f"{ended:,} requests completed, failed or were cut off, but {point.requests_offered:,} were sent")
    good, achieved = point.goodput_rate_per_s, point.achieved_rate_per_s
    if good is not None and achieved is not None and good > achieved * (1 + AGREE_WITHIN):
        found.append(f"goodput is {good:g} requests a second, but only {achieved:g} completed")
    line = int(point.place[5:]) if point.place.startswith("line ") else None
    return [Problem(message, point.file, line, key=None if line else point.place or None) for message in found]


def per_request(total: float | None, completed: int | None) -> float | None:
    """Tokens of a completed request; None where none completed."""
    return total / completed if total is not None and completed else None


def token_rates(input_tokens: float | None, output_tokens: float | None, duration_s: float | None) -> dict[str, Any]:
    """Tokens a second over a duration, by the names of the normal form.

    >>> token_rates(245760, 61440, 61.44)["total_tokens_per_s"]
    5000.0
    """
    if not duration_s:
        return {}
    both = None if input_tokens is None or output_tokens is None else input_tokens + output_tokens
    totals = {"input": input_tokens, "output": output_tokens, "total": both}
    return {f"{name}_tokens_per_s": None if n is None else n / duration_s for name, n in totals.items()}


def rate_of(fields: Fields, key: str) -> tuple[float | None, bool]:
    """An offered rate and whether it is without limit: `inf` as a text or a number is no rate.

    >>> rate_of(Fields({"request_rate": "inf"}, "f"), "request_rate"), rate_of(Fields({"r": 8.0}, "f"), "r")
    ((None, True), (8.0, False))
    """
    value: Any = fields.values.get(key)
    if isinstance(value, str):
        if value.strip().lower() in ("inf", "infinity"):
            return None, True
        raise fields.error(key, f"{value!r} is not a rate")
    if value == float("inf") and not isinstance(value, bool):
        return None, True
    rate = fields.number(key)
    if rate == 0:
        raise fields.error(key, "is 0: no requests are offered")
    return rate, False


def loop_of(rate: float | None, unlimited: bool, limit: float | None) -> Loop:
    """What sets the pace: a rate, else clients in flight, else nothing.

    >>> loop_of(8.0, False, 64), loop_of(None, True, 16), loop_of(None, True, None), loop_of(None, False, None)
    ('open', 'closed', 'drain', 'unknown')
    """
    if rate is not None:
        return "open"
    if limit is not None:
        return "closed"
    return "drain" if unlimited else "unknown"
