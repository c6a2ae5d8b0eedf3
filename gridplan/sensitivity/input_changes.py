"""Which inputs differ between two sides, by the value that each cell uses, and where the values come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cell_index
from gridplan.engine.field import Field
from gridplan.sensitivity.cells import labelled_field
from gridplan.sensitivity.changes import differs, place_text, whole
from gridplan.sensitivity.one_cell import values_of
from gridplan.sensitivity.sides import Common, Side

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["input_changes", "origin_text"]

_LENGTHS = ("prompt_tokens", "output_tokens")
COLUMNS = ["input", "unit", "cells", "changed", "a", "b", "a_source", "b_source", "at"]


def input_changes(left: Side, right: Side, common: Common, cubes: list[xr.Dataset]) -> pd.DataFrame:
    """A row per input that differs in some common cell; of a cube those inputs that stand in it as coordinates."""
    import pandas as pd

    sides = (left, right)
    found = [_inputs(side, cube, common, fixed) for side, cube, fixed in zip(sides, cubes, common.fixed, strict=True)]
    rows = []
    for name in found[0]:
        if name not in found[1] or name in common.labels:
            continue
        a, b = (whole(part[name], common.labels) for part in found)
        apart = np.argwhere(differs(a, b))
        if not len(apart):
            continue
        place = tuple(apart[0].tolist())
        at = place_text(place, common.labels) if common.labels else ""
        labels = {axis: common.labels[axis][where] for axis, where in zip(common.labels, place, strict=True)}
        sources = [
            origin_text(side.inputs, name, {**fixed, **labels}) for side, fixed in zip(sides, common.fixed, strict=True)
        ]
        row = dictionary().get(name)
        unit = row.unit if row is not None else "1"
        rows.append((name, unit, a.size, len(apart), a[place], b[place], *sources, at))
    return pd.DataFrame(rows, columns=COLUMNS)


def _inputs(side: Side, cube: xr.Dataset, common: Common, fixed: Mapping[str, str | float]) -> dict[str, xr.DataArray]:
    """Effective values of the inputs on the common cells."""
    if side.inputs is None:
        cut = {axis: (labels[0],) if axis in fixed else labels for axis, labels in side.labels.items()}
        return {
            str(name): common.of(item.reset_coords(drop=True), cut)
            for name, item in cube.coords.items()
            if name not in cube.dims or name in fixed
        }
    inputs, axes = side.inputs, side.labels
    found = {}
    for name, item in inputs.stated.items():
        if name in _LENGTHS:
            values = values_of(inputs, name)
            item = Field(values, item.dims)
        elif item.data.dtype != object and np.isnan(item.data).all() and name in inputs.values:
            item = inputs.values[name]
        if item.data.ndim == len(axes):
            found[name] = _selected(labelled_field(inputs, item), common, side, fixed)
    return found


def _selected(item: xr.DataArray, common: Common, side: Side, fixed: Mapping[str, str | float]) -> xr.DataArray:
    held = item.isel({name: at for name, at in side.positions(fixed).items() if name in item.dims})
    return common.of(held.reset_coords(drop=True), side.labels)


def origin_text(inputs: Inputs | None, name: str, labels: Mapping[str, str | float]) -> str:
    """Where a value comes from: class, provider, source, date."""
    if inputs is None:
        return "cube"
    if name not in inputs.origins:
        return ""
    origin = inputs.origins[name](cell_index(inputs, labels))
    parts = (origin.cls, origin.provider, origin.source if origin.source != origin.provider else "", origin.as_of)
    return ", ".join(part for part in parts if part)
