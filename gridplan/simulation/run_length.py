"""How many requests a run needs for the figure that is asked of it.

The times of n independent requests with an exponential tail give their quantile q within
sqrt(q / ((1 - q) n)) / ln(1 / (1 - q)) of itself. Requests of one queue are not independent: n is divided by the number
of neighbours that share a fate, some tens at a moderate load and thousands near the limit. So a first run takes a guess
and its standard error says how much longer the next one has to be. Source: Serfling, "Approximation Theorems of
Mathematical Statistics", 2.3.3, for the error of a quantile.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["requests_after", "requests_for"]

Array: TypeAlias = npt.NDArray[Any]

_ALIKE = 10.0
"""Neighbouring requests that count as one at a moderate load. Class: assumption, replaced by a run's own error."""


def requests_for(quantile: float, relative_error: float = 0.05, alike: float = _ALIKE) -> int:
    """Requests of a first run for a quantile with this relative standard error: alike q / ((1 - q) ln(1 - q)^2 e^2).

    quantile q in (0, 1) and relative_error e > 0 [1]; ValueError otherwise. For p99 within 5%: 10 x 99 / 21.21 x 400.

    >>> requests_for(0.99), requests_for(0.95), requests_for(0.99, relative_error=0.1)
    (18673, 8469, 4669)
    """
    if not 0.0 < quantile < 1.0:
        raise ValueError(f"quantile: between 0 and 1 expected, found {quantile}")
    if not relative_error > 0.0 or not alike >= 1.0:
        raise ValueError("relative_error above 0 and alike from 1 on expected")
    tail = 1.0 - quantile
    return int(np.ceil(alike * quantile / (tail * np.log(tail) ** 2 * relative_error**2)))


def requests_after(requests: int, value: Any, error: Any, relative_error: float = 0.05) -> Array:
    """Requests of the next run, from a figure of the first and its standard error: n (error / (value e))^2, >= n.

    value and error in the same unit, (cells,); NaN where the figure is not known. 10% after 4,000 requests asks for
    four times as many at 5%:

    >>> requests_after(4000, 2.0, 0.2).item()
    16000.0
    """
    value, error = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)
    return np.asarray(np.ceil(np.maximum(requests * (error / (value * relative_error)) ** 2, requests)))
