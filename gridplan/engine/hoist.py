"""What a cube computes once, before any block: results on few combinations, read by all blocks and all threads.

Most of the chain never sees the long axes of a sweep. Evaluated block by block, such a step costs its Python overhead
every time its place changes, for a handful of numbers; over the whole cube it costs that once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gridplan import chain
from gridplan.chain.graph import Array, Step, read_dims
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan, column_array
from gridplan.engine.searched import evaluate_kept

__all__ = ["Shared", "hoist"]

HOIST_CELLS = 65_536
"""Combinations up to which a result is computed for the whole cube (policy): half a MiB, which stays in cache."""

SEARCH_CELLS = 1_048_576
"""The same for a search and for what it reads (measurement, 2026-11: 131 combinations at a time take ten times as long
as all of 100,000 together)."""

HOIST_BYTES, SEARCH_BYTES = 128 * 2**20, 2**30
"""Memory of all such results together, and of those that a search reads (policy); steps beyond it are left to the
blocks, which is slow for a search whose axes are not the outer ones."""


@dataclass(frozen=True)
class Shared:
    """Results over the whole cube, read-only, of size 1 along dimensions they do not depend on; and the steps left.

    `columns` are the columns of the plan that are known in whole: constants and what was computed here.
    """

    values: Mapping[str, Array]
    columns: Mapping[str, Array]
    steps: tuple[Step, ...]


def hoist(inputs: Inputs, plan: Plan, keep: bool = False) -> Shared:
    """Evaluate every step of the plan whose result is small, in bounded memory; `keep` has small searches kept."""
    early, late = _split(inputs, plan.steps)
    evaluate = evaluate_kept if keep else chain.evaluate
    values: dict[str, Array] = {name: item.data for name, item in inputs.values.items()}
    read = {name for item in late for name in item.inputs} | set(plan.source.values())
    last = {name: place for place, item in enumerate(early) for name in item.inputs}
    for place, item in enumerate(early):
        evaluate((item,), values)
        for name in (*item.inputs, *item.outputs):
            if name not in read and name not in inputs.values and last.get(name, -1) <= place:
                values.pop(name, None)
    made = {name: values[name] for item in early for name in item.outputs if name in read}
    columns = {name: item.data for name, item in plan.constants.items()}
    columns |= {name: column_array(plan, name, made[source]) for name, source in plan.source.items() if source in made}
    return Shared(_read_only(made), _read_only(columns), late)


def _split(inputs: Inputs, steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Steps to evaluate for the whole cube, and the others, both in order."""
    sizes = dict(zip(inputs.space.names, inputs.space.shape, strict=True))
    dims = dict(inputs.dims)
    early: list[Step] = []
    late: list[Step] = []
    searched = {name for item in chain.needed(steps, _searches(steps)) for name in item.outputs}
    waiting: set[str] = set()
    size = np.dtype(np.float64).itemsize
    room, for_search = HOIST_BYTES // size, SEARCH_BYTES // size
    for item in steps:
        own = read_dims(item, dims)
        dims.update(dict.fromkeys(item.outputs, own))
        cells = prod(sizes[name] for name in own)
        needs = cells * len(item.outputs) * item.width
        for_it = bool(searched.intersection(item.outputs))
        most, left = (SEARCH_CELLS, for_search) if for_it else (HOIST_CELLS, room)
        if cells <= most and needs <= left and waiting.isdisjoint(item.inputs):
            for_search -= needs if for_it else 0
            room -= 0 if for_it else needs
            early.append(item)
        else:
            waiting.update(item.outputs)
            late.append(item)
    return tuple(early), tuple(late)


def _searches(steps: Sequence[Step]) -> list[str]:
    return [name for item in steps if item.search for name in item.outputs]


def _read_only(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Views that no thread can write through."""
    views = {name: np.asarray(array).view() for name, array in arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    return views
