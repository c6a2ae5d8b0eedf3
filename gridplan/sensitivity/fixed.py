"""A grid with some of its axes fixed at one label, and figures of its cells as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Axis, Grid, Shift
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import label_index
from gridplan.engine.evaluate import evaluate
from gridplan.engine.inputs import build_inputs
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, GridTooLargeError, Problem

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MAX_CELLS", "figures_of", "fixed_at", "inputs_of", "positions", "with_labels"]

Array = NDArray[Any]

MAX_CELLS = 5_000_000
"""Cells of a grid that is asked backwards (policy): each may be planned a few dozen times."""


def inputs_of(grid: Grid) -> Inputs:
    """The inputs of a grid as fields, whether or not they suffice for a plan. Raises ContractError, TypeError."""
    return build_inputs(grid, lenient=True)


def fixed_at(grid: Grid, labels: Mapping[str, str | float]) -> Grid:
    """The grid cut down to the given labels, one each of the axes that are named.

    Raises
    ------
    ContractError
        If an axis is unknown or a label is not on it, with the nearest; for `sample`, which is no axis of a contract.
    """
    if "sample" in labels:
        raise ContractError([Problem("samples of a study cannot be fixed", key="sample")])
    if not labels:
        return grid
    return with_labels(grid, {name: [place] for name, place in label_index(inputs_of(grid), labels).items()})


def positions(grid: Grid, axis: str, labels: Sequence[str | float], key: str) -> list[int]:
    """Positions of labels along one axis, however they are written. Raises ContractError under `key`."""
    found, problems = [], []
    inputs = inputs_of(grid)
    for label in labels:
        try:
            found.append(label_index(inputs, {axis: label})[axis])
        except ContractError as error:
            problems += [replace(problem, key=key) for problem in error.problems]
    if problems:
        raise ContractError(list(dict.fromkeys(problems)))
    return found


def with_labels(grid: Grid, places: Mapping[str, Sequence[int]]) -> Grid:
    """The grid with only the labels at the given positions of each named axis."""
    names = space_of(grid).names

    def kept(values: Array) -> Array:
        for axis, name in enumerate(names):
            if name in places and values.shape[axis] > 1:
                values = values.take(list(places[name]), axis=axis)
        return values

    def axis_of(axis: Axis) -> Axis:
        if axis.name not in places:
            return axis
        return replace(axis, labels=tuple(axis.labels[place] for place in places[axis.name]))

    scenarios, workloads = grid.scenarios, grid.workloads
    if "scenario" in places:
        scenarios = tuple(scenarios[place] for place in places["scenario"])
    if "workload" in places:
        workloads = tuple(workloads[place] for place in places["workload"])
    shifts = {name: Shift(shift.op, kept(shift.values)) for name, shift in grid.shifts.items()}
    return replace(grid, axes=tuple(map(axis_of, grid.axes)), scenarios=scenarios, workloads=workloads, shifts=shifts)


def figures_of(grid: Grid, names: Iterable[str]) -> dict[str, Array]:
    """Measures of a grid as arrays with one axis per dimension of the cube, of size 1 where they do not depend on it.

    Raises
    ------
    GridTooLargeError
        Above MAX_CELLS cells, samples not counted.
    """
    space = space_of(grid)
    wanted = list(dict.fromkeys(names))
    cells = math.prod(space.shape) // max(grid.samples, 1)
    if cells > MAX_CELLS:
        raise GridTooLargeError(
            f"{grid.path}: {cells:,} cells are more than the {MAX_CELLS:,} asked backwards at once; fix an axis"
        )
    cube = evaluate(grid, wanted)
    return {name: spread_out(cube[name], space.names) for name in wanted}


def spread_out(values: xr.DataArray, names: Sequence[str]) -> Array:
    """The values with one axis per name, in that order."""
    ordered = values.transpose(*(name for name in names if name in values.dims))
    return np.asarray(ordered.values[(*(slice(None) if name in values.dims else np.newaxis for name in names), ...)])
