"""Figures of fleets as a Dataset: each on its own dimensions, labels instead of codes, with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gridplan.chain.codes import choices
from gridplan.chain.graph import Array
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.store.columns import dictionary_meta

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Figure", "fleet_dataset"]

_NAMES = ("instance", "gpu", "model", "engine")
"""Labels that stand beside the figures as coordinates where they are no axis."""


class Figure(NamedTuple):
    """An array with one axis per dimension of the grid, then one per name of `more`; `dims` are those it depends on.

    Text stands as labels or, where the dictionary lists the choices, as codes.
    """

    data: Array
    dims: frozenset[str]
    more: tuple[str, ...] = ()


def fleet_dataset(
    inputs: Inputs, found: Mapping[str, Figure], more: Mapping[str, Sequence[Any]], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Figures by the names of the dictionary; `more` has the labels of dimensions that the grid has not."""
    import xarray as xr

    space = inputs.space

    def variable(name: str, figure: Figure) -> xr.Variable:
        own, rank = [each for each in space.names if each in figure.dims], len(space.names)
        full = tuple(len(space.labels[each]) if each in own else 1 for each in space.names)
        tail = figure.data.shape[rank:]
        values = np.array(np.broadcast_to(figure.data, full + tail))
        values = values.reshape((*(len(space.labels[each]) for each in own), *tail))
        meta, row = dict(dictionary_meta(name)), dictionary()[name]
        if row.is_label and values.dtype != object:
            values = _labelled(name, values)
        elif row.dtype in ("int64", "bool"):
            meta["dtype"] = row.dtype
        # Without the fast path xarray passes objects through pandas, which may turn None into NaN.
        return xr.Variable((*own, *figure.more), values, meta, fastpath=True)

    variables = {name: variable(name, figure) for name, figure in found.items()}
    used = {dim for item in variables.values() for dim in item.dims}
    coords: dict[str, Any] = {}
    for name, labels in (*space.labels.items(), *more.items()):
        if name in used:
            coords[name] = np.array(labels, dtype=object if isinstance(labels[0], str) else np.float64)
    for name in _NAMES:
        item = inputs.labels[name]
        varied = frozenset(each for each in item.dims if len(space.labels[each]) > 1)
        if name not in coords and varied <= used and any(label is not None for label in item.unique):
            coords[name] = variable(name, Figure(item.data, varied))
    return xr.Dataset(variables, coords, dict(attrs))


def _labelled(name: str, codes: Array) -> Array:
    """Codes as labels, None for null."""
    labels = (*choices(name), None)  # null is -1, the last
    result = np.empty(codes.shape, dtype=object)
    result.ravel()[:] = [labels[int(code)] for code in codes.ravel().tolist()]
    return result
