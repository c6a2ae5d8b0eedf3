"""The table of a measure's indices by axis: one row an axis, with the labels that move it most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.dictionary import dictionary
from gridplan.quantities import format_label
from gridplan.sensitivity.factorial import AxisShares
from gridplan.sensitivity.flips import codes_of, flips_along

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Labels", "add_flips", "axis_table", "labels_of"]

Labels = Mapping[str, Sequence[Any]]


def labels_of(cube: xr.Dataset | xr.DataArray) -> dict[str, list[Any]]:
    """Labels of every dimension, numbered where it has none: of an array in its order, of a cube as declared."""
    named = [name for name in cube.coords if name in cube.sizes] if hasattr(cube, "data_vars") else []
    return {
        name: cube[name].values.tolist() if name in cube.coords else list(range(cube.sizes[name]))
        for name in dict.fromkeys([*map(str, named), *map(str, cube.sizes)])
    }


def axis_table(shares: AxisShares, values: xr.DataArray, own: Labels, axes: Labels, of: str) -> xr.Dataset:
    """One row for each of `axes`; those that the values do not stand on have indices of 0."""
    import xarray as xr

    name = "measure" if values.name is None else str(values.name)
    unit = "1" if of == "has_value" else str(values.attrs.get("unit") or getattr(dictionary().get(name), "unit", ""))
    place = {axis: at for at, axis in enumerate(own)}
    columns: dict[str, list[Any]] = {title: [] for title in _TITLES}
    for axis in axes:
        at = place.get(axis)
        known = at is not None and not np.isnan(shares.conditional_mean[at]).all()
        means = shares.conditional_mean[at] if at is not None and known else np.array([shares.mean])
        low, high = (int(find(means)) for find in (np.nanargmin, np.nanargmax)) if not np.isnan(means).all() else (0, 0)
        first, total = (0.0, 0.0) if at is None else (shares.first_order[at], shares.total[at])
        moves = known and total > 0
        ends = (format_label(own[axis][low]), format_label(own[axis][high])) if moves else (None, None)
        swing = means[high] - means[low] if moves else 0.0 * means[low]
        row = (first, total, total - first, ends[0], means[low], ends[1], means[high], swing)
        for title, entry in zip(columns, row, strict=True):
            columns[title].append(entry)
    variables = {
        title: _variable(np.array(entries, dtype=object if title.endswith("label") else np.float64), _meta(title, unit))
        for title, entries in columns.items()
    }
    attrs = {
        "measure": name,
        "of": of,
        "unit": unit,
        "mean": shares.mean,
        "sd": math.sqrt(shares.variance) if shares.variance >= 0 else math.nan,
        "cells": int(values.size),
        "null_share": shares.null_share,
        "warnings": "\n".join(_warnings(name, shares)),
    }
    return xr.Dataset(variables, {"axis": np.array(list(axes), dtype=object)}, attrs)


_TITLES = {
    "first_order": "share of the variance that the label of the axis alone explains",
    "total": "share of the variance that is left when all other labels are known",
    "interaction": "total - first_order",
    "lowest_label": "label with the lowest mean",
    "lowest_mean": "lowest mean of the measure given a label",
    "highest_label": "label with the highest mean",
    "highest_mean": "highest mean of the measure given a label",
    "swing": "highest_mean - lowest_mean",
}


def _variable(values: np.ndarray, about: dict[str, str]) -> xr.Variable:
    import xarray as xr

    # Without the fast path xarray passes objects through a pandas Series, which from pandas 3 on turns None into NaN.
    return xr.Variable(("axis",), values, about, fastpath=True)


def _meta(title: str, unit: str) -> dict[str, str]:
    shown = "label" if title.endswith("label") else unit if title in ("lowest_mean", "highest_mean", "swing") else "1"
    return {"unit": shown, "long_name": _TITLES[title]}


def _warnings(name: str, shares: AxisShares) -> list[str]:
    if np.isnan(shares.mean):
        return [f"no cell has a value of {name}"]
    said = []
    if shares.null_share > 0:
        said.append(
            f"{shares.null_share:.1%} of the weight is on cells without {name}: indices and means are of the others. "
            "The axes are not independent there, so indices need not add up, interaction may be negative, and means of "
            "two labels may be over different combinations of the other axes"
        )
    if shares.variance == 0:
        said.append(f"{name} is the same in every cell that has one")
    return said


def add_flips(found: xr.Dataset, binding: xr.DataArray, axes: Labels) -> None:
    """The columns on changes of the binding constraint."""
    codes = codes_of(binding.values)
    share: list[float] = []
    steps: list[str | None] = []
    for axis, labels in axes.items():
        if axis not in binding.dims:
            share.append(0.0)
            steps.append(None)
            continue
        flips = flips_along(codes, binding.dims.index(axis))
        share.append(flips.share)
        numbers = not isinstance(labels[0], str) and bool(np.nan_to_num(flips.step).any())
        at = int(np.nanargmax(flips.step)) if numbers else 0
        steps.append(f"{format_label(labels[at])} and {format_label(labels[at + 1])}" if numbers else None)
    about = {"unit": "1", "long_name": "share of cells along whose line the binding constraint changes"}
    found["binding_changes_share"] = ("axis", np.array(share), about)
    between = {"unit": "label", "long_name": "neighbouring labels between which it changes most often"}
    found["binding_changes_at"] = _variable(np.array(steps, dtype=object), between)
