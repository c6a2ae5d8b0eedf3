"""How often enough units are up, where units fail and are repaired independently of each other.

A unit that runs MTBF hours on average and is repaired in MTTR hours is up in the share A = MTBF / (MTBF + MTTR) of the
time; of n such units the number that is up is binomial, whatever the distributions of the two times are. That is the
alternative to a number of spares: the least n of which enough are up in a stated share of the time. It knows nothing of
failures that strike together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count, formula
from gridplan.formulas._types import Value

__all__ = ["enough_up", "most_needed", "unit_availability", "units_for_availability"]

_MOST_UNITS = 1e9
"""Units beyond which no fleet is planned (policy)."""

_GUARD = 1e-12
"""Share by which a probability may miss its target and still meet it: the rounding of the probability (policy)."""


@formula
def unit_availability(mtbf_h: Value, mttr_h: Value, parts: Value = 1.0) -> Value:
    """Share of time in which a unit of so many parts is up, all of which it needs: (MTBF / (MTBF + MTTR))^parts [1].

    mtbf_h, mttr_h [h] are those of one part.

    >>> unit_availability(720, 8), round(unit_availability(720, 8, 4), 6)
    (0.989010989010989, 0.956763)
    """
    return np.power(mtbf_h / (mtbf_h + mttr_h), parts)


@formula
def enough_up(units: Value, needed: Value, availability: Value) -> Value:
    """Share of time in which at least `needed` of so many units are up [1], each up in the share `availability`.

    P(X >= k) for X binomial (n, A), as the regularised incomplete beta function I_A(k, n - k + 1). 1 where none is
    needed, 0 where there are fewer units than needed.

    >>> round(enough_up(2, 1, 0.9), 9), round(enough_up(10, 9, 0.99), 7), enough_up(3, 4, 0.9)
    (0.99, 0.9957338, 0.0)
    """
    from scipy import special  # loads slower than all the rest of a plan, which does without it

    inside = (needed >= 1.0) & (needed <= units)
    n, k = np.where(inside, units, 1.0), np.where(inside, needed, 1.0)
    found = np.where(inside, special.betainc(k, n - k + 1.0, availability), np.where(needed < 1.0, 1.0, 0.0))
    return np.where(np.isnan(units) | np.isnan(needed) | np.isnan(availability), np.nan, found)


@count
def units_for_availability(needed: Value, availability: Value, target: Value) -> Value:
    """Least number of units of which at least `needed` are up in the share `target` of the time [count].

    availability and target [1] lie between 0 and 1; outside, and where it takes more than 1e9 units, the result is NaN.

    >>> units_for_availability(9, 0.99, 0.99), units_for_availability(9, 0.99, 0.9999)
    (10, 12)
    """
    needed, availability, target = np.broadcast_arrays(needed, availability, target)
    known = (needed >= 0.0) & (availability > 0.0) & (availability <= 1.0) & (target > 0.0) & (target < 1.0)
    k, a = np.where(known, needed, 0.0), np.where(known, availability, 0.5)
    goal = np.where(known, target, 0.5) * (1.0 - _GUARD)
    up: Any = enough_up.__wrapped__  # type: ignore[attr-defined]
    high = k.copy()
    while np.any(missed := ~(up(high, k, a) >= goal) & (high < _MOST_UNITS)):
        high = np.where(missed, 2.0 * high + 1.0, high)
    known = known & (high < _MOST_UNITS)
    high = np.where(known, high, k)
    low = np.maximum(k, 1.0) - 1.0
    while np.any(high - low > 1.0):
        middle = np.floor(low + (high - low) / 2.0)
        met = (up(middle, k, a) >= goal) & (middle > low)
        high, low = np.where(met, middle, high), np.where(met, low, np.maximum(middle, low))
    return np.where(known, np.where(k == 0.0, 0.0, high), np.nan)


@count
def most_needed(units: Value, availability: Value, target: Value) -> Value:
    """Largest number of units of which all are up in the share `target` of the time, of so many [count].

    The inverse of `units_for_availability`; 0 where not even one is.

    >>> most_needed(10, 0.99, 0.99), most_needed(12, 0.99, 0.9999), most_needed(1, 0.9, 0.99)
    (9, 9, 0)
    """
    units, availability, target = np.broadcast_arrays(units, availability, target)
    up: Any = enough_up.__wrapped__  # type: ignore[attr-defined]
    goal = target * (1.0 - _GUARD)
    known = np.isfinite(units) & ~np.isnan(availability) & ~np.isnan(target)
    low, high = np.zeros_like(units), np.where(known, units, 0.0) + 1.0
    while np.any(high - low > 1.0):
        middle = np.floor(low + (high - low) / 2.0)
        met = up(units, middle, availability) >= goal
        low, high = np.where(met, middle, low), np.where(met, high, middle)
    return np.where(known, low, np.nan)
