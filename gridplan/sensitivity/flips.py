"""How often a label of the cells, such as the binding constraint, changes along each axis, and at which step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flips", "codes_of", "flips_along"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Flips:
    """Changes along one axis: the share of cells on lines with more than one label, and of neighbours that differ.

    `step` has for each two neighbouring labels of the axis the share of pairs that differ, NaN where no pair has both.
    """

    share: float
    step: Array


def codes_of(labels: Array) -> Array:
    """Labels as whole numbers from 0, -1 where there is none."""
    import pandas as pd

    codes, _ = pd.factorize(labels.ravel())
    return np.asarray(codes, dtype=np.int16).reshape(labels.shape)


def flips_along(codes: Array, axis: int) -> Flips:
    """How codes change along an axis; cells of code -1 do not count.

    >>> found = flips_along(np.array([[0, 0, 1], [2, 2, 2], [0, -1, 1]]), axis=1)
    >>> found.share, found.step.tolist()
    (0.625, [0.0, 0.5])
    """
    known = codes >= 0
    highest = codes.max(axis=axis, keepdims=True)
    lowest = np.where(known, codes, np.iinfo(codes.dtype).max).min(axis=axis, keepdims=True)
    mixed = known & (highest > lowest)
    ahead, behind = np.moveaxis(codes, axis, 0)[1:], np.moveaxis(codes, axis, 0)[:-1]
    pairs = (ahead >= 0) & (behind >= 0)
    rest = tuple(range(1, codes.ndim))
    both = pairs.sum(axis=rest)
    differ = (pairs & (ahead != behind)).sum(axis=rest)
    step = np.divide(differ, both, out=np.full(both.shape, np.nan), where=both > 0)
    return Flips(float(mixed.sum() / max(1, known.sum())), step)
