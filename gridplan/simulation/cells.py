"""The cells of a simulation, checked and brought to one shape: cells first, classes last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Cells", "cells_of"]

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Cells:
    """Every input as float64: (cells,) or, of a class, (cells, classes).

    `weights` add up to 1; `prefill_rate_s` are seconds per uncached token of the class; a cap that is absent is
    infinite; `concurrency` is 0 where arrivals do not depend on departures. `run` tells runs of one cell apart.
    """

    arrival_rate: Array
    arrival_scv: Array
    weights: Array
    prompt: Array
    uncached: Array
    output: Array
    prefill_rate_s: Array
    weights_s: Array
    per_context_token_s: Array
    per_sequence_s: Array
    budget: Array
    max_num_seqs: Array
    pool_tokens: Array
    keys: npt.NDArray[np.int64]
    run: npt.NDArray[np.int64]
    concurrency: Array

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.arrival_rate.size)

    @property
    def classes(self) -> int:
        """Number of classes of requests."""
        return int(self.weights.shape[1])

    def rows(self, which: Any) -> Cells:
        """Some of the cells, in the order asked for."""
        return Cells(**{name: value[which] for name, value in vars(self).items()})

    def times(self, runs: int) -> Cells:
        """Every cell `runs` times over, next to each other, with random streams of their own."""
        copies = self.rows(np.repeat(np.arange(self.count), runs))
        return replace(copies, run=np.tile(np.arange(runs), self.count))


def cells_of(
    *,
    arrival_rate: Any,
    arrival_scv: Any,
    class_weights: Any,
    prompt_tokens: Any,
    uncached_tokens: Any,
    output_tokens: Any,
    whole_outputs: bool,
    step_weights_s: Any,
    step_per_context_token_s: Any,
    prefill_per_token_s: Any,
    step_per_sequence_s: Any,
    prefill_s: Any,
    token_budget: Any,
    max_num_seqs: Any,
    pool_tokens: Any,
    keys: Any,
    concurrency: Any,
) -> Cells:
    """Broadcast and check the arguments of a simulation.

    Raises ValueError for shapes that do not fit and for values that no replica has.
    """
    per_cell = {
        "arrival_rate": arrival_rate,
        "arrival_scv": arrival_scv,
        "step_weights_s": step_weights_s,
        "step_per_context_token_s": step_per_context_token_s,
        "prefill_per_token_s": prefill_per_token_s,
        "step_per_sequence_s": step_per_sequence_s,
        "token_budget": token_budget,
        "max_num_seqs": np.inf if max_num_seqs is None else max_num_seqs,
        "pool_tokens": np.inf if pool_tokens is None else pool_tokens,
        "concurrency": concurrency,
    }
    of_class = {
        "class_weights": class_weights,
        "prompt_tokens": prompt_tokens,
        "uncached_tokens": prompt_tokens if uncached_tokens is None else uncached_tokens,
        "output_tokens": output_tokens,
    }
    if prefill_s is not None:
        of_class["prefill_s"] = prefill_s
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in (per_cell | of_class).items()}
    count, classes = _shape(arrays, list(per_cell), list(of_class), keys)
    cell = {name: np.array(np.broadcast_to(arrays[name], (count,))) for name in per_cell}
    kind = {name: np.array(np.broadcast_to(arrays[name], (count, classes))) for name in of_class}
    _check(cell, kind, whole_outputs)
    pool_need = kind["prompt_tokens"] + kind["output_tokens"]
    if np.any((kind["class_weights"] > 0) & (pool_need > cell["pool_tokens"][:, None])):
        raise ValueError("pool_tokens: smaller than prompt and output of one request, which could never be admitted")
    rate = cell["prefill_per_token_s"][:, None] * np.ones(classes)
    if keys is not None and (np.any(np.asarray(keys) < 0) or not np.issubdtype(np.asarray(keys).dtype, np.integer)):
        raise ValueError("keys: whole numbers from 0 on expected")
    return Cells(
        arrival_rate=cell["arrival_rate"],
        arrival_scv=cell["arrival_scv"],
        weights=kind["class_weights"] / kind["class_weights"].sum(axis=1, keepdims=True),
        prompt=kind["prompt_tokens"],
        uncached=kind["uncached_tokens"],
        output=kind["output_tokens"],
        prefill_rate_s=rate if prefill_s is None else kind["prefill_s"] / kind["uncached_tokens"],
        weights_s=cell["step_weights_s"],
        per_context_token_s=cell["step_per_context_token_s"],
        per_sequence_s=cell["step_per_sequence_s"],
        budget=cell["token_budget"],
        max_num_seqs=cell["max_num_seqs"],
        pool_tokens=cell["pool_tokens"],
        keys=np.array(np.broadcast_to(np.arange(count) if keys is None else np.asarray(keys, np.int64), (count,))),
        run=np.zeros(count, np.int64),
        concurrency=cell["concurrency"],
    )


def _shape(arrays: dict[str, Array], per_cell: list[str], of_class: list[str], keys: Any) -> tuple[int, int]:
    for name in per_cell:
        if arrays[name].ndim > 1:
            raise ValueError(f"{name}: a number or one value per cell expected, found shape {arrays[name].shape}")
    for name in of_class:
        if arrays[name].ndim > 2:
            raise ValueError(f"{name}: (classes,) or (cells, classes) expected, found shape {arrays[name].shape}")
    try:
        shapes = [arrays[name].shape for name in per_cell] + [arrays[name].shape[:-1] for name in of_class]
        (count,) = np.broadcast_shapes((1,), *shapes, () if keys is None else np.shape(keys))
        (classes,) = np.broadcast_shapes((1,), *[arrays[name].shape[-1:] for name in of_class])
    except ValueError as error:
        shown = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise ValueError(f"shapes do not fit (cells lead, classes are last): {shown}") from error
    return count, classes


def _check(cell: dict[str, Array], kind: dict[str, Array], whole_outputs: bool) -> None:
    every = cell | kind
    for name, array in every.items():
        infinite = name in ("max_num_seqs", "pool_tokens")
        if np.isnan(array).any() or (not infinite and np.isinf(array).any()):
            raise ValueError(f"{name}: a finite number expected")
        if (array < 0).any():
            raise ValueError(f"{name}: negative")
    whole = ["prompt_tokens", "uncached_tokens", "token_budget", "max_num_seqs", "concurrency"]
    for name in [*whole, "output_tokens"] if whole_outputs else whole:
        if np.any(np.floor(every[name]) != every[name]):
            raise ValueError(f"{name}: a whole number expected")
    for name in ("uncached_tokens", "output_tokens", "token_budget", "max_num_seqs"):
        if (every[name] < 1).any():
            raise ValueError(f"{name}: below 1")
    decode = cell["step_weights_s"] + cell["step_per_context_token_s"] + cell["step_per_sequence_s"]
    if np.any((decode == 0)[:, None] & (kind["output_tokens"] > 1)):
        raise ValueError("step_weights_s: a decode step without weights, context and sequences takes no time")
    if np.any(kind["uncached_tokens"] > kind["prompt_tokens"]):
        raise ValueError("uncached_tokens: more than prompt_tokens")
    if np.any(kind["class_weights"].sum(axis=1) <= 0):
        raise ValueError("class_weights: all zero in a cell")
    if np.any(every["output_tokens"] >= 2**38) or np.any(every["prompt_tokens"] >= 2**38):
        raise ValueError("prompt_tokens, output_tokens: above 2^38")
    if np.any((cell["concurrency"] == 0) & (cell["arrival_rate"] <= 0)):
        raise ValueError("arrival_rate: a positive rate expected")
