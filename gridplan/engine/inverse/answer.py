"""Answers of all cells as a Dataset: folded to the axes that are asked for, labels instead of codes, with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.chain.codes import NULL, choices
from gridplan.chain.graph import Array
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.inverse.context import UNLIMITED
from gridplan.store.columns import dictionary_meta

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["dataset_of", "folded"]

_NAMES = ("instance", "gpu", "model", "engine")
"""Labels that stand beside an answer as coordinates where they are no axis."""


def folded(
    found: Mapping[str, Array], answer: str, axes: Mapping[str, Sequence[Any]], dims: Sequence[str], keep: Sequence[str]
) -> dict[str, Array]:
    """One cell of each combination of `keep`: its answer, all that belongs to it, and its other labels.

    Of what nobody chooses (scenarios, workloads, lengths: inputs that are no policy) the cell with the worst answer
    stands, `worst_<axis>`: what is promised holds in all. Of what is chosen the best one of those, `best_<axis>`. Of
    equal answers, and where there is none, what a replica holds decides, then the first in declared order. All arrays
    have one axis per name of `axes`.
    """
    gone = [name for name in dims if name not in keep]
    chosen = [name for name in gone if _is_chosen(name)]
    whole = dict(zip(found, np.broadcast_arrays(*found.values()), strict=True))
    for sense, names in ((-1.0, [name for name in gone if name not in chosen]), (1.0, chosen)):
        if names:
            keys = [sense * key for key in _goodness(whole, answer)]
            whole = _one_of_each(whole, keys, axes, names, "best" if sense > 0 else "worst")
    return whole


def _is_chosen(axis: str) -> bool:
    return axis not in ("scenario", "workload") and dictionary()[axis].cls == "policy"


def _goodness(found: Mapping[str, Array], answer: str) -> list[Array]:
    """Keys, the first decides: the larger the better. The answer; what is held at it, or where there is none at the
    value that fails; how far a cell without an answer came, for reasons are listed in that order."""
    value = found[answer] if answer.startswith("max_") else -found[answer]
    reason = found["no_answer_reason"]
    value = np.where(reason == UNLIMITED, np.inf, value)
    none = np.isnan(value)
    unknown = np.full(value.shape, np.nan)
    held = np.where(none, found.get("concurrency_at_failure", unknown), found.get("concurrency_at_answer", unknown))
    return [np.where(none, -np.inf, value), np.where(np.isnan(held), -1.0, held), np.where(none, reason, 0.0)]


def _one_of_each(
    found: Mapping[str, Array], keys: Sequence[Array], axes: Mapping[str, Sequence[Any]], gone: Sequence[str], head: str
) -> dict[str, Array]:
    """The cell of the largest keys along the axes `gone`, and its labels along them as `<head>_<axis>`."""
    names = list(axes)
    places = sorted(names.index(name) for name in gone)
    rest = len(names) - len(places)

    def flat(item: Array) -> Array:
        moved = np.moveaxis(item, places, range(-len(places), 0))
        return moved.reshape(*moved.shape[:rest], -1)

    shape = [keys[0].shape[place] for place in places]
    open_ = np.ones(flat(keys[0]).shape, dtype=bool)
    for key in map(flat, keys):
        open_ &= key == np.where(open_, key, -np.inf).max(axis=-1, keepdims=True)
    where = np.argmax(open_, axis=-1)[..., np.newaxis]
    result = {
        name: np.expand_dims(np.take_along_axis(flat(item), where, axis=-1)[..., 0], places)
        for name, item in found.items()
    }
    for place, index in zip(places, np.unravel_index(where[..., 0], shape), strict=True):
        labels = axes[names[place]]
        values = np.array(labels, dtype=object if isinstance(labels[0], str) else np.float64)
        result[f"{head}_{names[place]}"] = np.expand_dims(values[index, ...], places)  # an array, of one label too
    return result


def dataset_of(inputs: Inputs, found: Mapping[str, Array], dims: Sequence[str], attrs: Mapping[str, Any]) -> xr.Dataset:
    """Arrays with one axis per dimension of the grid as variables on `dims`."""
    import xarray as xr

    space = inputs.space
    sizes = [len(space.labels[name]) for name in dims]

    def variable(name: str, values: Array) -> xr.Variable:
        full = tuple(len(space.labels[each]) if each in dims else 1 for each in space.names)
        own = np.array(np.broadcast_to(values, full)).reshape([*sizes])
        row = name.removeprefix("best_").removeprefix("worst_")
        meta = dict(dictionary_meta(row))
        if row != name:
            meta["long_name"] = f"{meta['long_name']} of the {name.partition('_')[0]} cell"
        if own.dtype != object and dictionary()[row].is_label:
            own = _labelled(row, own)
        elif own.dtype != object and dictionary()[row].dtype == "int64":
            meta["dtype"] = "int64"
        # Without the fast path xarray passes objects through pandas, which may turn None into NaN.
        return xr.Variable(tuple(dims), own, meta, fastpath=True)

    coords: dict[str, Any] = {}
    for name in dims:
        labels = space.labels[name]
        coords[name] = np.array(labels, dtype=object if isinstance(labels[0], str) else np.float64)
    for name in _NAMES:
        item = inputs.labels[name]
        if name not in space.labels and item.dims <= set(dims) and any(label is not None for label in item.unique):
            coords[name] = variable(name, item.data)
    return xr.Dataset({name: variable(name, item) for name, item in found.items()}, coords, attrs)


def _labelled(name: str, codes: Array) -> Array:
    """Codes as labels, None for null."""
    labels: dict[int, str | None] = dict(enumerate(choices(name)))
    table = {**labels, NULL: None, UNLIMITED: "unlimited"}
    result = np.empty(codes.shape, dtype=object)
    result.ravel()[:] = [table[int(code)] for code in codes.ravel().tolist()]
    return result
