"""The chain over one block of the cube at a time, computing again only what depends on where the block lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gridplan import chain
from gridplan.chain.graph import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan, column_array
from gridplan.engine.heap import keep_temporaries
from gridplan.engine.hoist import Shared, hoist
from gridplan.store.blocks import Block

__all__ = ["BLOCK_CELLS", "BlockEvaluator"]

BLOCK_CELLS = 131_072
"""Cells planned at once (measurement, 2026-11).

32k to 256k cost about the same a cell on one thread. Two threads wait for each other less the longer each array
operation takes: 128k cells take two thirds of the time of 64k.
"""

Key = tuple[tuple[int, int], ...]


class _Whole(NamedTuple):
    """An array of the whole cube, its number of axes before those of the cube, and the axes it varies along."""

    data: Array
    before: int
    axes: tuple[int, ...]


class BlockEvaluator:
    """Evaluates blocks of one cube; not for use by several threads at once.

    What depends on few combinations is `shared`: computed once for the whole cube, and sliced here. Every other array
    is kept with the place it was computed for (start and stop along its own dimensions). A block that lies at the same
    place along those dimensions reuses it; one that no other block can use is let go after its last reader, so that
    the next results take its memory while it is in cache.

    Threads of one run may pass the same `shared`, from `hoist(inputs, plan)`; without it each evaluator makes its own.
    """

    def __init__(self, inputs: Inputs, plan: Plan, shared: Shared | None = None) -> None:
        keep_temporaries()
        shared = hoist(inputs, plan) if shared is None else shared
        self._plan, self._steps = plan, shared.steps
        self._rank = len(inputs.space.names)
        read = {name for item in shared.steps for name in item.inputs}
        self._whole = {name: self._varying(item.data, 0) for name, item in inputs.values.items() if name in read}
        # An input has the axis of request classes after those of the cube; a result has any further axis before them.
        for name, data in shared.values.items():
            if name in read:
                self._whole[name] = self._varying(data, data.ndim - self._rank)
        self._known = {name: self._varying(data, 0) for name, data in shared.columns.items()}
        dims = chain.propagate(plan.steps, inputs.dims)
        self._axes = [
            tuple(axis for axis, name in enumerate(inputs.space.names) if name in dims[item.outputs[0]])
            for item in shared.steps
        ]
        self._columns = [
            [(name, source) for name, source in plan.source.items() if source in item.outputs] for item in shared.steps
        ]
        self._spent = self._last_uses(inputs.space.shape)
        self._keys: dict[str, Key] = {}
        self._values: dict[str, Array] = {}

    def _varying(self, data: Array, before: int) -> _Whole:
        return _Whole(data, before, tuple(axis for axis in range(self._rank) if data.shape[before + axis] > 1))

    def _last_uses(self, shape: tuple[int, ...]) -> list[list[str]]:
        """After each step, the arrays that neither a later step nor another block reads.

        Blocks do not overlap, so an array that depends on every axis belongs to one block only.
        """
        last: dict[str, int] = {}
        for place, (item, axes) in enumerate(zip(self._steps, self._axes, strict=True)):
            last.update((name, place) for name in item.inputs if name in last)
            if all(size == 1 or axis in axes for axis, size in enumerate(shape)):
                last.update(dict.fromkeys(item.outputs, place))
        spent: list[list[str]] = [[] for _ in self._steps]
        for name, place in last.items():
            spent[place].append(name)
        return spent

    def _cut(self, name: str, whole: _Whole, bounds: Key) -> Array:
        """The slice of an array of the whole cube that belongs to the block; the one kept already where it is that."""
        key = tuple(bounds[axis] for axis in whole.axes)
        if self._keys.get(name) != key or name not in self._values:
            place: list[slice] = [slice(None)] * (whole.before + self._rank)
            for axis in whole.axes:
                place[whole.before + axis] = slice(*bounds[axis])
            self._values[name] = whole.data[tuple(place)]
            self._keys[name] = key
        return self._values[name]

    def stream(self, block: Block) -> Iterator[tuple[str, Array]]:
        """The columns that are not shared, each as soon as it is computed; those not kept elsewhere are soon gone."""
        bounds: Key = tuple(zip(block.start, block.stop, strict=True))
        for name, whole in self._whole.items():
            self._cut(name, whole, bounds)
        for item, axes, columns, spent in zip(self._steps, self._axes, self._columns, self._spent, strict=True):
            key = tuple(bounds[axis] for axis in axes)
            if self._keys.get(item.outputs[0]) != key:
                chain.evaluate((item,), self._values)
                self._keys[item.outputs[0]] = key
            for name, source in columns:
                yield name, column_array(self._plan, name, self._values[source])
            for name in spent:
                del self._values[name]
                self._keys.pop(name, None)

    def columns(self, block: Block) -> Iterator[tuple[str, Array]]:
        """Every given column on the labels of `block`, of size 1 along dimensions it does not depend on."""
        bounds: Key = tuple(zip(block.start, block.stop, strict=True))
        for name, whole in self._known.items():
            yield name, self._cut(f"column {name}", whole, bounds)
        yield from self.stream(block)

    def __call__(self, block: Block) -> dict[str, Array]:
        """The same, all at once."""
        return dict(self.columns(block))
