"""The one owner of rounding: whole replicas, sequences, blocks and nodes from float64 arithmetic.

Decimal inputs have no exact binary form, so a quotient that is a whole number on paper comes out a few units of the
last place above or below it, and a plain `ceil` or `floor` then buys one replica too many or loses one sequence
(`ceil(2.1 / 0.7)` is 4). Every step from a real number to a count in gridplan goes through this module, which treats a
value within a relative 1e-14 of a whole number as that number. That is wide enough for dozens of roundings of float64
and narrow enough to keep every quotient of decimals apart whose numerator, counted in its last decimal, is below 1e14.

All functions take scalars, NumPy arrays or labelled arrays that answer NumPy's ufuncs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ceil_exact", "floor_exact", "floor_ratio", "round_label", "to_int64"]

RELATIVE_GUARD = 1e-14
"""Share of a value by which it may miss a whole number and still be that number (policy)."""

CANCELLATION_GUARD = 2.0**-50
"""Error of a float64 sum of a few terms per unit of their absolute sum: four half-units of the last place (policy)."""

MAX_GUARD = 0.49
"""No guard reaches the next whole number, however large the value is (policy)."""

MAX_EXACT_INT = 2.0**53
"""Above this, float64 no longer holds every whole number (fact, IEEE 754 binary64)."""

LABEL_DIGITS = 12
"""Significant digits of a numeric axis label (policy)."""


def ceil_exact(x: Any, rtol: float = RELATIVE_GUARD) -> Any:
    """Smallest whole number not below `x`, where a value within `rtol` above a whole number is that number.

    `x` is a scalar, an array or a labelled array [any unit]; the result is of the same kind, float64, never -0.0. NaN
    and infinities stay.

    >>> ceil_exact(2.1 / 0.7), ceil_exact(21 / 0.7), ceil_exact(3.01)
    (3.0, 30.0, 4.0)
    """
    return _guarded(np.ceil, x, rtol, -1.0)


def floor_exact(x: Any, rtol: float = RELATIVE_GUARD) -> Any:
    """Largest whole number not above `x`, where a value within `rtol` below a whole number is that number.

    `x` is a scalar, an array or a labelled array [any unit]; the result is of the same kind, float64, never -0.0. NaN
    and infinities stay.

    >>> floor_exact(0.6 / 0.05), floor_exact(0.9 * 46 / 0.1), floor_exact(2.99)
    (12.0, 414.0, 2.0)
    """
    return _guarded(np.floor, x, rtol, 1.0)


def floor_ratio(numerator: Any, divisor: Any, magnitude: Any) -> Any:
    """Largest whole number not above `numerator / divisor`, for a numerator that is a sum or difference of terms.

    A difference keeps the absolute error of its terms, so a relative guard alone is too small when they nearly cancel.
    `magnitude` is the sum of the absolute terms [unit of numerator]; the guard is `2**-50 * magnitude / divisor` plus
    the relative one of `floor_exact`. All three broadcast.

    >>> pool = 512.3 - 512.2 - 0.05                # 0.05 on paper, 0.0499999999999 in float64
    >>> floor_ratio(pool, 0.05, 512.3 + 512.2 + 0.05), floor_exact(pool / 0.05)
    (1.0, 0.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.divide(numerator, divisor)
        guard = np.multiply(np.divide(np.abs(magnitude), np.abs(divisor)), CANCELLATION_GUARD)
    guard = np.minimum(guard + np.abs(quotient) * RELATIVE_GUARD, MAX_GUARD)
    # An infinite guard on an infinite quotient would be NaN; MAX_GUARD keeps inf + guard infinite.
    result = np.floor(quotient + guard) + 0.0
    return float(result) if isinstance(result, np.generic) else result


def to_int64(x: Any, mask: Any = None) -> Any:
    """Whole float64 values as int64, refusing everything that a cast would silently wrap or cut.

    `x` is a scalar or an array of whole numbers; `mask` broadcasts to `x` and is True where the value is null: there
    the result is 0 and `x` may be anything. A scalar gives a Python int, an array an int64 array.

    Raises OverflowError when a value exceeds 2**53, naming the largest, and ValueError for NaN, an infinity or a value
    that is not whole outside `mask`.

    >>> to_int64(30.0)
    30
    >>> to_int64(np.array([1.0, np.nan]), mask=np.array([False, True]))
    array([1, 0])
    """
    values = np.asarray(x)
    if np.issubdtype(values.dtype, np.integer) and values.dtype != np.uint64 and mask is None:
        whole = values.astype(np.int64)
    else:
        whole = _checked_int64(values.astype(np.float64, copy=False), mask)
    if hasattr(x, "dims"):
        return x.copy(data=whole)
    return whole if isinstance(x, np.ndarray) else (int(whole) if whole.ndim == 0 else whole)


def round_label(x: Any) -> Any:
    """Numeric axis labels rounded to 12 significant digits, so that equal labels are equal bit by bit.

    A scalar gives a Python float, a sequence or an array a float64 array of the same shape.

    >>> round_label(0.1 + 0.2), round_label([0.7, 0.1 * 3]).tolist()
    (0.3, [0.7, 0.3])
    """
    values = np.asarray(x, dtype=np.float64)
    rounded = [float(f"{value:.{LABEL_DIGITS}g}") + 0.0 for value in values.ravel().tolist()]
    return rounded[0] if values.ndim == 0 else np.array(rounded, dtype=np.float64).reshape(values.shape)


def _guarded(rounder: np.ufunc, x: Any, rtol: float, sign: float) -> Any:
    if type(x) is np.ndarray and x.ndim > 0 and x.dtype.char == "d":
        # One buffer for all passes: this runs on every block of a cube.
        out: npt.NDArray[np.float64] = x * rtol
        np.abs(out, out=out)
        np.minimum(out, MAX_GUARD, out=out)
        if rounder is np.floor:
            # A guard is never -0.0, so neither is a sum with it nor its floor.
            np.add(x, out, out=out)
            return np.floor(out, out=out)
        np.subtract(x, out, out=out)
        np.ceil(out, out=out)
        out += 0.0
        return out
    values = x if hasattr(x, "dims") else np.asarray(x, dtype=np.float64)
    result = rounder(values + np.minimum(np.abs(values) * rtol, MAX_GUARD) * sign) + 0.0
    return float(result) if isinstance(result, np.generic) and not isinstance(x, np.ndarray) else result


def _checked_int64(values: npt.NDArray[np.float64], mask: Any) -> npt.NDArray[np.int64]:
    if mask is not None:
        values = np.where(np.asarray(mask), 0.0, values)
    largest = np.max(np.abs(values), initial=0.0)
    if not np.isfinite(largest):
        count = int(np.count_nonzero(~np.isfinite(values)))
        raise ValueError(f"{count} of {values.size} values are NaN or infinite and not masked: no int64 for them")
    if largest > MAX_EXACT_INT:
        worst = values.ravel()[np.argmax(np.abs(values))]
        raise OverflowError(f"{worst:.17g} is above 2**53, so float64 does not hold it exactly as a whole number")
    whole = values.astype(np.int64)
    if not np.array_equal(whole, values):
        broken = values[whole != values].ravel()[0]
        raise ValueError(f"{broken:.17g} is not a whole number")
    return whole
