"""The largest rate at which a condition still holds, for many replicas at once.

Chandrupatla's method (Adv. Eng. Softw. 28(3), 1997, doi:10.1016/S0965-9978(96)00051-8): inverse quadratic interpolation
where it can be trusted, halving elsewhere. A replica that has converged is not looked at again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.traffic import Array

__all__ = ["SCAN", "Margin", "largest_rate"]

Margin = Callable[[Array, npt.NDArray[np.intp]], Array]
"""`margin(rate, rows)`: how far a condition is from breaking, above 0 where it holds; rows number the replicas."""

ROUNDS = 80
"""Most evaluations of a replica (policy); some twelve are usual, and halving alone needs 36."""
TOLERANCE = 2e-11
"""Width of the bracket at the end, relative (policy)."""
BROKEN = -1.0
"""The margin of a replica that has none: its queue grows without end."""


SCAN = (0.05, 0.2, 0.45, 0.7, 0.9)
"""Parts of `top` that are looked at before a search where a margin may come back (policy)."""


def largest_rate(margin: Margin, top: Array, scan: tuple[float, ...] = ()) -> Array:
    """Largest rate up to `top` [1/s] at which `margin` is not below 0, one row a replica.

    It is 0 where the condition does not even hold without load, and NaN where it is not known there. Where it holds at
    `top` too, that is the answer. A margin that crosses 0 more than once gives one of the crossings; with `scan`, parts
    of `top` in rising order, it is one before the first of them that does not hold.

    >>> largest_rate(lambda rate, rows: 3.0 - rate, np.array([10.0, 2.0])).round(9).tolist()
    [3.0, 2.0]
    """
    every = np.arange(top.size)
    at_zero, at_top = margin(np.zeros(top.size), every), _known(margin(top, every))
    found = np.where(np.isnan(at_zero), np.nan, np.where(at_zero < 0.0, 0.0, top))
    low, high, at_low, at_high = np.zeros(top.size), top.copy(), np.minimum(at_zero, 1e9), at_top.copy()
    open_ = at_zero >= 0.0
    for part in scan:
        rows = np.flatnonzero(open_)
        here = _known(margin(part * top[rows], rows)) if rows.size else np.zeros(0)
        holds, broken = rows[here >= 0.0], rows[here < 0.0]
        low[holds], at_low[holds] = part * top[holds], here[here >= 0.0]
        high[broken], at_high[broken] = part * top[broken], here[here < 0.0]
        open_[broken] = False
    rows = np.flatnonzero((at_zero >= 0.0) & (at_high < 0.0))
    if rows.size:
        ends = (low[rows], high[rows], np.minimum(at_low[rows], 1e9), at_high[rows])
        found[rows] = _search(margin, rows, *ends)
    return found


def _known(values: Array) -> Array:
    return np.where(np.isnan(values), BROKEN, values)


def _search(
    margin: Margin, rows: npt.NDArray[np.intp], low: Array, high: Array, at_low: Array, at_high: Array
) -> Array:
    """The end of the bracket that holds. `a` is the newest point, `b` the other end, `c` the one before."""
    out = low.copy()
    live = np.arange(rows.size)
    a, b, c = high.copy(), low.copy(), high.copy()
    fa, fb, fc = at_high, at_low, at_high.copy()
    part = np.full(rows.size, 0.5)
    for _ in range(ROUNDS):
        x = a + part * (b - a)
        fx = _known(margin(x, rows[live]))
        same = (fx >= 0.0) == (fa >= 0.0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        out[live] = np.where(fa >= 0.0, a, b)
        width = np.abs(b - a)
        least = TOLERANCE * np.maximum(np.abs(a), np.abs(b))
        wide = width > least
        if not wide.any():
            break
        part = np.clip(_part(a, b, c, fa, fb, fc), 0.5 * least / width, 1.0 - 0.5 * least / width)
        if np.count_nonzero(wide) < 0.8 * wide.size:
            live = live[wide]
            a, b, c, fa, fb, fc, part = (item[wide] for item in (a, b, c, fa, fb, fc, part))
    return out


def _part(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array) -> Array:
    """Where to look next between a (0) and b (1)."""
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        smooth = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        inverse = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(smooth & np.isfinite(inverse), inverse, 0.5)
