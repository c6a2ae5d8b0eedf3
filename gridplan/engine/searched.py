"""The last searches of the chain on few combinations, kept: a question asked backwards repeats one a dozen times.

Break-even moves the arrival rate, a tornado a price, and the rate of a replica is searched anew for each value although
nothing that it depends on has changed. A search is told by the function and by every bit that it reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, MutableMapping
from threading import Lock
from typing import Any

import numpy as np

from gridplan import chain
from gridplan.chain.graph import Array, Step

__all__ = ["evaluate_kept", "searched"]

KEPT_BYTES = 2**18
"""Up to which size of what it reads, and of what it finds, a search is kept (policy): some hundred replicas, which take
most of a second."""

MOST_KEPT = 32
"""Searches that are kept (policy): 16 MiB at most."""

_KEPT: dict[tuple[Any, ...], tuple[Array, ...]] = {}
"""Results by function and inputs, the one that was asked for last at the end; none can be written to."""

_LOCK = Lock()


def _unlock() -> None:
    """For a child process: the thread that held the lock is not in it."""
    global _LOCK
    _LOCK = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def evaluate_kept(steps: Iterable[Step], values: MutableMapping[str, Array]) -> MutableMapping[str, Array]:
    """Run `steps` in order as `chain.evaluate` does, searches by `searched`; results are added to `values`."""
    for item in steps:
        if item.search:
            values.update(searched(item, values))
        else:
            chain.evaluate((item,), values)
    return values


def searched(item: Step, values: Mapping[str, Array]) -> dict[str, Array]:
    """What a step makes of `values`, from an earlier call where it read the very same; the same bits either way."""
    read = [np.asarray(values[name]) for name in item.inputs]
    if sum(array.nbytes for array in read) > KEPT_BYTES or any(array.dtype.hasobject for array in read):
        made = chain.evaluate((item,), dict(values))
        return {name: made[name] for name in item.outputs}
    # Strides too: a sum may round differently where the numbers lie differently.
    key = (item.function, *((array.dtype.str, array.shape, array.strides, array.tobytes()) for array in read))
    with _LOCK:
        found = _KEPT.pop(key, None)
    if found is None:
        made = chain.evaluate((item,), dict(values))
        found = tuple(_fixed(made[name]) for name in item.outputs)
    if sum(array.nbytes for array in found) <= KEPT_BYTES:
        with _LOCK:
            _KEPT[key] = found
            while len(_KEPT) > MOST_KEPT:
                del _KEPT[next(iter(_KEPT))]
    return dict(zip(item.outputs, found, strict=True))


def _fixed(result: Array) -> Array:
    """A result that nobody can write through."""
    view = np.asarray(result).view()
    view.flags.writeable = False
    return view
