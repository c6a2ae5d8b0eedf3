"""All values of an input at which the cheaper of two alternatives changes, on a ladder of values and refined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.sensitivity.search import ladder, threshold

__all__ = ["Crossings", "compared", "crossings"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Crossings:
    """Per cell and crossing the value below and above, NaN where a cell has fewer; crossings, at least one, come first.

    `count` of each cell; `first` and `last` are the states at the ends of the range; `unknown` counts values of the
    ladder without a state, and `hidden` changes that lie across such values: they are no crossings.
    """

    below: Array
    above: Array
    count: Array
    first: Array
    last: Array
    unknown: Array
    hidden: Array
    ever: tuple[Array, Array]


def crossings(
    state: Callable[[Array], Array],
    low: float,
    high: float,
    shape: tuple[int, ...],
    points: int,
    integer: bool = False,
    more: Callable[[Array], Array] | None = None,
) -> Crossings:
    """Where a state of 1 or 0 (NaN: unknown) changes between `low` and `high`, in cells of that shape.

    Between two values of the ladder it is taken to change at most once: two changes there are not seen. `more` gives
    further values of each cell to look at, of the shape (n, *cells): edges of stairs; NaN stands for none.

    >>> found = crossings(lambda x: ((x > 3.0) & (x < 40.0)).astype(float), 1.0, 100.0, (1,), 9)
    >>> found.below[:, 0].tolist(), found.above[:, 0].tolist()
    ([3.0, 39.9999999999], [3.00000000001, 40.0])
    """
    steps = compared(low, high, shape, points, integer, more)
    states = np.broadcast_to(np.asarray(state(steps), np.float64), steps.shape)
    known = ~np.isnan(states)
    turns = known[:-1] & known[1:] & (states[:-1] != states[1:])
    count = turns.sum(axis=0)
    most = int(count.max(initial=1))
    order = np.cumsum(turns, axis=0)
    below, above, target = (np.full((most, *shape), fill) for fill in (low, high, 0.0))
    has = np.arange(1, most + 1).reshape(-1, *(1,) * len(shape)) <= count
    for number in range(most):
        place = np.argmax(order == number + 1, axis=0)
        below[number] = np.where(has[number], _at(steps, place), low)
        above[number] = np.where(has[number], _at(steps, place + 1), high)
        target[number] = _at(states, place)
    if count.any():

        def same(values: Array) -> Array:
            found = np.broadcast_to(state(values.reshape(-1, *shape)), (values.shape[0] * most, *shape))
            return np.asarray(found.reshape(-1, most, *shape) == target, np.float64)

        refined = threshold(same, below, above, integer=integer, points=2, width=7)
        below, above = refined.holds_at, refined.fails_at
    below, above = np.where(has, below, np.nan), np.where(has, above, np.nan)
    ends = _ends(states, known)
    filled = _filled(states)
    hidden = ((filled[1:] != filled[:-1]) & ~np.isnan(filled[:-1])).sum(axis=0) - count
    ever = ((states == 0.0).any(axis=0), (states == 1.0).any(axis=0))
    return Crossings(below, above, count, *ends, (~known).sum(axis=0), hidden, ever)


def compared(
    low: float,
    high: float,
    shape: tuple[int, ...],
    points: int,
    integer: bool = False,
    more: Callable[[Array], Array] | None = None,
) -> Array:
    """The values at which a state is looked at first, sorted: a ladder and what `more` makes of it."""
    steps = ladder(np.full(shape, low), np.full(shape, high), points, integer)
    if more is None:
        return steps
    edges = more(steps)
    return np.sort(np.concatenate([steps, np.where(np.isfinite(edges), np.clip(edges, low, high), low)]), axis=0)


def _at(items: Array, place: Array) -> Array:
    return np.asarray(np.take_along_axis(items, place[np.newaxis], axis=0)[0])


def _ends(states: Array, known: Array) -> tuple[Array, Array]:
    """The first and the last known state."""
    none = ~known.any(axis=0)
    first = np.where(none, np.nan, _at(states, np.argmax(known, axis=0)))
    last = np.where(none, np.nan, _at(states[::-1], np.argmax(known[::-1], axis=0)))
    return first, last


def _filled(states: Array) -> Array:
    """Each unknown state replaced by the last known one below it."""
    filled = states.copy()
    for place in range(1, len(filled)):
        filled[place] = np.where(np.isnan(filled[place]), filled[place - 1], filled[place])
    return filled
