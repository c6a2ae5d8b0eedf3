"""The chain as a NumPy user writes it first: every input spread over the whole cube, then whole-cube arrays throughout.

The steps are those of gridplan, so the only difference from `gridplan.evaluate` is that no quantity is kept on its own
dimensions.
"""

from __future__ import annotations

import numpy as np

from gridplan import chain
from gridplan.chain import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan, column_arrays

__all__ = ["evaluate_broadcast", "spread_inputs"]


def spread_inputs(inputs: Inputs, plan: Plan) -> dict[str, Array]:
    """Copies of all inputs that the plan reads, each of one value per cell (and per class, where there are classes)."""
    needed = {name for step in plan.steps for name in step.inputs}
    shape = inputs.space.shape
    return {
        name: np.broadcast_to(item.data, shape + item.data.shape[len(shape) :]).copy()
        for name, item in inputs.values.items()
        if name in needed
    }


def evaluate_broadcast(inputs: Inputs, plan: Plan) -> dict[str, Array]:
    """All columns of the plan as arrays of the whole cube.

    An array that neither a later step nor a column needs is let go at once: a large cube would not fit otherwise.
    """
    values = spread_inputs(inputs, plan)
    kept = set(plan.source.values())
    last = {name: place for place, step in enumerate(plan.steps) for name in step.inputs}
    for place, step in enumerate(plan.steps):
        chain.evaluate((step,), values)
        for name in (*step.inputs, *step.outputs):
            if name not in kept and last.get(name, -1) <= place:
                values.pop(name, None)
    constants = {name: np.broadcast_to(item.data, inputs.space.shape).copy() for name, item in plan.constants.items()}
    return column_arrays(plan, values, constants)
