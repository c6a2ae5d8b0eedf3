"""Quantiles of a stream in bounded memory: counts in bins of equal relative width.

A positive value v falls into bin floor(ln v / ln g); the value reported for a bin is off by at most (g - 1) / 2
relative (DDSketch: Masson, Rim, Lee, PVLDB 12, 2019). Zeros have a bin of their own. Counts add up, so blocks merge in
any order.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array

__all__ = ["ACCURACY", "QuantileSketch"]

ACCURACY = 0.005
"""Largest relative error of a quantile (policy)."""

_GROWTH = (1 + ACCURACY) / (1 - ACCURACY)
_LOG = np.log(_GROWTH)
_LOWEST, _HIGHEST = 1e-12, 1e18
_FIRST = int(np.floor(np.log(_LOWEST) / _LOG))
_BINS = int(np.ceil(np.log(_HIGHEST) / _LOG)) - _FIRST + 2


class QuantileSketch:
    """Counts of one measure for each of `groups` groups; values are not negative, NaN is not counted."""

    def __init__(self, groups: int) -> None:
        self.counts = np.zeros((groups, _BINS), dtype=np.int64)

    def add(self, group: Array, values: Array, repeat: int) -> None:
        """Count every value `repeat` times in its group; arrays of one shape."""
        keep = ~np.isnan(values)
        value, where = values[keep], group[keep]
        with np.errstate(divide="ignore"):
            bins = np.floor(np.log(np.clip(value, _LOWEST, _HIGHEST)) / _LOG).astype(np.int64) - _FIRST + 1
        bins[value == 0] = 0
        flat = np.bincount(where * _BINS + bins, minlength=self.counts.size)
        self.counts += flat.reshape(self.counts.shape) * repeat

    def merge(self, other: QuantileSketch) -> None:
        """Add the counts of another sketch of the same groups."""
        self.counts += other.counts

    def quantile(self, q: float | Array) -> Array:
        """The q-quantile of every group (lower of two neighbours; q may differ by group), NaN for an empty one."""
        total = self.counts.sum(axis=1)
        rank = np.floor(q * np.maximum(total - 1, 0))
        bins = (self.counts.cumsum(axis=1) > rank[:, np.newaxis]).argmax(axis=1)
        middle = 2 * _GROWTH ** (bins - 1 + _FIRST + 1) / (_GROWTH + 1)
        return np.where(total == 0, np.nan, np.where(bins == 0, 0.0, middle))
