"""Values of one column in one block, checked: codes, numbers and flags as stored, and where there are none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.errors import StoreError
from gridplan.rounding import MAX_EXACT_INT, to_int64
from gridplan.store.blocks import Block
from gridplan.store.columns import Column
from gridplan.store.layout import Layout
from gridplan.store.values import Arrays, axis_values, in_block

__all__ = ["CellValues", "Values", "check_numbers"]

Values = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]
"""Values and, where some are null, which are not (True), on the size-1 axes of the column."""

_NOTHING, _NONE = np.full(1, np.nan), np.zeros(1, dtype=np.bool_)
"""A column without any value in a block, whatever its size: one number, and that it is none."""


class CellValues:
    """Values of the columns of one cube, block by block; labels become arrays once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._labels: dict[str, npt.NDArray[Any]] = {}
        self._kept: dict[str, tuple[npt.NDArray[Any], Values]] = {}
        for at, axis in enumerate(layout.axes):
            own = axis_values(axis, layout.column(axis.name))
            self._labels[axis.name] = own.reshape([-1 if place == at else 1 for place in range(len(layout.axes))])

    def of(self, column: Column, block: Block, arrays: Arrays) -> Values:
        """Values of `column` in `block`, ready to be broadcast to `block.shape` and stored.

        Raises StoreError that names the column and the first cell when values are missing, of the wrong shape,
        infinite, not whole in an int64 column, neither 0 nor 1 in a bool column, or codes without a label.
        """
        layout = self._layout
        if column.role == "axis":
            own = self._labels[column.name]
            return own[in_block(own, block)], None
        if column.role == "rank":
            codes, valid = self.of(layout.column(column.base), block, arrays)
            return codes.astype(np.int64), valid
        kept = self._kept.get(column.name)
        if kept is not None and kept[0] is arrays.get(column.name):
            return kept[1]
        values = _given(layout, column, block, arrays)
        checked = self._checked(column, block, values)
        if not values.flags.writeable:
            # An array that none writes to is the evaluator's own: the next block may bring the same one.
            self._kept[column.name] = values, checked
        return checked

    def _checked(self, column: Column, block: Block, values: npt.NDArray[Any]) -> Values:
        layout = self._layout
        if column.dtype == "string":
            return _codes(layout, column, block, values)
        numbers = values.astype(np.float64, copy=False)
        # Both are NaN where any value is null, and infinite where any is: mostly two quick passes settle it.
        low, high = numbers.min(), numbers.max()
        valid = None if math.isfinite(low) and math.isfinite(high) else _valid(layout, column, block, numbers)
        if valid is not None and not valid.any():
            numbers, valid = _NOTHING.reshape((1,) * numbers.ndim), _NONE.reshape((1,) * numbers.ndim)
        if column.dtype == "float64":
            return numbers, valid
        known = numbers.size if valid is None else int(np.count_nonzero(valid))
        if column.dtype == "bool":
            return _flags(layout, column, block, numbers, known), valid
        largest = max(high, -low) if valid is None else np.fmax.reduce(np.abs(numbers), axis=None, initial=0.0)
        return _whole(layout, column, block, numbers, known, largest), valid


def check_numbers(layout: Layout, arrays: Arrays) -> None:
    """Refuse what no file could hold: infinite values, and counts that float64 does not hold exactly.

    Raises StoreError with the column and the first such cell.
    """
    for column in layout.given:
        if column.dtype == "string" or column.name not in arrays:
            continue
        numbers = arrays[column.name].astype(np.float64, copy=False)
        largest = np.fmax.reduce(numbers, axis=None, initial=0.0)
        if math.isinf(largest):
            _valid(layout, column, layout.block, numbers)
        if column.dtype == "int64" and largest > MAX_EXACT_INT:
            _whole(layout, column, layout.block, numbers, -1, largest)


def _given(layout: Layout, column: Column, block: Block, arrays: Arrays) -> npt.NDArray[Any]:
    values = arrays.get(column.name)
    if values is None:
        raise StoreError(f"column {column.name}: no values were given")
    dims = zip(layout.dims, block.shape, values.shape, strict=False)
    fits = all(size == 1 or (size == full and dim in column.dims) for dim, full, size in dims)
    if values.ndim != len(layout.axes) or not fits:
        raise StoreError(
            f"column {column.name}: values of shape {values.shape} do not fit a block of {block.shape} "
            f"with the dims {column.dims} among {layout.dims}"
        )
    if values.dtype.kind not in ("iu" if column.dtype == "string" else "fiub"):
        raise StoreError(f"column {column.name}: values of type {values.dtype} do not fit {column.dtype}")
    return values


def _codes(layout: Layout, column: Column, block: Block, codes: npt.NDArray[Any]) -> Values:
    wrong = (codes < -1) | (codes >= len(column.categories))
    if wrong.any():
        reason = f"code {codes[wrong][0]} has no label; there are {len(column.categories)}"
        raise _bad_cell(layout, column, block, wrong, reason)
    valid = codes >= 0
    return codes.astype(np.int32, copy=False), None if valid.all() else valid


def _valid(layout: Layout, column: Column, block: Block, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which cells have a value, where some have none."""
    finite = np.isfinite(numbers)
    if np.count_nonzero(finite) + np.count_nonzero(np.isnan(numbers)) != numbers.size:
        reason = "an infinite value; infeasible numbers must be null"
        raise _bad_cell(layout, column, block, np.isinf(numbers), reason)
    return finite


def _flags(
    layout: Layout, column: Column, block: Block, numbers: npt.NDArray[np.float64], known: int
) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = np.asarray(numbers == 1.0)
    if np.count_nonzero(flags) + np.count_nonzero(numbers == 0.0) != known:
        wrong = (numbers != 0.0) & (numbers != 1.0) & ~np.isnan(numbers)
        raise _bad_cell(layout, column, block, wrong, f"{numbers[wrong][0]:g} is neither 0 nor 1")
    return flags


def _whole(
    layout: Layout,
    column: Column,
    block: Block,
    numbers: npt.NDArray[np.float64],
    known: int,
    largest: float,
) -> npt.NDArray[np.int64]:
    with np.errstate(invalid="ignore"):  # a null becomes some number, which is not stored
        whole = np.asarray(numbers.astype(np.int64))
    # What `to_int64` asks, without its copies; where it is not so, that function says why.
    if largest <= MAX_EXACT_INT and np.count_nonzero(whole == numbers) == known:
        return whole
    try:
        return np.asarray(to_int64(numbers, mask=np.isnan(numbers)))
    except (OverflowError, ValueError) as error:
        wrong = ~(np.abs(numbers) <= MAX_EXACT_INT) | (numbers != np.rint(numbers))
        wrong &= ~np.isnan(numbers)
        raise _bad_cell(layout, column, block, wrong, str(error)) from error


def _bad_cell(layout: Layout, column: Column, block: Block, wrong: npt.NDArray[np.bool_], reason: str) -> StoreError:
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = [start + int(at) for start, at in zip(block.start, first, strict=True)]
    return StoreError(f"column {column.name} at {layout.labels_at(place)}: {reason}")
