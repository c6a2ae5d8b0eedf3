"""The cube in memory: one call of the chain over whole dimensions, each quantity on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridplan import chain
from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan, plan_columns
from gridplan.engine.inputs import build_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import xarray as xr

__all__ = ["arrays_of", "attributes", "column_array", "column_arrays", "evaluate"]


def evaluate(grid: Grid, outputs: Iterable[str] | None = None) -> xr.Dataset:
    """Plan every combination of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    outputs
        Names of measures to compute; all by default.

    Returns
    -------
    xarray.Dataset
        One variable per measure on the dimensions it depends on, in the declared order of the axes. Numbers are float64
        with NaN for null (the attribute `dtype` says int64 or bool where they are whole or true/false), labels are text
        or None. Every variable carries unit, long name, formula, source and class.

    Raises
    ------
    ContractError
        If an input is missing, unknown or contradictory, with every problem.
    """
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, outputs)
    from gridplan.store.dataset import dataset_from_arrays

    return dataset_from_arrays(plan.layout, arrays_of(inputs, plan), attributes(inputs))


def arrays_of(inputs: Inputs, plan: Plan) -> dict[str, Array]:
    """Arrays of all given columns over the whole cube, of size 1 along dimensions they do not depend on."""
    values = chain.evaluate(plan.steps, {name: item.data for name, item in inputs.values.items()})
    return column_arrays(plan, values, {name: item.data for name, item in plan.constants.items()})


def column_arrays(plan: Plan, values: Mapping[str, Array], constants: Mapping[str, Array]) -> dict[str, Array]:
    """The chain's arrays under the names of the columns."""
    return {**constants, **{name: column_array(plan, name, values[source]) for name, source in plan.source.items()}}


def column_array(plan: Plan, name: str, array: Array) -> Array:
    """The chain's array behind column `name` as that column holds it."""
    array = np.asarray(array)
    return np.where(array < 0, -1, plan.tie_table[np.maximum(array, 0)]) if name == "binding_ties" else array


def attributes(inputs: Inputs) -> dict[str, str]:
    """What the cube says about itself."""
    from gridplan import __version__

    attrs = {
        "grid": inputs.grid.name,
        "description": inputs.grid.description,
        "grid_sha256": inputs.grid.sha256,
        "gridplan_version": __version__,
    }
    if inputs.warnings:
        attrs["warnings"] = "\n".join(inputs.warnings)
    return {name: text for name, text in attrs.items() if text}
