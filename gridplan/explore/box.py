"""A part of a cube on its own: labels of each axis, columns that are asked for, and their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from gridplan.store.columns import AxisSpec, Column

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.contract.grid import Grid

__all__ = ["Box", "Cells", "Place", "cut_axes", "place_cells", "recoded"]

Place = tuple[range, ...]
"""Positions along each axis of the cube, without steps."""


@dataclass(frozen=True)
class Box:
    """The cells of a cube at the labels of `axes`, which begin at the positions `start` of the whole.

    `arrays` has for each of `columns` an array with one axis per axis of the cube, of size 1 where the column does not
    depend on it: text as codes among its categories (-1 for null), numbers as float64 with NaN for null.
    """

    axes: tuple[AxisSpec, ...]
    columns: tuple[Column, ...]
    arrays: Mapping[str, npt.NDArray[Any]]
    start: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Labels along each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    def dataset(self) -> xr.Dataset:
        """The same as a Dataset, as `gridplan.open_cube` gives it."""
        from gridplan.store.dataset import dataset_from_arrays
        from gridplan.store.layout import make_layout

        return dataset_from_arrays(make_layout(self.axes, self.columns), self.arrays)

    def with_column(self, column: Column, values: npt.NDArray[Any]) -> Box:
        """The box with one more column."""
        return replace(self, columns=(*self.columns, column), arrays={**self.arrays, column.name: values})

    def only(self, names: Sequence[str]) -> Box:
        """The box with the columns of these names alone, in this order."""
        known = {column.name: column for column in self.columns}
        return replace(
            self, columns=tuple(known[name] for name in names), arrays={name: self.arrays[name] for name in names}
        )


class Cells(Protocol):
    """A cube that is asked for boxes of cells: planned as they are asked for, or read from a folder."""

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in declared order."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns that can be asked for: coordinates, then measures; text with its categories."""

    @property
    def grid(self) -> Grid | None:
        """The contract, where it can be planned anew."""

    @property
    def hidden(self) -> frozenset[str]:
        """Columns that are no part of the cube, and are known beside it."""

    def box(self, place: Place, names: Sequence[str]) -> Box:
        """The cells at `place` with the columns of these names, all of which are known."""


def place_cells(place: Place) -> int:
    """Cells at a place."""
    return math.prod(map(len, place))


def cut_axes(axes: Sequence[AxisSpec], place: Place) -> tuple[AxisSpec, ...]:
    """The axes with their labels at a place alone."""
    return tuple(replace(axis, labels=axis.labels[own.start : own.stop]) for axis, own in zip(axes, place, strict=True))


def recoded(codes: npt.NDArray[Any], own: Sequence[str], whole: Sequence[str]) -> npt.NDArray[np.int32]:
    """Codes among other categories, -1 for null; every label is among them.

    >>> recoded(np.array([0, -1, 1]), ("b", "a"), ("a", "b", "c")).tolist()
    [1, -1, 0]
    """
    place = {label: code for code, label in enumerate(whole)}
    table = np.array([*(place[label] for label in own), -1], dtype=np.int32)
    found: npt.NDArray[np.int32] = table[codes]
    return found
