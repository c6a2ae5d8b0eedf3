"""Bytes of the weights, and the shares of them that are not simply split over tensor and pipeline parallel ranks."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.catalog import kv_projection_params, router_params
from gridplan.chain.memory import first_given
from gridplan.dictionary import dictionary
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Origin, OriginOf
from gridplan.formulas import expert_padding_ratio, weights_bytes

__all__ = ["weight_values"]

Array = NDArray[Any]

BITS_16BIT, BITS_PER_BYTE = 16.0, 8.0
STORED = "params_total * weight_bits / 8, 2 bytes for what the format leaves in 16 bits and for params_vision"
PADDING_ENGINE, PADDED_FORMAT = "vllm", "mxfp4"
"""Where experts are known to be padded as they are loaded (measurement; see formulas/weights.py)."""


def weight_values(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Bytes of all weights, bytes that a decode step reads, and shares of the bytes by part [1].

    Bytes that the contract gives win; the parts keep their shares of them, and nothing is padded on top.
    """
    total, bits = known["params_total"], known["weight_bits"]
    counts = {
        "experts": labels.by_model(lambda m: m.params_routed_experts),
        "embedding": known["params_embedding"],
        "lm_head": known["params_lm_head"],
        "router": labels.by_model(router_params),
        "replicated": labels.by_model(lambda m: m.params_replicated),
        "kv_projection": labels.by_model(kv_projection_params),
    }
    tables = lookup(lambda d: _keeps(labels, d, "embeddings", "all_but_experts"), labels.weight_dtype)
    # A dense model has no experts to quantise alone: its linear layers are.
    all_but_experts = combine(
        lambda kept, experts: np.where(np.nan_to_num(experts) > 0, kept, 0.0),
        lookup(lambda d: _keeps(labels, d, "all_but_experts"), labels.weight_dtype),
        counts["experts"],
    )
    kept = (counts[name] for name in ("experts", "embedding", "lm_head", "router"))
    text = combine(weights_bytes, total, bits, combine(_params_16bit, tables, all_but_experts, total, *kept))
    stored = combine(_with_tower, text, known["params_vision"])
    width = dict.fromkeys(counts, combine(_width, all_but_experts, bits))
    width |= dict.fromkeys(("embedding", "lm_head", "router"), combine(_width, tables, bits)) | {"experts": bits}
    share = {name: combine(_share, params, width[name], stored) for name, params in counts.items()}
    share["replicated"] = combine(np.add, share["replicated"], share.pop("router"))
    # The tower stands before the first layer, so the first stage of a pipeline holds it with the embedding.
    tower = combine(_share, known["params_vision"], labels.space.constant(BITS_16BIT, np.float64), stored)
    share["embedding"] = combine(np.add, share["embedding"], tower)
    published = lookup(lambda m, d: _checkpoint(labels, m, d), labels.model, labels.weight_dtype)
    read = combine(first_given, published, text)
    held = combine(_with_tower, read, known["params_vision"])
    resolver, origin = labels.resolver, _of_checkpoint(labels, published)
    rule = resolver.resolve("flop_params", labels.space.constant(dictionary()["flop_params"].default, object))
    # Shares are of all that is held, the tower included.
    step_read = combine(_without_embedding, read, combine(np.multiply, share["lm_head"], held), rule)
    experts = combine(np.multiply, share["experts"], combine(first_given, resolver.peek("weights_read_bytes"), held))
    return {
        "weights_bytes": resolver.resolve("weights_bytes", held, origin),
        "weights_read_bytes": resolver.resolve("weights_read_bytes", step_read, origin),
        "experts_read_bytes": experts,
        "experts_per_token": labels.by_model(lambda m: m.experts_per_token),
        "expert_padding": _padding(labels),
        **_expert_ranks(labels, known),
        **{name: labels.by_model(attrgetter(name)) for name in ("num_layers", "num_moe_layers", "num_experts")},
        **{f"weights_share_{name}": field for name, field in share.items()},
    }


def _of_checkpoint(labels: Labels, published: Field) -> OriginOf:
    """The entry of the model where it states the bytes of its checkpoint, else the formula."""
    of_model, derived = labels.of("checkpoint of", labels.model, labels.catalog.model), _derived(STORED)

    def origin(index: Mapping[str, int]) -> Origin:
        return derived(index) if np.isnan(published.at(labels.space, index)) else of_model(index)

    return origin


def _derived(formula: str) -> OriginOf:
    return lambda _: Origin("fact", formula, provider="derived")


def _keeps(labels: Labels, dtype: str | None, *kinds: str) -> float:
    """1 where a weight format leaves one of these in 16 bits."""
    return float(dtype is not None and labels.catalog.dtype("weight", dtype).sixteen_bit in kinds)


def _params_16bit(
    tables: Array, all_but_experts: Array, total: Array, experts: Array, embedding: Array, lm_head: Array, router: Array
) -> Array:
    """Parameters that stay 16-bit [count]; 0 for a model that is not known."""
    outside = np.where(np.isnan(experts), 0.0, total - experts)
    named = np.nan_to_num(embedding) + np.nan_to_num(lm_head) + np.nan_to_num(router)
    kept = np.where(all_but_experts == 1, outside, np.where(tables == 1, named, 0.0))
    return np.asarray(np.clip(kept, 0.0, np.where(np.isnan(total), 0.0, total)))


def _with_tower(text: Array, vision: Array) -> Array:
    """Bytes with the vision tower, which stays in 16 bits; a tower that is not counted adds none."""
    return np.asarray(text + np.nan_to_num(vision) * BITS_16BIT / BITS_PER_BYTE)


def _without_embedding(read: Array, lm_head_bytes: Array, rule: Array) -> Array:
    """What a step reads: a token takes one row of the input embedding, so a table apart from lm_head is not read.

    Such a table is as large as lm_head. The rule of thumb of published texts counts every parameter everywhere.
    """
    return np.asarray(read - np.where(rule == "matmul", lm_head_bytes, 0.0))


def _width(kept: Array, bits: Array) -> Array:
    return np.asarray(np.where(kept == 1, BITS_16BIT, bits))


def _share(params: Array, width: Array, stored: Array) -> Array:
    """Share of the bytes; 0 where either is unknown, so that such weights count as evenly split."""
    return np.nan_to_num(params * width / BITS_PER_BYTE / stored)


def _expert_ranks(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """Degrees that spread experts; 1 where no model has any, so that no dense weights depend on them."""
    sparse = any(name is not None and labels.catalog.model(name).num_experts for name in labels.model.unique)
    one = labels.space.constant(1.0, np.float64)
    degrees = ("data_parallel", "expert_parallel")
    return {f"moe_{name}": known[name] if sparse else one for name in degrees}


def _checkpoint(labels: Labels, model: str | None, dtype: str | None) -> float | None:
    """Bytes of the published checkpoint where the weights are in its own format."""
    entry = None if model is None else labels.catalog.model(model)
    return entry.checkpoint_bytes if entry is not None and dtype == entry.native_weight_dtype else None


def _padding(labels: Labels) -> Field:
    """Loaded over stored bytes of the experts, 1 where the contract gives the bytes."""
    if PADDED_FORMAT not in labels.weight_dtype.unique:
        return labels.space.constant(1.0, np.float64)

    def ratio(model: str | None, dtype: str | None, engine: str | None, given: float) -> float:
        if model is None or dtype != PADDED_FORMAT or engine is None or not np.isnan(given):
            return 1.0
        by_vllm = labels.catalog.engine(engine).name == PADDING_ENGINE
        return float(expert_padding_ratio(labels.catalog.model(model).hidden_size)) if by_vllm else 1.0

    given = labels.resolver.peek("weights_bytes")
    return lookup(ratio, labels.model, labels.weight_dtype, labels.engine, given)
