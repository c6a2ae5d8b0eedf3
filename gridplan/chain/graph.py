"""A chain of formulas as data: which step makes which quantity from which, on which dimensions.

A step is a function whose parameter names are the names of the quantities it reads. From that alone follow the order of
evaluation, what must be computed for a choice of outputs, and the dimensions of every result (the union of the
dimensions of what it reads: a quantity never carries a dimension that it does not depend on).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Step", "evaluate", "needed", "propagate", "read_dims", "spread", "step"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One formula of the chain: `outputs` = `function(*inputs)`.

    `width` numbers each in every combination of labels: more than one where results have a further axis. A `search`
    takes many rounds whatever its size, so it is better made once for many combinations than often for a few.
    """

    outputs: tuple[str, ...]
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    width: int = 1
    search: bool = False


def step(outputs: str, function: Callable[..., Any], **renamed: str) -> Step:
    """A step that makes `outputs` (names separated by blanks) by calling `function`.

    Parameters without a default are read under their own name, or under `renamed[parameter]`; parameters with a default
    are left alone unless renamed.
    """
    parameters = inspect.signature(function).parameters
    unknown = sorted(set(renamed) - set(parameters))
    if unknown:
        raise TypeError(f"{function.__name__} has no parameter {', '.join(unknown)}")
    names = [
        renamed.get(name, name)
        for name, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty or name in renamed
    ]
    return Step(tuple(outputs.split()), function, tuple(names))


def needed(steps: Sequence[Step], wanted: Iterable[str]) -> tuple[Step, ...]:
    """The steps that `wanted` depends on, in the order of `steps`."""
    names = set(wanted)
    kept = []
    for item in reversed(steps):
        if names.intersection(item.outputs):
            kept.append(item)
            names.update(item.inputs)
    return tuple(reversed(kept))


def propagate(steps: Sequence[Step], dims: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Dimensions of every input and every result.

    Raises
    ------
    KeyError
        If a step reads a quantity that neither an input nor an earlier step provides.
    """
    known = dict(dims)
    for item in steps:
        known.update(dict.fromkeys(item.outputs, read_dims(item, known)))
    return known


def read_dims(item: Step, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Dimensions of what a step reads, which are those of its results."""
    return frozenset[str]().union(*(known[name] for name in item.inputs))


def evaluate(steps: Sequence[Step], values: MutableMapping[str, Array]) -> MutableMapping[str, Array]:
    """Run `steps` in order on arrays that broadcast; results are added to `values`, which is returned."""
    with np.errstate(all="ignore"):
        for item in steps:
            result = item.function(*[values[name] for name in item.inputs])
            if len(item.outputs) == 1:
                values[item.outputs[0]] = result
            else:
                values.update(zip(item.outputs, result, strict=True))
    return values


def spread(result: Array, *read: Array) -> Array:
    """`result` in the shape of all that its step read, of which it may have needed a part only; nothing is copied."""
    shape = np.broadcast_shapes(np.shape(result), *map(np.shape, read))
    return result if np.shape(result) == shape else np.broadcast_to(result, shape)
