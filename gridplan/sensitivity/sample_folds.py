"""What is kept of a measure while samples stream by: moments, extremes, quantiles, counts of labels, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.engine.sketch import ACCURACY, QuantileSketch

__all__ = ["KEPT_VALUES", "LabelFold", "NumberFold"]

Array = NDArray[Any]

KEPT_VALUES = 4_000_000
"""Values of a measure up to which all are kept and quantiles are exact (policy): 32 MB."""


class NumberFold:
    """Statistics of `n` samples in `cells` cells; NaN is counted apart."""

    def __init__(self, n: int, cells: int) -> None:
        self.count = np.zeros(cells, dtype=np.int64)
        self.missing = np.zeros(cells, dtype=np.int64)
        self.mean, self.squares = np.zeros(cells), np.zeros(cells)
        self.low, self.high = np.full(cells, np.inf), np.full(cells, -np.inf)
        self.exact = n * cells <= KEPT_VALUES
        self._kept: list[Array] = []
        self._sorted = False
        self._sketch = None if self.exact else QuantileSketch(cells)

    def add(self, values: Array) -> None:
        """Add samples: one row each, one column a cell."""
        known = ~np.isnan(values)
        count = known.sum(axis=0)
        safe = np.maximum(count, 1)
        filled = np.where(known, values, 0.0)
        mean = filled.sum(axis=0) / safe
        squares = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        # Chan, Golub and LeVeque, Am. Stat. 37, 1983: moments of two parts together.
        both = np.maximum(self.count + count, 1)
        apart = mean - self.mean
        self.squares += squares + apart**2 * self.count * count / both
        self.mean += apart * count / both
        self.count += count
        self.missing += values.shape[0] - count
        self.low = np.fmin(self.low, np.fmin.reduce(values, axis=0, initial=np.inf))
        self.high = np.fmax(self.high, np.fmax.reduce(values, axis=0, initial=-np.inf))
        if self._sketch is None:
            self._kept.append(np.array(values))
        else:
            self._sketch.add(np.broadcast_to(np.arange(values.shape[1]), values.shape), values, 1)

    def results(self, percentiles: Sequence[float]) -> dict[str, Array]:
        """Statistics by name, NaN in cells without any value.

        Percentile p is the least value that at least p% of the samples with a value do not exceed; from a sketch it is
        within 0.5%.
        """
        some = self.count > 0
        found = {
            "mean": np.where(some, self.mean, np.nan),
            "sd": np.where(self.count > 1, np.sqrt(self.squares / np.maximum(self.count - 1, 1)), np.nan),
            "min": np.where(some, self.low, np.nan),
            **{f"p{p:g}": self._quantile(p / 100) for p in percentiles},
            "max": np.where(some, self.high, np.nan),
            "null_share": self.missing / (self.count + self.missing),
        }
        return found

    def _quantile(self, q: float) -> Array:
        # A product such as 0.07 x 100 may come out above the whole number that it is.
        rank = np.ceil(np.round(q * self.count, 9)).astype(np.int64) - 1
        place = np.clip(rank, 0, np.maximum(self.count - 1, 0))
        if self._sketch is not None:
            middle = (place + 0.5) / np.maximum(self.count - 1, 1)  # half a rank further on, so that no rounding counts
            return np.clip(self._sketch.quantile(np.where(self.count > 1, middle, 0.0)), self.low, self.high)
        if not self._sorted:
            self._kept = [np.sort(np.concatenate(self._kept), axis=0)]  # NaN last
            self._sorted = True
        return np.asarray(np.take_along_axis(self._kept[0], place[np.newaxis], axis=0)[0])

    @property
    def accuracy(self) -> float:
        """Largest relative error of a percentile."""
        return 0.0 if self.exact else ACCURACY


class LabelFold:
    """How often each label occurs in each cell."""

    def __init__(self, cells: int) -> None:
        self.samples = 0
        self.counts: dict[str, Array] = {}
        self._cells = cells

    def add(self, labels: Array) -> None:
        """Add samples of text or None: one row each, one column a cell."""
        import pandas as pd

        codes, names = pd.factorize(labels.ravel())
        flat = codes * self._cells + np.broadcast_to(np.arange(self._cells), labels.shape).ravel()
        counts = np.bincount(flat[codes >= 0], minlength=len(names) * self._cells).reshape(-1, self._cells)
        for name, row in zip(names, counts, strict=True):
            self.counts[str(name)] = self.counts.get(str(name), 0) + row
        self.samples += labels.shape[0]

    def share(self, label: str) -> Array:
        """The share of all samples with that label."""
        return np.asarray(self.counts.get(label, np.zeros(self._cells)) / self.samples)
