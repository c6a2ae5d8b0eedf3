"""Inputs that an engine and its version decide where the contract does not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan import formulas
from gridplan.catalog import Engine
from gridplan.catalog.entries import HUGE_GPU_BYTES
from gridplan.chain.memory import first_given
from gridplan.engine.budget import budget_values
from gridplan.engine.field import Field, combine, lookup, varying
from gridplan.engine.labels import Labels

__all__ = ["engine_values"]

_LARGE_BYTES = 70 * 2**30
"""Memory from which engines use their larger scheduler defaults, where no GPU is named."""


def engine_values(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Memory fraction and its meaning, block size, scheduler limits and workspace."""
    engine = labels.catalog.engine
    of_engine = labels.of("engine", labels.engine, engine)
    values = {
        "gpu_memory_utilization": labels.resolver.resolve("gpu_memory_utilization", _fraction(labels, known), of_engine)
    }
    blocks = labels.attribute("engine", labels.engine, engine, "kv_block_tokens", "block_tokens")
    values["kv_block_tokens"] = combine(lambda tokens: np.asarray(np.where(np.isnan(tokens), 1.0, tokens)), blocks)
    values["fraction_of_free"] = lookup(
        lambda e: float(e is not None and engine(e).fraction_meaning == "of_free"), labels.engine
    )
    values.update(_scheduler(labels, known))
    values.update(budget_values(labels, known, values))
    return values


def _fraction(labels: Labels, known: Mapping[str, Field]) -> Field:
    """Default share of memory of each cell's engine: its constant, or what its rule makes of GPU and parallelism."""

    def fraction(
        name: str | None, memory_bytes: float, tensor_parallel: float, pipeline_parallel: float
    ) -> float | None:
        if name is None:
            return None
        entry: Engine = labels.catalog.engine(name)
        if entry.fraction_rule == "static_tp":
            return float(formulas.static_fraction_tp(tensor_parallel))
        if entry.fraction_rule == "fixed" or np.isnan(memory_bytes):
            return entry.default_fraction
        if entry.fraction_rule == "static_buckets":
            return float(formulas.static_fraction_buckets(memory_bytes, tensor_parallel * pipeline_parallel))
        return float(formulas.static_fraction_parts(memory_bytes, tensor_parallel, pipeline_parallel))

    parallel = (known["tensor_parallel"], known["pipeline_parallel"])
    return varying(labels.space, lookup(fraction, labels.engine, known["gpu_memory_bytes"], *parallel))


def _scheduler(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Caps of the scheduler; engines choose them by the size of the GPU and, once, by the model's length."""
    resolver, engine = labels.resolver, labels.catalog.engine
    of_engine = labels.of("engine", labels.engine, engine)
    stated = resolver.resolve("max_model_len")
    length = combine(first_given, stated, known["max_position_embeddings"])
    large = lookup(
        lambda g, size: float(labels.catalog.gpu(g).is_large_for_engine if g else size >= _LARGE_BYTES),
        labels.gpu,
        known["gpu_memory_bytes"],
    )
    huge = lookup(
        lambda g, size: float(labels.catalog.gpu(g).is_huge_for_engine if g else size >= HUGE_GPU_BYTES),
        labels.gpu,
        known["gpu_memory_bytes"],
    )
    seqs = labels.by_engine(lambda entry, big: entry.max_num_seqs(bool(big)), large)

    def budget(name: str | None, big: float, largest: float, most: float) -> int | None:
        if name is None or (np.isnan(most) and engine(name).batched_tokens_rule != "fixed"):
            return None
        return engine(name).max_num_batched_tokens(bool(big), most, bool(largest))

    # Few engines choose their batch by the length.
    tokens = varying(labels.space, lookup(budget, labels.engine, large, huge, length))
    seqs = varying(labels.space, seqs)
    return {
        "max_model_len": stated,
        "max_num_seqs": resolver.resolve("max_num_seqs", seqs, of_engine),
        "max_num_batched_tokens": resolver.resolve("max_num_batched_tokens", tokens, of_engine),
    }
