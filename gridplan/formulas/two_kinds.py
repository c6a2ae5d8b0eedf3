"""Two kinds of nodes under one load: the cheapest whole numbers of each that carry it, also after a loss.

A unit is what fails at once: a replica, or a node with all replicas in it. The worst loss takes units of the kind that
carries most each, then of the other. What is left must carry the arrival rate. Source: gridplan; every number of one
kind is tried, so the result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gridplan.formulas._broadcast import count
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact, floor_ratio

__all__ = ["Demand", "NodeKind", "cheapest_pair", "nodes_of_one_kind", "units_beside"]

_Array = npt.NDArray[np.float64]

_TRIALS_AT_ONCE = 1 << 20
"""Numbers tried together (policy): a few arrays of 8 MB."""


class NodeKind(NamedTuple):
    """One kind of node, in every cell: what a purchase of it holds and costs.

    `units` [count] fail one by one, `usd_per_hour` is the price of all of them together.
    """

    units: _Array
    usd_per_hour: _Array


class Demand(NamedTuple):
    """What must hold: after `lost_units` [count] the units left carry arrival_rate [req/s] at these rates each [req/s].

    `rates` has one entry for each of the two kinds.
    """

    arrival_rate: _Array
    lost_units: _Array
    rates: tuple[_Array, _Array]


@count
def units_beside(
    arrival_rate: Value, units: Value, rate_per_unit: Value, other_rate_per_unit: Value, lost_units: Value
) -> Value:
    """Least units of another kind that, beside `units` of the first, carry a rate after the worst loss [count].

    Rates in req/s. The loss takes lost_units [count] of the kind with the higher rate, then of the other. Ten units of
    3 req/s are to carry 50 req/s after the loss of one, beside units of 8 req/s: four carry 24 after they lost one, so
    with the other 30 it is 54; three carry 16, and 46 is too little.

    >>> units_beside(50, 10, 3, 8, 1)
    4

    Beside units of 2 req/s it is one of the ten that is lost, and 27 are left:

    >>> units_beside(50, 10, 3, 2, 1)
    12
    """
    own_first = rate_per_unit >= other_rate_per_unit
    # Where the first kind loses first: all its loss, and what it does not have is taken from the other.
    own_lost = np.minimum(lost_units, units)
    needed = _least(arrival_rate, (units - own_lost) * rate_per_unit, other_rate_per_unit)
    first = np.where(needed > 0.0, lost_units - own_lost + needed, 0.0)
    # Where the other loses first: as many as it lost, and what carries the rest; or so few that all of them are lost.
    second = lost_units + _least(arrival_rate, units * rate_per_unit, other_rate_per_unit)
    few = np.maximum(ceil_exact(arrival_rate / rate_per_unit) + lost_units - units, 0.0)
    second = np.where(few <= lost_units, np.minimum(few, second), second)
    return np.where(own_first, first, second)


def nodes_of_one_kind(kind: NodeKind, demands: Sequence[Demand], place: int) -> _Array:
    """Least purchases of one kind alone that meet all demands [count]; `place` is that of its rate in them.

    60 req/s at 7 req/s each are nine replicas, ten with a spare, and two nodes of eight:

    >>> one = np.ones(1)
    >>> nodes_of_one_kind(NodeKind(8 * one, 40.96 * one), [Demand(60 * one, one, (7 * one, one))], 0).tolist()
    [2.0]
    """
    least = [item.lost_units + ceil_exact(item.arrival_rate / item.rates[place]) for item in demands]
    result: _Array = ceil_exact(np.max(np.broadcast_arrays(*least), axis=0) / kind.units)
    return result


def cheapest_pair(first: NodeKind, second: NodeKind, demands: Sequence[Demand]) -> tuple[_Array, _Array, _Array]:
    """Purchases of two kinds with the lowest bill that meet all demands: numbers of each [count], bill [USD/h].

    All arrays have the same shape. Either number may be 0; of equal bills the one with fewest of the kind that needs
    more nodes stands. NaN where a value is NaN.

    60 req/s on nodes of 8 replicas at 7 req/s for 10 USD/h and nodes of 2 replicas at 5 req/s for 2 USD/h, without a
    loss: one of the first carries 56, one of the second the rest.

    >>> one = np.ones(1)
    >>> kinds = NodeKind(8 * one, 10 * one), NodeKind(2 * one, 2 * one)
    >>> [item.tolist() for item in cheapest_pair(*kinds, [Demand(60 * one, 0 * one, (7 * one, 5 * one))])]
    [[1.0], [1.0], [12.0]]
    """
    shape = np.broadcast_shapes(
        *(np.shape(item) for item in (*first, *second)), *(np.shape(d.arrival_rate) for d in demands)
    )

    def flat(item: _Array) -> _Array:
        return np.broadcast_to(np.asarray(item, dtype=np.float64), shape).reshape(-1)

    kinds = [NodeKind(*map(flat, kind)) for kind in (first, second)]
    asked = [Demand(flat(d.arrival_rate), flat(d.lost_units), (flat(d.rates[0]), flat(d.rates[1]))) for d in demands]
    alone = [nodes_of_one_kind(kind, asked, place) for place, kind in enumerate(kinds)]
    swapped = alone[1] < alone[0]
    few, many = (
        NodeKind(*(np.where(swapped, b, a) for a, b in zip(kinds[i], kinds[1 - i], strict=True))) for i in (0, 1)
    )
    asked = [
        Demand(d.arrival_rate, d.lost_units, (np.where(swapped, *d.rates[::-1]), np.where(swapped, *d.rates)))
        for d in asked
    ]
    best = _tried(few, many, asked, np.where(swapped, alone[1], alone[0]))
    numbers = (np.where(swapped, best[1], best[0]), np.where(swapped, best[0], best[1]))
    return numbers[0].reshape(shape), numbers[1].reshape(shape), best[2].reshape(shape)


def _tried(few: NodeKind, many: NodeKind, demands: Sequence[Demand], most: _Array) -> tuple[_Array, _Array, _Array]:
    """The best of every number of the kind that needs fewer, from as many as it needs alone down to none."""
    chosen, beside, bill = (np.full(most.shape, value) for value in (np.nan, np.nan, np.inf))
    highest = int(np.nanmax(most, initial=-1.0))
    step = max(1, _TRIALS_AT_ONCE // max(most.size, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        for start in range(highest, -1, -step):
            number = np.arange(start, max(start - step, -1), -1, dtype=np.float64)[:, np.newaxis]
            needed = np.zeros(np.broadcast_shapes(number.shape, most.shape))
            for item in demands:
                units = units_beside(item.arrival_rate, number * few.units, *item.rates, item.lost_units)
                needed = np.maximum(needed, ceil_exact(units / many.units))
            usd = number * few.usd_per_hour + needed * many.usd_per_hour
            usd = np.where((number <= most) & ~np.isnan(usd), usd, np.inf)
            place = np.argmin(usd, axis=0)[np.newaxis]
            least = np.take_along_axis(usd, place, axis=0)[0]
            better = least < bill
            bill = np.where(better, least, bill)
            chosen = np.where(better, number[place[0], 0], chosen)
            beside = np.where(better, np.take_along_axis(needed, place, axis=0)[0], beside)
    return chosen, beside, np.where(np.isfinite(bill), bill, np.nan)


def _least(arrival_rate: Value, carried: Value, rate: Value) -> Value:
    """Least units of `rate` for what is left of the arrival rate, where a difference of equals counts as none."""
    rest = arrival_rate - carried
    return np.maximum(-floor_ratio(-rest, rate, np.abs(arrival_rate) + np.abs(carried)), 0.0) + 0.0
