"""Units spread over zones as evenly as possible: how many to have, and what lost zones leave.

Of U units over z zones, U mod z zones hold one more than the others; the loss of c zones is that of the fullest. A unit
is whatever stays whole in one zone: a node, the nodes of one wide replica, or a replica where nodes have no size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count
from gridplan.formulas._types import Value

__all__ = ["units_in_fullest_zone", "units_left", "units_over_zones"]


@count
def units_over_zones(units_kept: Value, lost_zones: Value, zones: Value) -> Value:
    """Least number of units of which the loss of the fullest zones leaves so many: k + c ceil(k / (z - c)) [count].

    With k = (z - c) q + t the z - c zones left hold q each, one more in t of them, and the lost ones as many as the
    fullest. NaN where nothing is left: zones do not exceed lost_zones > 0.

    >>> units_over_zones(9, 1, 3), units_over_zones(2, 1, 3), units_over_zones(9, 0, 1)
    (14, 3, 9)
    """
    none = lost_zones == 0.0
    if np.all(none):
        return units_kept + 0.0 * lost_zones
    left = np.where(zones > lost_zones, zones - lost_zones, np.nan)
    return np.where(none, units_kept, units_kept + lost_zones * _ceil_whole(units_kept / left))


@count
def units_left(units: Value, lost_zones: Value, zones: Value) -> Value:
    """Units in the zones that are left when the fullest are lost: (z - c) floor(U / z) + max(U mod z - c, 0) [count].

    Nothing is left where all zones are lost. The inverse of `units_over_zones`.

    >>> units_left(14, 1, 3), units_left(6, 2, 5), units_left(9, 1, 1)
    (9, 3, 0)
    """
    none = lost_zones == 0.0
    if np.all(none):
        return units + 0.0 * lost_zones
    each = np.floor(units / zones)
    over = units - each * zones
    kept = np.maximum(zones - lost_zones, 0.0) * each + np.maximum(over - lost_zones, 0.0)
    return np.where(none, units, kept)


@count
def units_in_fullest_zone(units: Value, zones: Value) -> Value:
    """Units in the fullest zone: ceil(U / z) [count].

    >>> units_in_fullest_zone(14, 3)
    5
    """
    return _ceil_whole(units / zones)


def _ceil_whole(quotient: Any) -> Any:
    """A quotient of whole numbers rounded up: below 2**53 it is exact where it is whole, so it needs no guard."""
    return np.ceil(quotient) + 0.0
