"""A grid whose inputs a study moves: samples along one more dimension, or a value of its own for every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid, Shift
from gridplan.engine.resolve import space_of

__all__ = ["Op", "in_cells", "with_samples"]

Op = Literal["set", "multiply", "add"]


def with_samples(grid: Grid, samples: Mapping[str, tuple[Op, NDArray[Any]]]) -> Grid:
    """The grid with a dimension `sample`, outermost, along which inputs are moved together.

    `samples` has for each input what is done to it and one number per sample; NaN leaves the input as it is there.
    """
    (count,) = {len(values) for _, values in samples.values()}
    rank = len(space_of(replace(grid, samples=count)).names)
    shape = (count,) + (1,) * (rank - 1)
    shifts = {name: Shift(op, np.asarray(values, np.float64).reshape(shape)) for name, (op, values) in samples.items()}
    return replace(grid, shifts={**grid.shifts, **shifts}, samples=count)


def in_cells(grid: Grid, values: Mapping[str, tuple[Op, NDArray[Any]]]) -> Grid:
    """The grid with inputs that have a value of their own in each cell.

    `values` has for each input what is done to it and an array with one axis per dimension of the cube, of size 1 where
    it does not depend on it; NaN leaves the input as it is.
    """
    shifts = {name: Shift(op, np.asarray(array, np.float64)) for name, (op, array) in values.items()}
    return replace(grid, shifts={**grid.shifts, **shifts})
