"""The chain over one block of the cube at a time, computing again only what depends on where the block lies."""

from __future__ import annotations

import numpy as np

from gridplan import chain
from gridplan.chain.graph import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan
from gridplan.engine.evaluate import column_arrays
from gridplan.store.blocks import Block

__all__ = ["BlockEvaluator"]

Key = tuple[tuple[int, int], ...]


class BlockEvaluator:
    """Evaluates blocks of one cube; not for use by several threads at once.

    Every array is kept with the place it was computed for (start and stop along its own dimensions). A block that lies
    at the same place along those dimensions reuses it: quantities that do not depend on the blocked axes are computed
    once.
    """

    def __init__(self, inputs: Inputs, plan: Plan) -> None:
        self._plan = plan
        names = inputs.space.names
        needed = {name for item in plan.steps for name in item.inputs}
        dims = chain.propagate(plan.steps, inputs.dims)
        self._inputs = {
            name: (item.data, self._positions(names, item.dims))
            for name, item in inputs.values.items()
            if name in needed
        }
        self._constants = {
            name: (item.data, self._positions(names, item.dims)) for name, item in plan.constants.items()
        }
        self._steps = [(item, self._positions(names, dims[item.outputs[0]])) for item in plan.steps]
        self._keys: dict[str, Key] = {}
        self._values: dict[str, Array] = {}
        self._rank = len(names)

    @staticmethod
    def _positions(names: tuple[str, ...], dims: frozenset[str]) -> tuple[int, ...]:
        return tuple(position for position, name in enumerate(names) if name in dims)

    def _cut(self, name: str, data: Array, positions: tuple[int, ...], bounds: Key) -> None:
        """Keep the slice of an input that belongs to the block, unless it is the one kept already."""
        key = tuple(bounds[position] for position in positions)
        if self._keys.get(name) == key and name in self._values:
            return
        place: list[slice] = [slice(None)] * self._rank
        for position in positions:
            place[position] = slice(*bounds[position])
        self._values[name] = data[tuple(place)]
        self._keys[name] = key

    def __call__(self, block: Block) -> dict[str, Array]:
        """Arrays of all given columns on the labels of `block`, of size 1 along dimensions they do not depend on."""
        bounds: Key = tuple(zip(block.start, block.stop, strict=True))
        for name, (data, positions) in self._inputs.items():
            self._cut(name, data, positions, bounds)
        with np.errstate(all="ignore"):
            for item, positions in self._steps:
                key = tuple(bounds[position] for position in positions)
                if self._keys.get(item.outputs[0]) == key:
                    continue
                chain.evaluate((item,), self._values)
                self._keys[item.outputs[0]] = key
        constants = {}
        for name, (data, positions) in self._constants.items():
            self._cut(f"column {name}", data, positions, bounds)
            constants[name] = self._values[f"column {name}"]
        return column_arrays(self._plan, self._values, constants)
