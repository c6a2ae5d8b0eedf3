"""The steps of a fleet over the arrival rate: found rate by rate from where each plan says that its own step ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from gridplan.sensitivity.search import ladder, to_digits

__all__ = ["MOST_STEPS", "Plan", "Stair", "Step", "beyond", "walk"]

MOST_STEPS = 200
"""Steps of one series (policy): more of them are a slope to the eye."""

_FIRST = 33
"""Rates that are planned first, over the whole range (policy)."""

_INSIDE = 5
"""Rates that are planned at once in each gap between two known steps (policy)."""

_MOST_ROUNDS = 400
"""Rounds after which what is not known stays empty: more than every gap takes to its twelfth digit."""


@dataclass(frozen=True)
class Plan:
    """What is planned at one rate: its figures, why there is no plan if there is none, and where its step ends."""

    rate: float
    end: float
    why: str | None
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """Rates above `low` (at the beginning of a stair: from there on) up to `high` with one plan, or with none."""

    low: float
    high: float
    why: str | None
    figures: Mapping[str, Any]


@dataclass
class Stair:
    """One series: its steps, rates between them at which points were planned as well, and how far it was walked."""

    label: str
    steps: list[Step]
    reach: float
    points: list[Plan] = field(default_factory=list)
    capped: bool = False
    gaps: int = 0


def beyond(rate: float) -> float:
    """The neighbour above a rate, of 12 digits.

    >>> beyond(105.0)
    105.000000001
    """
    near = float(to_digits(np.array(rate)))
    step = 10.0 ** (np.floor(np.log10(near)) - 11.0)
    return next(value for k in (0.0, 1.0, 2.0) if (value := float(to_digits(np.array(near + k * step)))) > rate)


def walk(
    plans: Callable[[list[list[float]]], list[list[Plan]]], labels: Sequence[str], low: float, high: float
) -> list[Stair]:
    """The steps of each series from `low` to `high`; `plans` gives what is planned at rates of each series.

    Rates of a first ladder say where their steps end. What lies between the end of one step and the next rate known is
    planned at the rate just beyond that end and at some inside, until each step begins where another one ends. Where a
    plan begins or ends to exist the two rates are brought together to 12 digits.

    >>> def tens(rates):
    ...     return [[Plan(r, max(10.0, -(-r // 10) * 10), None, {}) for r in own] for own in rates]
    >>> [(step.low, step.high) for step in walk(tens, ["a"], 4.0, 32.0)[0].steps]
    [(4.0, 10.0), (10.0, 20.0), (20.0, 30.0), (30.0, 32.0)]
    """
    first = ladder(np.array(low), np.array(high), _FIRST).tolist()
    known: list[dict[float, Plan]] = [{} for _ in labels]
    asked = [list(dict.fromkeys(first)) for _ in labels]
    for _ in range(_MOST_ROUNDS):
        for own, found in zip(known, plans(asked), strict=True):
            own |= {plan.rate: plan for plan in found}
        asked = [_missing(own, high) for own in known]
        if not any(asked):
            break
    return [_stair(label, own, high) for label, own in zip(labels, known, strict=True)]


def _spans(known: Mapping[float, Plan], high: float) -> list[Step]:
    """Plans in order, those of one step made one; between two of them may be a gap."""
    spans: list[Step] = []
    for rate in sorted(known):
        plan = known[rate]
        end = rate if plan.why is not None else min(max(plan.end, rate), high)
        last = spans[-1] if spans else None
        if last is not None and plan.why is None and last.why is None and rate <= last.high:
            continue
        if last is not None and plan.why is not None and plan.why == last.why:
            spans[-1] = Step(last.low, end, last.why, last.figures)
            continue
        spans.append(Step(rate, end, plan.why, plan.figures))
    return spans


def _gaps(spans: Sequence[Step]) -> list[tuple[float, float]]:
    return [(one.high, two.low) for one, two in pairwise(spans) if beyond(beyond(one.high)) < two.low]


def _missing(known: Mapping[float, Plan], high: float) -> list[float]:
    """Rates to plan next: in the gaps between the first steps, as many as may be drawn."""
    found: list[float] = []
    for start, stop in _gaps(_spans(known, high)[: MOST_STEPS + 1]):
        inside = [start + (stop - start) * place / (_INSIDE + 1) for place in range(1, _INSIDE + 1)]
        rates = [beyond(start), *to_digits(np.array(inside)).tolist()]
        found += [rate for rate in rates if start < rate < stop and rate not in known]
    return list(dict.fromkeys(found))


def _stair(label: str, known: Mapping[float, Plan], high: float) -> Stair:
    spans = _spans(known, high)
    capped = len(spans) > MOST_STEPS
    spans = spans[:MOST_STEPS]
    gaps = set(_gaps(spans))
    steps = [
        # A step begins where the one before it ends, not a twelfth digit further.
        Step(last.high if last is not None and (last.high, span.low) not in gaps else span.low, span.high, *_rest(span))
        for last, span in zip([None, *spans], spans, strict=False)
    ]
    return Stair(label, steps, steps[-1].high if capped else high, capped=capped, gaps=len(gaps))


def _rest(span: Step) -> tuple[str | None, Mapping[str, Any]]:
    return span.why, span.figures
