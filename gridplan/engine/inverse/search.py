"""The last whole number at which a condition holds, for every cell of a cube at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridplan.chain.graph import Array

__all__ = ["largest_true"]


def largest_true(holds: Callable[[Array], Array], low: Array, high: Array, guess: Array | None = None) -> Array:
    """Largest whole number from `low` to `high` at which `holds`, `low` - 1 where it holds nowhere.

    `holds` takes an array of whole numbers and must be true up to some number and false beyond it, cell by cell. Where
    `guess` (NaN: none) is that number, two calls suffice; elsewhere the range is halved.

    >>> largest_true(lambda x: x * x <= np.array([10.0, 0.0, 1e6]), np.ones(3), np.full(3, 100.0)).tolist()
    [3.0, 0.0, 100.0]
    """
    low, high = np.broadcast_arrays(low, high)
    known, last = low - 1.0, np.maximum(high, low - 1.0)

    def ask(at: Array) -> None:
        nonlocal known, last
        # A cell that is settled asks again what it knows, within its range.
        inside = np.maximum(np.clip(at, known + 1.0, np.maximum(last, known + 1.0)), low)
        true = holds(inside)
        open_ = known < last
        known, last = np.where(open_ & true, inside, known), np.where(open_ & ~true, inside - 1.0, last)

    if guess is not None:
        for step in (0.0, 1.0):
            ask(np.where(np.isnan(guess), np.ceil((known + last) / 2), guess + step))
    while (known < last).any():
        ask(np.ceil((known + last) / 2))
    return known
