"""Inputs that an engine and its version decide where the contract does not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.catalog import Engine
from gridplan.chain.memory import first_given
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Origin, OriginOf
from gridplan.engine.workspace import workspace_terms

__all__ = ["engine_values"]

_LARGE_BYTES = 70 * 2**30
"""Memory from which engines use their larger scheduler defaults, where no GPU is named."""


def engine_values(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Memory fraction and its meaning, block size, scheduler limits, achieved shares, and workspace."""
    engine = labels.catalog.engine
    values = {
        "gpu_memory_utilization": labels.attribute(
            "engine", labels.engine, engine, "gpu_memory_utilization", "default_fraction"
        )
    }
    blocks = labels.attribute("engine", labels.engine, engine, "kv_block_tokens", "block_tokens")
    values["kv_block_tokens"] = combine(lambda tokens: np.asarray(np.where(np.isnan(tokens), 1.0, tokens)), blocks)
    for name in ("mbu", "mfu"):
        share = lookup(lambda e, name=name: None if e is None else getattr(engine(e), name), labels.engine)
        values[name] = labels.resolver.resolve(name, share, _step_origin(labels))
    values["fraction_of_free"] = lookup(
        lambda e: float(e is not None and engine(e).fraction_meaning == "of_free"), labels.engine
    )
    values.update(_scheduler(labels, known))
    values["workspace_bytes"] = _workspace(labels, known, values)
    return values


def _step_origin(labels: Labels) -> OriginOf:
    """Provenance of mbu and mfu, which have their own source beside that of the engine's memory terms."""

    def origin(index: Mapping[str, int]) -> Origin:
        label = labels.engine.at(labels.space, index)
        if label is None:
            return Origin("", "not given", provider="none")
        entry = labels.catalog.engine(label)
        return Origin(entry.step_cls, entry.step_source, entry.step_as_of or "", f"engine {label}")

    return origin


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
    seqs = lookup(lambda e, big: None if e is None else engine(e).max_num_seqs(bool(big)), labels.engine, large)

    def budget(name: str | None, big: float, most: float) -> int | None:
        if name is None or (np.isnan(most) and engine(name).batched_tokens_rule != "fixed"):
            return None
        return engine(name).max_num_batched_tokens(bool(big), most)

    tokens = lookup(budget, labels.engine, large, length)
    return {
        "max_model_len": stated,
        "max_num_seqs": resolver.resolve("max_num_seqs", seqs, of_engine),
        "max_num_batched_tokens": resolver.resolve("max_num_batched_tokens", tokens, of_engine),
    }


def _workspace(labels: Labels, known: Mapping[str, Field], own: Mapping[str, Field]) -> Field:
    """Memory of one GPU beside weights and KV cache: the engine's named terms summed, where the contract gives none."""
    catalog = labels.catalog

    def terms(name: str | None, model: str | None, tp: float, seqs: float, tokens: float) -> float | None:
        if name is None or model is None:
            return None
        entry: Engine = catalog.engine(name)
        named = workspace_terms(catalog, entry, catalog.model(model), tp, seqs, tokens)
        return None if named is None else sum(named.values())

    total = lookup(
        terms,
        labels.engine,
        labels.model,
        known["tensor_parallel"],
        own["max_num_seqs"],
        own["max_num_batched_tokens"],
    )
    return labels.resolver.resolve("workspace_bytes", total, labels.of("engine", labels.engine, catalog.engine))
