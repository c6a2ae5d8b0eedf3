"""The arrays that a writer is given and a reader gives back: taken apart into blocks and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.store.blocks import Block
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.layout import Layout

__all__ = ["Arrays", "Pairs", "axis_values", "in_block", "put_block", "take_block"]

Arrays = Mapping[str, npt.NDArray[Any]]
"""Coordinates and measures by name: one axis per axis of the cube, size 1 where the column does not depend on it.

Text is integer codes (-1 for null); numbers are float64 with NaN for null; bool is float64 1, 0 or NaN.
"""

Pairs = Iterable[tuple[str, npt.NDArray[Any]]]
"""The same arrays one after another: each may be forgotten before the next one comes."""


def take_block(arrays: Arrays, block: Block) -> Arrays:
    """The part of `arrays` that lies in `block`, without copying; axes of size 1 stay as they are."""
    return {name: values[in_block(values, block)] for name, values in arrays.items()}


def put_block(whole: dict[str, npt.NDArray[Any]], outer: Block, piece: Block, pairs: Pairs, layout: Layout) -> None:
    """Copy the arrays of `piece` to their place in those of `outer`, which come to be with the first piece."""
    own = piece.relative_to(outer)
    for name, values in pairs:
        dims = layout.column(name).dims
        if name not in whole:
            shape = [size if dim in dims else 1 for dim, size in zip(layout.dims, outer.shape, strict=True)]
            whole[name] = np.empty(shape, dtype=values.dtype)
        place = [cells if dim in dims else slice(None) for dim, cells in zip(layout.dims, own.slices, strict=True)]
        whole[name][tuple(place)] = values


def in_block(values: npt.NDArray[Any], block: Block) -> tuple[slice, ...]:
    """Index that takes `block` out of an array of the whole cube, which is of size 1 where it repeats."""
    if values.ndim != len(block.start):
        return ()
    return tuple(slice(None) if size == 1 else own for size, own in zip(values.shape, block.slices, strict=True))


def axis_values(axis: AxisSpec, column: Column) -> npt.NDArray[Any]:
    """Labels of a numeric axis, or the codes 0, 1, 2 ... of a text axis, as a 1-d array of the stored type."""
    if axis.is_text:
        return np.arange(len(axis.labels), dtype=np.int32)
    return np.array(axis.labels, dtype=np.int64 if column.dtype == "int64" else np.float64)
