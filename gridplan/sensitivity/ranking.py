"""The least of several numbers, and what ties with it: pure array functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TIE", "first_least", "least"]

TIE = 1e-9
"""Relative difference up to which two values are equal: sums in another order differ by less (policy)."""


def least(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
    """The place of the least value of each row, that value, and where others tie with it within 1e-9.

    Infinity stands for cells that are left out. The first of those that tie wins.

    >>> place, value, ties = least(np.array([[2.0, 1.0, 1.0], [np.inf, np.inf, np.inf]]))
    >>> place.tolist(), value.tolist(), ties[0].tolist(), bool(ties[1].any())
    ([1, 0], [1.0, inf], [False, False, True], False)
    """
    lowest = values.min(axis=1, keepdims=True, initial=np.inf)
    # A negative least value (a saving) has its margin above it as well.
    margin = TIE * np.abs(np.where(np.isinf(lowest), 0.0, lowest))
    ties = (values <= lowest + margin) & ~np.isinf(values)
    winner = ties.argmax(axis=1)
    rows = np.arange(len(values))
    ties[rows, winner] = False
    return winner, values[rows, winner], ties


def first_least(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first place of the least value of each row, within 1e-9 of `scale`; -1 where the row holds no number.

    Regrets are differences, so what they round to is a share of the bills and not of themselves: `scale` has the
    size of these, by row.

    >>> first_least(np.array([[np.nan, 2.0, 2.0], [np.nan, np.nan, np.nan]]), np.ones(2)).tolist()
    [1, -1]
    """
    known = np.where(np.isnan(values), np.inf, values)
    low = known.min(axis=1, keepdims=True, initial=np.inf)
    ties = (known <= low + TIE * np.abs(scale)[:, None]) & np.isfinite(known)
    return np.where(ties.any(axis=1), ties.argmax(axis=1), -1)
