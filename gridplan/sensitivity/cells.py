"""A part of a cube in memory: labels of some axes fixed before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cut_to
from gridplan.engine.columns import plan_columns
from gridplan.engine.evaluate import arrays_of, attributes
from gridplan.engine.field import Field
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError, Problem, suggestion

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["cube_of", "gathered", "inputs_at", "labelled_field", "labels_like", "measure_problems", "refuse"]


def inputs_at(grid: Grid, index: Mapping[str, int]) -> Inputs:
    """The inputs of a grid, resolved over all of it and then cut to the positions of `index`."""
    return cut_to(build_inputs(grid), index)


def cube_of(inputs: Inputs, names: Iterable[str]) -> xr.Dataset:
    """The measures of these inputs as the Dataset that `gridplan.evaluate` makes.

    Raises StoreError if a number is infinite, or a count above 2**53.
    """
    from gridplan.store.cells import check_numbers
    from gridplan.store.dataset import dataset_from_arrays

    plan = plan_columns(inputs, names)
    arrays = arrays_of(inputs, plan)
    check_numbers(plan.layout, arrays)
    return dataset_from_arrays(plan.layout, arrays, attributes(inputs))


def labelled_field(inputs: Inputs, item: Field) -> xr.DataArray:
    """An input as a DataArray on the dimensions it depends on."""
    import xarray as xr

    names = inputs.space.names
    kept = [axis for axis, name in enumerate(names) if item.data.shape[axis] > 1]
    values = item.data.reshape([item.data.shape[axis] for axis in kept])
    coords = {names[axis]: np.array(inputs.space.labels[names[axis]]) for axis in kept}
    return xr.DataArray(values, {name: _axis(labels) for name, labels in coords.items()}, list(coords))


def _axis(labels: np.ndarray) -> np.ndarray:
    return labels if labels.dtype.kind == "f" else labels.astype(object)


def measure_problems(names: Iterable[str]) -> list[Problem]:
    """What is wrong with measures that must be numbers, each with the nearest names."""
    found = []
    for name in names:
        if name not in all_measures():
            found.append(Problem(f"{name} is not a measure{suggestion(name, all_measures())}", key="measures"))
        elif dictionary()[name].is_label:
            found.append(Problem(f"{name} is a label: numbers are compared here", key="measures"))
    return found


def labels_like(item: xr.DataArray, labels: np.ndarray) -> xr.DataArray:
    """Labels, null as None, on the dimensions of another array."""
    import xarray as xr

    # Without the fast path xarray passes objects through a pandas Series, which from pandas 3 on turns None into NaN.
    variable = xr.Variable(item.dims, labels, fastpath=True)
    return xr.DataArray(variable, {name: item.coords[name] for name in item.dims if name in item.coords})


@contextmanager
def gathered(problems: list[Problem]) -> Iterator[None]:
    """Add what is wrong inside to `problems`, so that all of it can be said at once."""
    try:
        yield
    except ContractError as error:
        problems += error.problems


def refuse(problems: list[Problem]) -> None:
    """Raise all problems at once, if there are any."""
    if problems:
        raise ContractError(problems)
