"""Functions of replicas on many cells and many classes, a bounded number of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gridplan.chain.graph import Array
from gridplan.chain.replica import CLASS_FIRST, in_order

__all__ = ["at_cells", "cells_of", "in_pieces", "rows_of"]

PIECE = 50_000
"""Cells that are worked on at once, where there are few classes (policy): some 50 MB for a percentile."""

MANY_CLASSES = 8
"""Classes from which their pairs decide the memory of a cell, not their number (measurement)."""


def in_pieces(function: Callable[..., Any], names: Sequence[str], rate: Array, *inputs: Array) -> Any:
    """`function(rate, *inputs)`, inputs by `names`; in pieces where cells times classes are many."""
    shape = np.broadcast_shapes(rate.shape, cells_of(names, inputs))
    cells = prod(shape)
    if cells <= _cells_at_once(_classes(names, inputs)):
        return function(rate, *inputs)
    found = at_cells(function, names, np.unravel_index(np.arange(cells), shape), shape, rate, *inputs)
    results = tuple(item.reshape(shape) for item in found)
    return results if len(results) > 1 else results[0]


def cells_of(names: Sequence[str], inputs: Sequence[Array]) -> tuple[int, ...]:
    """The shape of the cells that quantities span together, without their class axes."""
    return np.broadcast_shapes(*(_class_last(name, item)[0] for name, item in zip(names, inputs, strict=True)))


def at_cells(
    function: Callable[..., Any],
    names: Sequence[str],
    cells: tuple[Array, ...],
    shape: tuple[int, ...],
    rate: Array,
    *inputs: Array,
) -> tuple[Array, ...]:
    """Results in the cells of a cube of that `shape`, one array a result, one row a cell."""
    step, count = _cells_at_once(_classes(names, inputs)), len(cells[0])
    parts: list[tuple[Array, ...]] = []
    for start in range(0, count, step):
        where = tuple(axis[start : start + step] for axis in cells)
        rows = (in_order(name, rows_of(name, item, shape, where)) for name, item in zip(names, inputs, strict=True))
        found = function(np.broadcast_to(rate, shape)[where], *rows)
        parts.append(found if isinstance(found, tuple) else (found,))
    return tuple(np.concatenate(items) for items in zip(*parts, strict=True))


def _classes(names: Sequence[str], inputs: Sequence[Array]) -> int:
    return max((item.shape[-1] for name, item in zip(names, inputs, strict=True) if name == "class_weight"), default=1)


def _cells_at_once(classes: int) -> int:
    return max(int(PIECE / (classes * max(classes / MANY_CLASSES, 1.0))), 1)


def _class_last(name: str, values: Array) -> tuple[tuple[int, ...], Array]:
    """The shape of a quantity without its class axis, and the quantity with that axis last."""
    if name in CLASS_FIRST:
        return values.shape[1:], np.moveaxis(values, 0, -1)
    return (values.shape[:-1] if name.startswith("class_") else values.shape), values


def rows_of(name: str, values: Array, shape: tuple[int, ...], where: tuple[Array, ...]) -> Array:
    """Values in the cells `where`, one row each, a class axis last."""
    lead, last = _class_last(name, values)
    return np.broadcast_to(last, shape + last.shape[len(lead) :])[where]
