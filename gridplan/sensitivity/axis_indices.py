"""Which axis of a cube explains a measure: Sobol indices by axis, the labels that move it most, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures
from gridplan.engine.cell import label_positions
from gridplan.engine.evaluate import evaluate
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import format_labels
from gridplan.sensitivity.axis_table import Labels, add_flips, axis_table, labels_of
from gridplan.sensitivity.axis_weights import AxisWeights, weights_of
from gridplan.sensitivity.cut_grid import grid_at
from gridplan.sensitivity.factorial import AxisShares, axis_shares

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["axis_indices", "factorial_indices"]

Of = Literal["value", "has_value"]

BINDING = "binding_constraint"


def factorial_indices(values: xr.DataArray, weights: AxisWeights | None = None, *, of: Of = "value") -> xr.Dataset:
    """Exact first-order and total Sobol indices of a measure by the dimensions it stands on.

    Parameters
    ----------
    values
        A measure of a cube on its own dimensions; NaN is a cell without a value.
    weights
        For some dimensions the weights of their labels: a list in their order, or a mapping from every label. Scaled
        to add up to 1; all labels alike by default.
    of
        `value`: the variance of the values, of the cells that have one. `has_value`: that of 1 where a cell has a
        value and 0 where not: which axis decides whether a plan exists.

    Returns
    -------
    xarray.Dataset
        On `axis`: `first_order`, `total`, `interaction` (the difference), the labels of `lowest_mean` and
        `highest_mean`, the lowest and highest mean given a label, and `swing` between the two, in the unit of the
        measure. Attributes: `measure`, `unit`, `mean`, `sd`, `cells`, `null_share` (probability of cells without a
        value) and `warnings`.

    Raises
    ------
    ContractError
        For a measure that is text or infinite somewhere, and for wrong weights, with every problem.

    Examples
    --------
    >>> import xarray as xr
    >>> nodes = xr.DataArray([[2.0, 4.0], [6.0, 8.0]], {"gpu": ["b200", "h100"], "rho": [0.9, 0.5]}, ["gpu", "rho"])
    >>> found = factorial_indices(nodes)
    >>> found.first_order.values.round(12).tolist(), found.swing.values.tolist(), found.highest_label.values.tolist()
    ([0.8, 0.2], [4.0, 2.0], ['h100', '0.5'])
    """
    labels = labels_of(values)
    return axis_table(_shares(values, labels, weights, of), values, labels, labels, of)


def axis_indices(
    source: Grid | xr.Dataset,
    measure: str,
    *,
    weights: AxisWeights | None = None,
    at: Mapping[str, str | float] | None = None,
    of: Of = "value",
) -> xr.Dataset:
    """Which axis of a grid or of a cube explains a measure, and along which the binding constraint changes.

    As `factorial_indices`, for every axis with more than one label: axes that the measure does not depend on have 0.

    Parameters
    ----------
    source
        A contract, of which nothing but the measure and `binding_constraint` is planned, or a cube that holds them.
    measure
        Its name.
    weights, of
        As for `factorial_indices`.
    at
        Labels at which other axes are fixed.

    Returns
    -------
    xarray.Dataset
        That of `factorial_indices` with, where the cube has `binding_constraint`, `binding_changes_share`: the share
        of cells (with a plan, counted alike) on lines along the axis on which it takes more than one label; and
        `binding_changes_at`: the two neighbouring labels of an axis of numbers between which it changes most often.

    Raises
    ------
    ContractError
        For an unknown measure, axis or label, with the nearest names, and as `factorial_indices`.
    """
    cube, fixed = _planned(source, measure, at or {})
    labels = {name: held for name, held in labels_of(cube).items() if len(held) > 1}
    if not labels:
        said = "no axis with more than one label is left: nothing varies"
        raise ContractError([Problem(said, key="at" if fixed else "axes")])
    values = cube[measure]
    own = labels_of(values)
    # Weights of an axis that the measure does not stand on change nothing, and are checked all the same.
    kept = {name: given.tolist() for name, given in weights_of(weights, labels).items() if name in own}
    found = axis_table(_shares(values, own, kept, of), values, own, labels, of)
    if BINDING in cube:
        add_flips(found, cube[BINDING], labels)
    cells = math.prod(cube.sizes.values())
    warnings = [*str(cube.attrs.get("warnings", "")).splitlines(), *str(found.attrs["warnings"]).splitlines()]
    shown = format_labels(fixed.items())
    return found.assign_attrs(
        {**found.attrs, "cells": cells, "warnings": "\n".join(warnings), **({"at": shown} if shown else {})}
    )


def _planned(
    source: Grid | xr.Dataset, measure: str, at: Mapping[str, str | float]
) -> tuple[xr.Dataset, Mapping[str, Any]]:
    """The measure and the binding constraint at the labels asked for, without the axes that are fixed."""
    if isinstance(source, Grid):
        if measure not in all_measures():
            raise ContractError(
                [Problem(f"{measure} is not a measure{suggestion(measure, all_measures())}", key="measure")]
            )
        grid, fixed = grid_at(source, at)
        cube = evaluate(grid, dict.fromkeys([measure, BINDING]))
        if fixed:  # a grid that is cut may warn of labels that it lacks, and its cells are not all
            cube.attrs["warnings"] = "\n".join(build_inputs(source).warnings)
        return cube.isel(dict.fromkeys(fixed, 0), drop=True), fixed
    known = [str(name) for name in source.data_vars]
    if measure not in known:
        raise ContractError([Problem(f"the cube holds no {measure}{suggestion(measure, known)}", key="measure")])
    held = labels_of(source)
    index = label_positions(held, at)
    fixed = {name: held[name][place] for name, place in index.items()}
    cube = source.drop_vars([name for name in known if name not in (measure, BINDING)])
    return cube.isel(index, drop=True).compute(), fixed


def _shares(values: xr.DataArray, labels: Labels, weights: AxisWeights | None, of: Of) -> AxisShares:
    name = "measure" if values.name is None else str(values.name)
    if of not in ("value", "has_value"):
        raise ContractError([Problem(f"of is value or has_value, not {of}", key="of")])
    listed = weights_of(weights, labels)
    by_axis = [listed.get(name) for name in labels]
    if of == "has_value":
        return axis_shares(values.notnull().values.astype(np.float64), by_axis)
    if values.dtype.kind not in "biuf":
        said = f"{name} is text and has no variance; of='has_value' asks whether it has a value"
        raise ContractError([Problem(said, key="measure")])
    try:
        return axis_shares(values.values, by_axis)
    except ValueError as error:
        raise ContractError([Problem(f"{name}: {error}", key="measure")]) from None
