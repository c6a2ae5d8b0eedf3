"""Two arrays of the same cells: how many differ, by how much at most, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.quantities import format_label

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["NumberChange", "differs", "number_change", "place_text", "whole"]

TOLERANCE = 1e-9
"""Numbers closer than this, relative to the larger, are the same (policy): arithmetic in another order."""

NumberChange = dict[str, Any]

Labels = Mapping[str, tuple[str | float, ...]]


def differs(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two values differ; null equals null, and numbers that agree to `TOLERANCE` are equal.

    >>> differs(np.array([1.0, np.nan, 2.0, np.nan]), np.array([1.0, np.nan, 3.0, 0.0])).tolist()
    [False, False, True, True]
    """
    if a.dtype == object or b.dtype == object:
        return np.asarray(a.astype(object) != b.astype(object))
    gone = np.isnan(a) != np.isnan(b)
    apart = np.abs(a - b) > TOLERANCE * np.maximum(np.abs(a), np.abs(b))
    return np.asarray(gone | apart)


def number_change(a: xr.DataArray, b: xr.DataArray, labels: Labels) -> NumberChange:
    """How a measure changed over the common cells: counts, and the largest change absolute and relative, with labels.

    `cells`, `changed`, `became_null`, `became_number` [cells]; `change` in the unit of the measure and `change_pct` [%]
    of A, each of the largest magnitude, null where no cell has two numbers (or A is 0). `_at` are the labels
    of that cell, `_place` its positions; `null_place` is the first cell where a number came or went.
    """
    left, right = whole(a, labels), whole(b, labels)
    null_a, null_b = np.isnan(left), np.isnan(right)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = np.where(differs(left, right), right - left, np.where(null_a | null_b, np.nan, 0.0))
        share = 100.0 * change / np.abs(left)
    share = np.where(np.isfinite(share), share, np.nan)
    found: NumberChange = {
        "cells": left.size,
        "changed": int(np.count_nonzero(differs(left, right))),
        "became_null": int(np.count_nonzero(~null_a & null_b)),
        "became_number": int(np.count_nonzero(null_a & ~null_b)),
    }
    flipped = np.argwhere(null_a != null_b)
    found["null_place"] = tuple(flipped[0].tolist()) if len(flipped) else None
    for name, values in (("change", change), ("change_pct", share)):
        place = _largest(values)
        found[name] = np.nan if place is None else float(values[place])
        found[f"{name}_place"] = place
        found[f"{name}_at"] = None if place is None else place_text(place, labels)
        found[f"{name}_a"] = np.nan if place is None else float(left[place])
        found[f"{name}_b"] = np.nan if place is None else float(right[place])
    return found


def whole(item: xr.DataArray, labels: Labels) -> NDArray[Any]:
    """Values with an axis for every common dimension."""
    order = [name for name in labels if name in item.dims]
    values = np.asarray(item.transpose(*order).values)
    shape = [len(axis) if name in order else 1 for name, axis in labels.items()]
    return np.broadcast_to(values.reshape(shape), [len(axis) for axis in labels.values()])


def _largest(values: NDArray[Any]) -> tuple[int, ...] | None:
    if np.isnan(values).all():
        return None
    return tuple(int(at) for at in np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape))


def place_text(place: tuple[int, ...], labels: Labels) -> str:
    """A cell by its labels, as `--at` takes them.

    >>> place_text((1, 0), {"gpu": ("h100-sxm", "b200"), "arrival_rate": (5.0,)})
    'gpu=b200,arrival_rate=5'
    """
    pairs = ((name, axis[at]) for (name, axis), at in zip(labels.items(), place, strict=True))
    return ",".join(f"{name}={format_label(label)}" for name, label in pairs)
