"""Where a statement about one input stops to hold: a ladder of values first, then halving between two of its steps.

Arrays alone. A statement is 1 where it holds, 0 where it fails and NaN where nobody knows; it is asked for many values
at once. Values are decimals of 12 significant digits, as labels of axes are, or whole numbers: what comes out can be
written into a contract digit by digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.rounding import LABEL_DIGITS

__all__ = ["ANSWERS", "LADDER_POINTS", "Threshold", "ladder", "threshold", "to_digits"]

Array = NDArray[Any]
Statement = Callable[[Array], Array]
"""Values of shape (n, ...) to 1, 0 or NaN of a shape that broadcasts to it."""

ANSWERS = ("between", "always", "never", "not_monotone", "unknown")
"""What a search finds: a threshold inside the range; the statement holds on every point of the ladder, or on none; it
holds again after it has failed; or values are null where it should be judged. A code is the position in the tuple."""

LADDER_POINTS = 17
"""Values at which a statement is looked at first (policy): between two of them it is taken to turn once."""

MOST_ROUNDS = 100
"""Halvings after which a search stops: more than float64 can be halved between two steps of a ladder."""

_BETWEEN, _ALWAYS, _NEVER, _NOT_MONOTONE, _UNKNOWN = range(len(ANSWERS))


@dataclass(frozen=True)
class Threshold:
    """The last value that holds, the first that does not, and the code of ANSWERS, each of the searched shape.

    `always`: `holds_at` is the far end of the range and `fails_at` is NaN. `never`: `fails_at` is the end that favours
    the statement and `holds_at` is NaN. Else, unless `between`, both are NaN.
    """

    holds_at: Array
    fails_at: Array
    code: Array


def to_digits(values: Array) -> Array:
    """Numbers rounded to 12 significant digits: those between 1e-11 and 1e22 are equal to their decimals bit by bit.

    >>> to_digits(np.array([0.1 + 0.2, 1234567890123.4, 0.0])).tolist()
    [0.3, 1234567890120.0, 0.0]
    """
    values = np.asarray(values, np.float64)
    size = np.abs(np.where((values == 0.0) | ~np.isfinite(values), 1.0, values))
    power = LABEL_DIGITS - 1 - np.floor(np.log10(size))
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.rint(values * 10.0 ** np.maximum(power, 0.0)) / 10.0 ** np.maximum(power, 0.0)
        coarse = np.rint(values / 10.0 ** np.maximum(-power, 0.0)) * 10.0 ** np.maximum(-power, 0.0)
    rounded = np.where(power >= 0.0, fine, coarse)
    return np.asarray(np.where(np.isfinite(rounded), rounded, values))


def ladder(low: Array, high: Array, points: int = LADDER_POINTS, integer: bool = False) -> Array:
    """Values from `low` to `high` along a new first axis, both ends among them.

    In equal ratios where the range is above 0 and wider than tenfold, else in equal steps.

    >>> ladder(np.array(1.0), np.array(100.0), 3).tolist(), ladder(np.array(1.0), np.array(4.0), 3, True).tolist()
    ([1.0, 10.0, 100.0], [1.0, 2.0, 4.0])
    """
    low, high = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64))
    share = np.linspace(0.0, 1.0, points).reshape(-1, *(1,) * low.ndim)
    ratio = (low > 0.0) & (high > 10.0 * low)
    start = np.where(ratio, low, 1.0)
    with np.errstate(over="ignore"):
        steps = np.where(ratio, start * (np.where(ratio, high, 1.0) / start) ** share, low + (high - low) * share)
    inside = np.clip(_rounded(steps, integer), low, high)
    inside[0], inside[-1] = low, high
    return np.asarray(inside)


def threshold(
    evaluate: Statement,
    low: Array | float,
    high: Array | float,
    rising: bool = False,
    integer: bool = False,
    *,
    points: int = LADDER_POINTS,
    width: int = 15,
) -> Threshold:
    """Find the last value at which a statement holds and the first at which it does not, in all cells at once.

    Parameters
    ----------
    evaluate
        The statement: values of shape (n, *cells) to 1, 0 or NaN (true and false will do).
    low, high
        Ends of the range, numbers or arrays of the shape of the cells.
    rising
        The statement fails at the low end and holds at the high one; else it holds at the low end.
    integer
        Whole numbers are meant.
    points
        Values of the ladder that is looked at first, over the whole range.
    width
        Values asked for at once in each round after it.

    Returns
    -------
    Threshold
        Neighbours of 12 significant digits, or whole numbers next to each other, where the code is `between`.

    A shop that sells at most 17.3 kg:

    >>> found = threshold(lambda kg: kg <= 17.3, 1.0, 1000.0)
    >>> float(found.holds_at), float(found.fails_at), ANSWERS[int(found.code)]
    (17.3, 17.3000000001, 'between')
    """
    low, high = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64))
    steps = ladder(low, high, points, integer)
    steps = steps[::-1] if rising else steps
    judged = np.broadcast_to(np.asarray(evaluate(steps), np.float64), steps.shape)
    code, leading = _pattern(judged)
    between = code == _BETWEEN
    good = np.where(between, _picked(steps, np.maximum(leading - 1, 0)), steps[0])
    bad = np.where(between, _picked(steps, np.minimum(leading, points - 1)), steps[0])
    good, bad = _narrowed(evaluate, good, bad, integer, width)
    holds_at = np.select([between, code == _ALWAYS], [good, steps[-1]], np.nan)
    fails_at = np.select([between, code == _NEVER], [bad, steps[0]], np.nan)
    return Threshold(holds_at, fails_at, code)


def _pattern(judged: Array) -> tuple[Array, Array]:
    """The code of what a ladder shows, favourable end first, and how many of its first steps hold."""
    holds = judged == 1.0
    leading = np.cumprod(holds, axis=0).sum(axis=0)
    doubtful = np.isnan(judged).any(axis=0)
    broken = holds.sum(axis=0) != leading
    code = np.select(
        [
            leading == len(judged),
            broken & doubtful,
            broken,
            (leading == 0) & doubtful,
            leading == 0,
        ],
        [_ALWAYS, _UNKNOWN, _NOT_MONOTONE, _UNKNOWN, _NEVER],
        _BETWEEN,
    )
    return code, leading


def _narrowed(evaluate: Statement, good: Array, bad: Array, integer: bool, width: int) -> tuple[Array, Array]:
    """Neighbours between `good`, which holds, and `bad`, which does not; equal ones stay."""
    share = (np.arange(1, width + 1) / (width + 1)).reshape(-1, *(1,) * good.ndim)
    for _ in range(MOST_ROUNDS):
        middle = _rounded((good + bad) / 2.0, integer)
        near = np.abs(bad - good) <= 1.0 if integer else (middle == good) | (middle == bad)
        if near.all():
            break
        inner = np.where(near, good, _rounded(good + (bad - good) * share, integer))
        inner[width // 2] = np.where(near, good, middle)
        holds = np.broadcast_to(np.asarray(evaluate(inner), np.float64), inner.shape) == 1.0
        leading = np.cumprod(holds, axis=0).sum(axis=0)
        further = np.where(leading > 0, _picked(inner, np.maximum(leading - 1, 0)), good)
        nearer = np.where(leading < width, _picked(inner, np.minimum(leading, width - 1)), bad)
        good, bad = np.where(near, good, further), np.where(near, bad, nearer)
    return good, bad


def _picked(steps: Array, place: Array) -> Array:
    """The step at `place` along the first axis, in each cell."""
    return np.asarray(np.take_along_axis(steps, np.asarray(place)[np.newaxis], axis=0)[0])


def _rounded(values: Array, integer: bool) -> Array:
    return np.rint(values) if integer else to_digits(values)
