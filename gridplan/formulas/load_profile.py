"""The load over the hours of a month: how much of the time it stands how high.

Hours are put in order of their load, so a curve over shares of time from the busiest moment on says all that a bill
asks: L(t) = f + (1 - f)(1 - t)^b for t from 0 to 1, as a share of the peak. It starts at the peak, ends at the floor f,
and b = (1 - f) / (1/PAR - f) - 1 gives it the mean 1/PAR. A floor at or above the mean leaves no such curve, except for
a peak-to-average ratio of 1, which is a constant load.

The curve is an assumption (2026-11-30): its two figures are those of the contract, its shape is the simplest one with
both. Source of load-duration curves: Stoft, "Power System Economics", 2002, part 1-4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value

__all__ = ["LEVELS", "load_levels", "load_means"]

LEVELS = 24
"""Equal shares of time in which the staffing may differ (policy: the hours of a day)."""


def load_levels(peak_to_average: Value, load_floor: Value, levels: int = LEVELS) -> npt.NDArray[np.float64]:
    """The highest load within each of `levels` equal shares of time [1, a share of the peak], falling.

    It is what must be staffed for in that share. Arrays broadcast; the shares are the first axis of the result, so it
    broadcasts with arrays like the arguments. NaN where the floor is not below the mean. Without a floor and with PAR
    3, b is 2, so the quarters of the time start at 1, (3/4)^2, (1/2)^2 and (1/4)^2:

    >>> load_levels(3, 0, levels=4).tolist()
    [1.0, 0.5625, 0.25, 0.0625]

    A constant load, and one whose floor is its mean although it has a peak:

    >>> load_levels([1, 2], [0.5, 0.5], levels=2).T.tolist()
    [[1.0, 1.0], [nan, nan]]
    """
    floor, power, start = _curve(peak_to_average, load_floor, np.arange(levels) / levels)
    return np.asarray(floor + (1.0 - floor) * (1.0 - start) ** power)


def load_means(peak_to_average: Value, load_floor: Value, levels: int = LEVELS) -> npt.NDArray[np.float64]:
    """The mean load within each of `levels` equal shares of time [1, a share of the peak]; their mean is 1/PAR.

    f + (1 - f) n ((1 - t)^(b + 1) - (1 - t - 1/n)^(b + 1)) / (b + 1) for a share of 1/n that starts at t. With PAR 2
    and no floor the curve is the straight line 1 - t:

    >>> load_means(2, 0, levels=4).tolist()
    [0.875, 0.625, 0.375, 0.125]
    """
    floor, power, edges = _curve(peak_to_average, load_floor, np.arange(levels + 1) / levels)
    below = (1.0 - edges) ** (power + 1.0)
    return np.asarray(floor + (1.0 - floor) * levels * (below[:-1] - below[1:]) / (power + 1.0))


def _curve(peak_to_average: Value, load_floor: Value, times: npt.NDArray[np.float64]) -> tuple[Any, Any, Any]:
    """Floor and exponent, both NaN where there is no curve, and times with the axis of times first."""
    floor, ratio = (np.asarray(value, dtype=np.float64) for value in (load_floor, peak_to_average))
    with np.errstate(all="ignore"):
        mean = 1.0 / ratio
        floor = np.where(mean > floor, floor, np.nan)
        power = (1.0 - floor) / (mean - floor) - 1.0
    return floor, power, times.reshape(-1, *[1] * power.ndim)
