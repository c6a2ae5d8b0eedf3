"""Values of one column in one block, checked: codes, numbers and flags as stored, and where they are null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.errors import StoreError
from gridplan.rounding import to_int64
from gridplan.store.blocks import Block
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.layout import Layout

__all__ = ["Arrays", "axis_values", "column_values", "take_block"]

Arrays = Mapping[str, npt.NDArray[Any]]
"""Coordinates and measures by name: one axis per axis of the cube, size 1 where the column does not depend on it.

Text is integer codes (-1 for null); numbers are float64 with NaN for null; bool is float64 1, 0 or NaN.
"""

Values = tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]
"""Values and, where there are any, the nulls among them (True), on the size-1 axes of the column."""


def take_block(arrays: Arrays, block: Block) -> Arrays:
    """The part of `arrays` that lies in `block`, without copying; axes of size 1 stay as they are."""
    return {name: values[_index(values, block)] for name, values in arrays.items()}


def _index(values: npt.NDArray[Any], block: Block) -> tuple[slice, ...]:
    if values.ndim != len(block.start):
        return ()
    return tuple(slice(None) if size == 1 else own for size, own in zip(values.shape, block.slices, strict=True))


def axis_values(axis: AxisSpec, column: Column) -> npt.NDArray[Any]:
    """Labels of a numeric axis, or the codes 0, 1, 2 ... of a text axis, as a 1-d array of the stored type."""
    if axis.is_text:
        return np.arange(len(axis.labels), dtype=np.int32)
    return np.array(axis.labels, dtype=np.int64 if column.dtype == "int64" else np.float64)


def column_values(layout: Layout, column: Column, block: Block, arrays: Arrays) -> Values:
    """Values of `column` in `block`, ready to be broadcast to `block.shape` and stored.

    Raises StoreError that names the column and the first cell when values are missing, of the wrong shape, infinite,
    not whole in an int64 column, neither 0 nor 1 in a bool column, or codes without a label.
    """
    if column.role == "axis":
        at = layout.dims.index(column.name)
        own = axis_values(layout.axes[at], column)[block.start[at] : block.stop[at]]
        return own.reshape([-1 if place == at else 1 for place in range(len(layout.axes))]), None
    if column.role == "rank":
        codes, nulls = column_values(layout, layout.column(column.base), block, arrays)
        return codes.astype(np.int64), nulls
    values = _given(layout, column, block, arrays)
    if column.dtype == "string":
        return _codes(layout, column, block, values)
    numbers = values.astype(np.float64, copy=False)
    nulls = _nulls(layout, column, block, numbers)
    if column.dtype == "float64":
        return numbers, nulls
    if column.dtype == "bool":
        return _flags(layout, column, block, numbers, nulls)
    try:
        return to_int64(numbers, mask=nulls), nulls
    except (OverflowError, ValueError) as error:
        wrong = ~(np.abs(numbers) <= 2.0**53) | (numbers != np.rint(numbers))
        wrong &= ~np.isnan(numbers)
        raise _bad_cell(layout, column, block, wrong, str(error)) from error


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
    nulls = codes < 0
    return codes.astype(np.int32, copy=False), nulls if nulls.any() else None


def _nulls(
    layout: Layout, column: Column, block: Block, numbers: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_] | None:
    finite = np.isfinite(numbers)
    if finite.all():
        return None
    nulls = np.isnan(numbers)
    if np.count_nonzero(finite) + np.count_nonzero(nulls) != numbers.size:
        reason = "an infinite value; infeasible numbers must be null"
        raise _bad_cell(layout, column, block, np.isinf(numbers), reason)
    return nulls


def _flags(
    layout: Layout,
    column: Column,
    block: Block,
    numbers: npt.NDArray[np.float64],
    nulls: npt.NDArray[np.bool_] | None,
) -> Values:
    wrong = (numbers != 0.0) & (numbers != 1.0)
    if nulls is not None:
        wrong &= ~nulls
    if wrong.any():
        raise _bad_cell(layout, column, block, wrong, f"{numbers[wrong][0]:g} is neither 0 nor 1")
    return numbers == 1.0, nulls


def _bad_cell(layout: Layout, column: Column, block: Block, wrong: npt.NDArray[np.bool_], reason: str) -> StoreError:
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = [start + int(at) for start, at in zip(block.start, first, strict=True)]
    return StoreError(f"column {column.name} at {layout.labels_at(place)}: {reason}")
