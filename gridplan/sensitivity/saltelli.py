"""Sobol indices from samples: Saltelli's matrices A, B and A with one column of B; Jansen's total; bootstrap intervals.

First order: Saltelli, Annoni, Azzini, Campolongo, Ratto and Tarantola, Computer Physics Communications 181, 2010,
table 2 (b); total: Jansen, Computer Physics Communications 117, 1999, there (f). Values are centred before, as SALib
does: what a constant adds to Y must not change an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SampledShares", "saltelli_shares"]

Array = NDArray[Any]

ROUNDING = 1e-12
"""Spread of the values, relative to the largest, below which they do not vary (policy)."""

BATCH = 4_000_000
"""Numbers of one batch of resamples (policy): 32 MB."""


@dataclass(frozen=True)
class SampledShares:
    """Estimates for each input, with their bootstrap intervals as rows (low, high); `rows` is how many were used."""

    first_order: Array
    total: Array
    first_interval: Array
    total_interval: Array
    rows: int
    mean: float
    variance: float


def saltelli_shares(
    a: Array, b: Array, ab: Array, *, resamples: int = 200, confidence: float = 0.95, seed: int = 0
) -> SampledShares:
    """First-order and total indices from the values at A, at B, and at A with each column of B in turn.

    Parameters
    ----------
    a, b
        Values at the rows of A and of B.
    ab
        One row of values for each input: those at A with the column of that input from B.
    resamples, confidence, seed
        Of the bootstrap over rows, whose quantiles are the interval. Rows of a Sobol' sequence are spread more evenly
        than independent ones, so the intervals are rather too wide.

    Returns
    -------
    SampledShares
        Estimates may lie outside [0, 1] by their error. Rows in which any value is NaN are left out of all. 0 for all
        inputs where values do not vary; NaN where fewer than 2 rows are left.

    Examples
    --------
    Y = x1 + 3 x2 on all pairs of four points (-3, -1, 1, 3):

    >>> x = np.array([-3.0, -1, 1, 3])
    >>> a1, a2, b1, b2 = (m.ravel() for m in np.meshgrid(x, x, x, x))
    >>> found = saltelli_shares(a1 + 3 * a2, b1 + 3 * b2, np.array([b1 + 3 * a2, a1 + 3 * b2]))
    >>> found.first_order.round(12).tolist(), found.total.round(12).tolist()
    ([0.1, 0.9], [0.1, 0.9])
    """
    used = ~(np.isnan(a) | np.isnan(b) | np.isnan(ab).any(axis=0))
    rows, inputs = int(used.sum()), ab.shape[0]
    if rows < 2:
        empty = np.full(inputs, np.nan)
        return SampledShares(
            empty, empty, np.full((inputs, 2), np.nan), np.full((inputs, 2), np.nan), rows, np.nan, np.nan
        )
    a, b, ab = a[used], b[used], ab[:, used]
    both = np.concatenate([a, b])
    mean = float(both.mean())
    if float(np.ptp(np.concatenate([both, ab.ravel()]))) <= ROUNDING * float(np.abs(both).max()):
        nothing, ends = np.zeros(inputs), np.zeros((inputs, 2))
        return SampledShares(nothing, nothing, ends, ends, rows, mean, 0.0)
    everything = (a.sum() + b.sum() + ab.sum()) / (rows * (inputs + 2))
    a, b, ab = a - everything, b - everything, ab - everything
    products = np.stack([*(b * (ab - a)), *(0.5 * (a - ab) ** 2), a + b, a * a + b * b], axis=1)
    sums = products.mean(axis=0)
    variance = float(np.var(np.concatenate([a, b])))
    if variance == 0:
        nothing = np.full(inputs, np.nan)
        return SampledShares(
            nothing, nothing, np.full((inputs, 2), np.nan), np.full((inputs, 2), np.nan), rows, mean, 0.0
        )
    first, total = sums[:inputs] / variance, sums[inputs : 2 * inputs] / variance
    ends = _bootstrap(products, resamples, confidence, seed)
    return SampledShares(first, total, ends[:inputs], ends[inputs:], rows, mean, variance)


def _bootstrap(products: Array, resamples: int, confidence: float, seed: int) -> Array:
    """Quantiles of both indices over resampled rows: one row (low, high) for each first-order and each total index."""
    random = np.random.default_rng(seed)
    rows, width = products.shape
    found = []
    size = max(1, BATCH // rows)
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        drawn = random.integers(0, rows, (count, rows))
        drawn += np.arange(count)[:, np.newaxis] * rows
        times = np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows)
        means = times @ products / rows
        spread = means[:, -1] / 2 - (means[:, -2] / 2) ** 2
        spread = np.where(spread > 0, spread, np.nan)[:, np.newaxis]
        found.append(means[:, : width - 2] / spread)
    tail = (1 - confidence) / 2
    return np.asarray(np.nanquantile(np.concatenate(found), [tail, 1 - tail], axis=0).T)
