"""The smallest tensor parallelism, or the fewest GPUs, and the largest concurrency: one evaluation, then a choice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridplan.chain.codes import NULL, choices
from gridplan.chain.feasibility import CANNOT_BE_BUILT
from gridplan.chain.graph import Array
from gridplan.engine.inverse.forward import Forward
from gridplan.engine.inverse.question import DEGREES

__all__ = ["degree_axes", "fewest", "max_concurrency"]

_ILLEGAL = tuple(map(choices("fails_reason").index, CANNOT_BE_BUILT))


def degree_axes(forward: Forward) -> tuple[str, ...]:
    """Axes of the grid that are chosen from."""
    names = DEGREES if forward.question.target == "min_gpus" else ("tensor_parallel",)
    return tuple(name for name in names if name in forward.inputs.space.labels)


def fewest(forward: Forward) -> dict[str, Array]:
    """The cheapest candidate that holds, and the dearest legal one below it, which does not."""
    gpus = forward.question.target == "min_gpus"
    tokens = np.full((1,) * len(forward.inputs.space.names), float(forward.question.tokens or 1))
    found = forward.at(tokens)
    degrees = [forward.values[name] for name in DEGREES]
    cost = forward.values["gpus_per_replica"] if gpus else forward.values["tensor_parallel"]
    axes = [forward.inputs.space.names.index(name) for name in degree_axes(forward)]
    concurrency, reason, cost, *degrees = _candidates_last(axes, found.concurrency, found.reason, cost, *degrees)
    holds, legal = reason == NULL, ~np.isin(reason, _ILLEGAL)
    best = _pick(np.where(holds, cost, np.inf), np.argmin)
    none = ~holds.any(axis=-1, keepdims=True)
    answer = np.where(none, np.nan, _at(cost, best))
    below = legal & ~holds & (none | (cost < answer))
    nothing = ~below.any(axis=-1, keepdims=True)
    last = _pick(np.where(below, cost, -np.inf), np.argmax)
    illegal = none & nothing  # no candidate is legal: why not, of the first
    unfit = np.where(illegal, reason[..., :1], np.where(nothing, NULL, _at(reason, last)))
    name = "gpus" if gpus else "tensor_parallel"
    among = degree_axes(forward) if gpus else ()
    chosen = {name: item for name, item in zip(DEGREES, degrees, strict=True) if name in among}
    results = {
        f"min_{name}": answer,
        "no_answer_reason": np.where(none, unfit, NULL),
        f"fails_at_{name}": np.where(nothing, np.nan, _at(cost, last)),
        "fails_reason": np.where(none | ~nothing, unfit, NULL),
        "concurrency_at_answer": np.where(none, np.nan, _at(concurrency, best)),
        "concurrency_at_failure": np.where(nothing, np.nan, _at(concurrency, last)),
        **{f"chosen_{degree}": np.where(none, np.nan, _at(item, best)) for degree, item in chosen.items()},
    }
    return {key: _candidates_gone(axes, item) for key, item in results.items()}


def max_concurrency(forward: Forward) -> dict[str, Array]:
    """The chosen ceiling at a context, null where not even one sequence holds."""
    tokens = np.full((1,) * len(forward.inputs.space.names), float(forward.question.tokens or 1))
    found = forward.at(tokens)
    none = found.reason != NULL
    answer, limit = found.concurrency, np.asarray(choices("fails_reason").index("concurrency_exceeds_pool"))
    if forward.question.scheduler:
        cap = forward.values["concurrency_scheduler"]
        limit = np.where(cap < answer, choices("fails_reason").index("scheduler_cap"), limit)
        answer = np.fmin(answer, cap)
    return {
        "max_concurrency": np.where(none, np.nan, answer),
        "no_answer_reason": found.reason,
        "fails_at_concurrency": np.where(none, 1.0, answer + 1.0),
        "fails_reason": np.where(none, found.reason, limit),
    }


def _candidates_last(axes: list[int], *arrays: Array) -> list[Array]:
    """Arrays of one shape, the axes of the candidates made into one, the last."""
    whole = np.broadcast_arrays(*arrays)
    moved = [np.moveaxis(item, axes, range(-len(axes), 0)) for item in whole]
    cells = moved[0].ndim - len(axes)
    return [item.reshape(*item.shape[:cells], -1) for item in moved]


def _candidates_gone(axes: list[int], result: Array) -> Array:
    """One value a cell, of size 1 along the axes of the candidates."""
    return np.expand_dims(result[..., 0], sorted(axes))


def _pick(values: Array, which: Callable[..., Array]) -> Array:
    """Place of the first best candidate of each cell, as `_at` takes it."""
    return which(values, axis=-1)[..., np.newaxis]


def _at(values: Array, place: Array) -> Array:
    return np.take_along_axis(values, place, axis=-1)
