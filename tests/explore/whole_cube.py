"""Boxes held against a cube that was made in another way: every value, every label."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from hypothesis import strategies as st

from gridplan.explore.box import Box, Cells, Place

__all__ = ["cells_of", "decoded", "draw_names", "draw_place", "hold_alike"]


def draw_place(data: st.DataObject, cells: Cells) -> Place:
    """A box anywhere, often one label along an axis."""
    place = []
    for axis in cells.axes:
        first = data.draw(st.integers(0, len(axis.labels) - 1), axis.name)
        last = data.draw(st.integers(first, len(axis.labels) - 1)) if data.draw(st.booleans()) else first
        place.append(range(first, last + 1))
    return tuple(place)


def draw_names(data: st.DataObject, cells: Cells) -> list[str]:
    """Some columns, in any order."""
    names = [column.name for column in cells.columns]
    return data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=12), "columns")


def decoded(box: Box, name: str) -> np.ndarray:
    """The values of a column of a box in every cell, text as objects with None for null."""
    (column,) = (item for item in box.columns if item.name == name)
    array = box.arrays[name]
    if column.dtype == "string":
        flat = np.array([*column.categories, None], dtype=object)[array.ravel()]
        array = flat.reshape(array.shape)
    return np.broadcast_to(array, box.shape)


def cells_of(cube: xr.Dataset, name: str, place: Place, axes: list[str]) -> np.ndarray:
    """The values of a variable of a cube in the same cells."""
    item: Any = cube[name]
    own = {axis: slice(at.start, at.stop) for axis, at in zip(axes, place, strict=True)}
    item = item.isel({axis: at for axis, at in own.items() if axis in item.dims})
    item = item.transpose(*(axis for axis in axes if axis in item.dims))
    values = np.asarray(item.values).reshape([item.sizes.get(axis, 1) for axis in axes])
    return np.broadcast_to(values, tuple(map(len, place)))


def hold_alike(box: Box, cube: xr.Dataset, place: Place) -> None:
    """Every label and every value of a box are those of the cube, numbers but for the last bit; null is null."""
    axes = [axis.name for axis in box.axes]
    assert set(axes) == set(map(str, cube.sizes))
    assert box.start == tuple(own.start for own in place)
    for axis, own in zip(box.axes, place, strict=True):
        assert list(axis.labels) == cube[axis.name].values[own.start : own.stop].tolist()
    for column in box.columns:
        own = [len(axis.labels) if axis.name in column.dims else 1 for axis in box.axes]
        assert all(size in (1, most) for size, most in zip(box.arrays[column.name].shape, own, strict=True)), column
        found, due = decoded(box, column.name), cells_of(cube, column.name, place, axes)
        if column.dtype == "string":
            assert found.tolist() == due.tolist(), column.name
        elif column.dtype == "float64":
            # Rates are searched for in many cells at once, and the last bit depends on how many.
            np.testing.assert_allclose(found, due, 1e-12, 0.0, err_msg=column.name)
        else:
            np.testing.assert_array_equal(found, due.astype(float), column.name)
