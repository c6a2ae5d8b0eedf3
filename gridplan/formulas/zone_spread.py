"""Nodes of a packing dealt to zones, as evenly as whole nodes allow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.packing import Packed
from gridplan.rounding import ceil_exact, floor_exact

__all__ = ["dealt", "zone_spread"]

_Array = npt.NDArray[np.float64]


def zone_spread(packed: Packed, zones: Value, most: int | None = None) -> tuple[_Array, _Array]:
    """Nodes of each zone [..., zone] and replicas of each kind in it [..., zone, kind], both [count].

    Wide replicas are dealt first, those that span most nodes before others and each whole to the zone with the fewest
    nodes; then single nodes in the order of the packing. So zones differ by one node, unless wide replicas force more.
    `zones` [count] has one number per cell; there are `most` places (by default as many as the largest), and NaN where
    a cell has fewer zones or no packing.

    Six nodes that hold a 6 each and others beside it, in three zones:

    >>> from gridplan.formulas.packing import first_fit_decreasing
    >>> nodes, replicas = zone_spread(first_fit_decreasing([5, 4, 3], [6, 2, 1], [1, 1, 1], 8), 3)
    >>> nodes.tolist(), replicas[:, 0].tolist()
    ([2.0, 2.0, 2.0], [2.0, 2.0, 1.0])
    """
    shape, kinds = packed.nodes.shape, packed.wide.shape[-1]
    number = np.broadcast_to(np.asarray(zones, dtype=np.float64), shape).reshape(-1)
    places = int(np.nanmax(number, initial=1.0)) if most is None else most
    wide, spans = packed.wide.reshape(-1, kinds), packed.spans.reshape(-1, kinds)
    bins, held = packed.bins.reshape(len(number), -1), packed.held.reshape(len(number), -1, kinds)
    rows = np.arange(len(number))
    # A zone that a cell does not have is never the emptiest.
    absent = ~(np.arange(places) < number[:, np.newaxis])
    load = np.where(absent, np.inf, 0.0)
    of_kind = np.zeros((len(number), places, kinds))
    for kind in np.argsort(-np.where(wide > 0.0, spans, 0.0), axis=-1, kind="stable").T:
        span = np.where(wide[rows, kind] > 0.0, spans[rows, kind], 1.0)
        given = dealt(load, wide[rows, kind], span)
        of_kind[rows, :, kind] += given
        load = load + given * span[:, np.newaxis]
    before = np.zeros_like(load)
    for group, end in enumerate(np.cumsum(bins, axis=-1).T):
        until = dealt(load, end, np.ones(len(number)))
        of_kind += (until - before)[..., np.newaxis] * held[:, group, np.newaxis, :]
        before = until
    unknown = absent | np.isnan(packed.nodes.reshape(-1, 1))
    nodes = np.where(unknown, np.nan, load + before)
    of_kind = np.where(unknown[..., np.newaxis], np.nan, of_kind)
    return nodes.reshape(*shape, places), of_kind.reshape(*shape, places, kinds)


def dealt(load: _Array, number: _Array, size: _Array) -> _Array:
    """How many of `number` equal blocks each place gets, if each goes to the least loaded one, the first of equals.

    load [cell, place] may be infinite for places that take none, number and size [cell] are whole numbers. The level
    that is reached is found by halving, so the work does not grow with the number of blocks.

    >>> dealt(np.array([[2.0, 0.0, 0.0]]), np.array([5.0]), np.array([1.0])).tolist()
    [[1.0, 2.0, 2.0]]
    """
    size = size[:, np.newaxis]

    def below(level: _Array) -> _Array:
        """Blocks that start below a level."""
        started: _Array = np.maximum(ceil_exact((level[:, np.newaxis] - load) / size), 0.0)
        return started

    low = np.zeros(len(number))
    high = np.where(np.isfinite(load), load, np.inf).min(axis=-1) + size[:, 0] * number + 1.0
    high = np.where(np.isfinite(high), high, 1.0)
    while (high - low > 1.0).any():
        middle = floor_exact((low + high) / 2.0)
        fits = below(middle).sum(axis=-1) <= number
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    given = below(low)
    with np.errstate(invalid="ignore"):
        at_level = (load <= low[:, np.newaxis]) & ((low[:, np.newaxis] - load) % size == 0.0)
    rest = number - given.sum(axis=-1)
    extra = at_level & (np.cumsum(at_level, axis=-1) <= rest[:, np.newaxis])
    result: _Array = given + extra
    return result
