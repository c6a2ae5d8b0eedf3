"""Answers of a search as a Dataset: on the axes that change them, folded to those that are asked for, with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.engine.evaluate import attributes
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.fixed import inputs_of
from gridplan.sensitivity.roles import levers
from gridplan.sensitivity.search import ANSWERS
from gridplan.store.columns import dictionary_meta

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["about", "answer_dataset", "answer_labels", "axes_of", "either", "folded", "meta_of"]

Array = NDArray[Any]

_RANK = {"always": 2.0, "between": 1.0, "never": -1.0, "not_monotone": -2.0, "unknown": -3.0}
"""How answers are ordered when cells are folded: what is not known is worse than nothing, and never passed over."""

_TEXTS = {
    "answer": "between: there is a threshold; always, never: on the whole range; not_monotone, unknown: no answer",
    "fails_reason": "why it does not hold there: no plan exists, or which condition fails",
    "cheaper_below": "the alternative that costs less at the value below",
    "cheaper_above": "the alternative that costs less at the value above",
    "method": "exact: by the inverse of a formula, checked on both sides; search: halving, to 12 digits",
}
_OWN = {
    "break_even_hours_share": ("1", "share of the hours of a month from which the second costs at most as much"),
    "break_even_hours_per_month": ("h", "the same in hours"),
    "break_even_arrival_rate": ("req/s", "peak arrival rate at break-even, with the ratio of peak to average kept"),
    "crossings": ("count", "changes of the cheaper alternative on the range"),
    "points_unknown": ("count", "values looked at where a bill is null, or a fleet does not hold the plan"),
    "candidates": ("count", "cells that meet every condition"),
    "cells": ("count", "cells compared"),
}
_TAILS = ("_at_answer", "_at_failure", "_factor", "_below", "_above")
_HEADS = ("max_", "min_", "fails_at_", "best_", "worst_", "least_", "first_", "second_")


def answer_labels(code: Array) -> Array:
    """Codes of `search.ANSWERS` as labels."""
    return np.asarray(np.array(ANSWERS, dtype=object)[np.asarray(code, np.int64)], dtype=object)


def either(mask: Any, yes: Any, no: Any) -> Array:
    """Labels by a mask: `yes` where it is true, else `no`; each a label, None or an array of them."""
    return np.asarray(np.where(mask, yes, no), dtype=object)


def axes_of(by: str | Sequence[str] | None, grid: Grid) -> tuple[str, ...] | None:
    """Names of axes from a list or one text with commas. Raises ContractError for what is no axis of the grid."""
    if by is None:
        return None
    listed = by.split(",") if isinstance(by, str) else by
    names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
    known = space_of(grid).names
    unknown = [
        Problem(f"{name} is not an axis of this question{suggestion(name, known)}", key="by")
        for name in names
        if name not in known
    ]
    if unknown:
        raise ContractError(unknown)
    return names


def about(grid: Grid, whole: Grid, **said: Any) -> dict[str, Any]:
    """Attributes of an answer: of the contract, with the warnings about it, and what is said of the question."""
    inputs = inputs_of(whole)
    attrs: dict[str, Any] = {**attributes(inputs), **{name: value for name, value in said.items() if value != ""}}
    fixed = {name: labels[0] for name, labels in space_of(grid).labels.items() if len(labels) == 1}
    if fixed:
        attrs["at"] = ", ".join(f"{name}={label}" for name, label in fixed.items())
    return attrs


def folded(found: Mapping[str, Array], answer: str, grid: Grid, keep: Sequence[str]) -> dict[str, Array]:
    """One cell of each combination of `keep`: the worst of what happens, then the best of what is chosen.

    `answer` is the column of the value, which names with `max_` or `min_` what is better. The labels of the cell that
    stands for the others are `worst_<axis>` and `best_<axis>`; of equal answers it is the one that came furthest, or
    least far, before it failed. A cell without an answer is worse than `never`, so that
    what nobody chooses hides none. All arrays have one axis per dimension of the grid.
    """
    names = space_of(grid).names
    whole = dict(zip(found, np.broadcast_arrays(*found.values()), strict=True))
    gone = [name for place, name in enumerate(names) if name not in keep and whole[answer].shape[place] > 1]
    chosen = [name for name in gone if name in levers(gone) and name not in ("scenario", "workload")]
    for sense, axes in ((-1.0, [name for name in gone if name not in chosen]), (1.0, chosen)):
        if axes:
            whole = _one_of_each(whole, answer, grid, axes, sense)
    return whole


def _how_far(reason: str | None) -> float:
    """How far a cell came before it failed: reasons why there is no plan are listed in that order, conditions last."""
    reasons = dictionary()["infeasible_reason"].labels
    return float(reasons.index(reason) if reason in reasons else len(reasons))


def _one_of_each(
    found: Mapping[str, Array], answer: str, grid: Grid, axes: Sequence[str], sense: float
) -> dict[str, Array]:
    labels = space_of(grid).labels
    places = [list(labels).index(name) for name in axes]
    rest = found[answer].ndim - len(places)

    def flat(item: Array) -> Array:
        moved = np.moveaxis(item, places, range(-len(places), 0))
        return moved.reshape(*moved.shape[:rest], -1)

    rank = np.vectorize(_RANK.__getitem__, otypes=[np.float64])(found["answer"])
    value = np.where(np.isnan(found[answer]), 0.0, found[answer]) * (-1.0 if answer.startswith("min_") else 1.0)
    far = np.vectorize(_how_far, otypes=[np.float64])(found["fails_reason"])
    open_ = np.ones(flat(rank).shape, dtype=bool)
    for key in (flat(sense * each) for each in (rank, value, far)):
        open_ &= key == np.where(open_, key, -np.inf).max(axis=-1, keepdims=True)
    where = np.argmax(open_, axis=-1)[..., np.newaxis]
    result = {
        name: np.expand_dims(np.take_along_axis(flat(item), where, axis=-1)[..., 0], sorted(places))
        for name, item in found.items()
    }
    shape = [found[answer].shape[place] for place in places]
    head = "best" if sense > 0 else "worst"
    for name, index in zip(axes, np.unravel_index(where[..., 0], shape), strict=True):
        values = np.array(labels[name], dtype=object if isinstance(labels[name][0], str) else np.float64)
        result[f"{head}_{name}"] = np.expand_dims(values[index], sorted(places))
    return result


def answer_dataset(
    found: Mapping[str, Array],
    grid: Grid,
    attrs: Mapping[str, Any],
    dims: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> xr.Dataset:
    """Columns with one array axis per dimension of the grid as variables on the axes that change some of them.

    `dims` states the axes instead. Axes with one label are scalar coordinates, but for those `without`. A column with
    one more array axis, the last, has a dimension `crossing`, counted from 1.
    """
    import xarray as xr

    labels = space_of(grid).labels
    shape = np.broadcast_shapes(*(item.shape[: len(labels)] for item in found.values()))
    changing = [name for place, name in enumerate(labels) if shape[place] > 1]
    kept = changing if dims is None else [name for name in labels if name in dims]
    sizes = [len(labels[name]) for name in kept]
    coords: dict[str, Any] = {}
    for name in labels:
        if name not in kept and (len(labels[name]) > 1 or name in without):
            continue
        values = np.array(labels[name], dtype=object if isinstance(labels[name][0], str) else np.float64)
        own = values if name in kept else values.reshape(())
        coords[name] = xr.Variable((name,) if name in kept else (), own, dictionary_meta(name), fastpath=True)

    def variable(name: str, item: Array) -> xr.Variable:
        full = tuple(len(labels[each]) if each in kept else 1 for each in labels)
        tail = item.shape[len(labels) :]
        own = np.array(np.broadcast_to(item, (*full, *tail))).reshape([*sizes, *tail])
        return xr.Variable((*kept, *("crossing" for _ in tail)), own, meta_of(name, own), fastpath=True)

    variables = {name: variable(name, item) for name, item in found.items()}
    last = [item.shape[-1] for item in found.values() if item.ndim > len(labels)]
    if last:
        coords["crossing"] = xr.Variable(("crossing",), np.arange(1.0, last[0] + 1.0), {"unit": "1"}, fastpath=True)
    return xr.Dataset(variables, coords, dict(attrs))


def meta_of(name: str, values: Array) -> dict[str, str]:
    """Unit and meaning of a column: those of the quantity in its name, with what the rest of the name says."""
    if name in _TEXTS:
        return {"unit": "label", "long_name": _TEXTS[name], "class": "derived", "source": "gridplan"}
    if name in _OWN:
        unit, text = _OWN[name]
        whole = {"dtype": "int64"} if unit == "count" else {}
        return {"unit": unit, "long_name": text, **whole, "class": "derived", "source": "gridplan"}
    base, said = name, ""
    factor = False
    for tail in _TAILS:
        if base.endswith(tail) and base not in dictionary():
            base, said = base.removesuffix(tail), f"{said}{tail}".replace("_", " ")
            factor = factor or tail == "_factor"
    for head in _HEADS:
        if base.startswith(head) and base not in dictionary():
            base, said = base.removeprefix(head), f"{said} ({head.strip('_').replace('_', ' ')})"
    meta = dict(dictionary_meta(base))
    row = dictionary().get(base)
    if row is not None and row.dtype in ("int64", "bool") and values.dtype != object and not factor:
        meta["dtype"] = row.dtype
    meta["long_name"] = f"{meta.get('long_name', base)}{said}"
    meta["unit"] = "1" if factor else meta.get("unit", "label" if values.dtype == object else "1")
    return {key: text for key, text in meta.items() if key in ("unit", "long_name", "dtype", "class", "source")}
