"""Thresholds that the inverse of a formula gives, rounded to 12 digits and checked on both sides by the formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.engine.resolve import space_of
from gridplan.sensitivity.conditions import Condition, judged, read_for
from gridplan.sensitivity.search import ANSWERS, Threshold, to_digits
from gridplan.sensitivity.varied import Range, Varied

__all__ = ["checked", "exact_rate"]

Array = NDArray[Any]

_BETWEEN = float(ANSWERS.index("between"))


def checked(evaluate: Callable[[Array], Array], candidate: Array) -> tuple[Threshold, Array]:
    """The neighbours of 12 digits around a candidate above 0 of which one holds and the next does not, and where.

    `evaluate` takes values of shape (n, *cells) and gives 1, 0 or NaN; the second result is true where the candidate
    is a threshold indeed.

    >>> found, right = checked(lambda x: x * 0.3 <= 1.0, np.array([1 / 0.3, 2.0]))
    >>> found.holds_at.tolist()[0], found.fails_at.tolist()[0], right.tolist()
    (3.33333333333, 3.33333333334, [True, False])
    """
    known = np.isfinite(candidate) & (candidate > 0.0)
    rounded = to_digits(np.where(known, candidate, 1.0))
    step = 10.0 ** (np.floor(np.log10(rounded)) - 11.0)
    tried = np.stack([to_digits(rounded + place * step) for place in (-1.0, 0.0, 1.0)])
    holds = np.broadcast_to(np.asarray(evaluate(tried), np.float64), tried.shape)
    upper = holds[1] == 1.0
    value, beyond = np.where(upper, tried[1], tried[0]), np.where(upper, tried[2], tried[1])
    right = known & (np.where(upper, holds[1], holds[0]) == 1.0) & (np.where(upper, holds[2], holds[1]) == 0.0)
    code = np.full(value.shape, int(_BETWEEN))
    return Threshold(np.where(right, value, np.nan), np.where(right, beyond, np.nan), code), right


def exact_rate(moved: Varied, conditions: Sequence[Condition], span: Range) -> tuple[Threshold, Array] | None:
    """The largest arrival rate within the caps of the contract where that alone is asked, and `exact` where it is one.

    None where something else is asked, or no cap is stated. Elsewhere than `exact` the threshold is NaN.
    """
    alone = {"status", "fleet_sufficient"}
    if moved.name != "arrival_rate" or moved.factor or any(item.measure not in alone for item in conditions):
        return None
    rank = len(space_of(moved.grid).names)
    start = np.full((1,) * (rank + 1), span.low)
    rate = moved.figures(start, ["arrival_rate_within_caps"])["arrival_rate_within_caps"][0]
    if np.isnan(rate).all():
        return None
    candidate = (rate - moved.plus) / np.where(moved.times == 0.0, np.nan, moved.times)
    inside = (candidate >= span.low) & (candidate < span.high)
    names = read_for(conditions)
    found, right = checked(
        lambda values: judged(conditions, moved.figures(values, names)), np.where(inside, candidate, np.nan)
    )
    return found, np.where(right, "exact", "search").astype(object)
