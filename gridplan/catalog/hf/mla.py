"""Latent attention: DeepSeek V2 and V3, Kimi K2, and the sparse form with an indexer (DeepSeek V3.2, GLM-5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.weights import Weight, linear, norm

__all__ = ["mla"]

FP8_ENTRY_BYTES = 656
"""One token and layer in an 8-bit cache of sparse latent attention: 512 FP8, 16 scales, 128 of BF16 RoPE (fact; vLLM's
fp8_ds_mla format, as in DeepSeek-V3.2)."""
FP8_ENTRY_RANKS = (512, 64)
"""The latent and RoPE sizes for which that format is defined."""


@dataclass(frozen=True, slots=True)
class _Latent:
    heads: int
    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    value: int
    bias: bool
    index_heads: int = 0
    index_dim: int = 0


def mla(fields: Fields, base: Base, sparse: bool = False) -> Block:
    """The attention of a model that caches one latent vector a token; `sparse` adds the indexer and its keys."""
    own = _Latent(
        heads=fields.count("num_attention_heads"),
        q_rank=fields.optional("q_lora_rank"),
        kv_rank=fields.count("kv_lora_rank"),
        nope=fields.count("qk_nope_head_dim"),
        rope=fields.count("qk_rope_head_dim"),
        value=fields.count("v_head_dim"),
        bias=fields.flag("attention_bias", False),
        index_heads=fields.count("index_n_heads") if sparse else 0,
        index_dim=fields.count("index_head_dim") if sparse else 0,
    )
    for name in ("head_dim", "qk_head_dim"):  # repeat the sizes above in one form or another; engines do not read them
        fields.optional(name)
    fields.must_say("q_lora_rank")
    indexed = _indexed(fields, base, sparse)
    if sparse and own.q_rank is None:
        fields.clash("q_lora_rank", "is missing; the indexer reads the compressed queries")
    caches = [_cache(own, flag, sparse) for flag in indexed]
    return Block(
        weights=lambda layer: _weights(f"layers.{layer}.self_attn", base.hidden, own, _flag(indexed, layer)),
        groups=caches,
        facts={
            "attention_heads": own.heads,
            "kv_heads": fields.count("num_key_value_heads", own.heads),
            "kv_lora_rank": own.kv_rank,
            "qk_rope_head_dim": own.rope,
            "q_lora_rank": own.q_rank,
            "index_head_dim": own.index_dim or None,
        },
    )


def _indexed(fields: Fields, base: Base, sparse: bool) -> list[bool]:
    """Which layers have an indexer of their own; `shared` ones follow the choice of an earlier layer."""
    if not sparse:
        return [False] * base.layers
    types = fields.of_layers("indexer_types", ("full", "shared"), base.layers)
    fields.of_layers("layer_types", ("deepseek_sparse_attention",), base.layers)
    for name in ("index_topk_freq", "index_topk_pattern"):
        if not types and fields.data.get(name) not in (None, 1, ""):
            fields.clash("indexer_types", f"is missing, but {name} says that not every layer has an indexer")
    return [kind == "full" for kind in types] or [True] * base.layers


def _flag(indexed: list[bool], layer: int) -> bool:
    """An extra layer for multi-token prediction has an indexer like the last that has one."""
    return indexed[layer] if layer < len(indexed) else any(indexed)


def _cache(own: _Latent, indexed: bool, sparse: bool) -> dict[str, Any]:
    cache: dict[str, Any] = {"kind": "sparse_mla" if indexed else "mla"}
    cache |= {"kv_lora_rank": own.kv_rank, "qk_rope_head_dim": own.rope}
    if indexed:
        cache["index_head_dim"] = own.index_dim
    if sparse and (own.kv_rank, own.rope) == FP8_ENTRY_RANKS:
        cache["fp8_entry_bytes"] = FP8_ENTRY_BYTES
    return cache


def _weights(name: str, hidden: int, own: _Latent, indexed: bool) -> Iterator[Weight]:
    queries = own.heads * (own.nope + own.rope)
    if own.q_rank is None:
        yield from linear(f"{name}.q_proj", "attention", hidden, queries)
    else:
        yield from linear(f"{name}.q_a_proj", "attention", hidden, own.q_rank, own.bias)
        yield from norm(f"{name}.q_a_layernorm", own.q_rank)
        yield from linear(f"{name}.q_b_proj", "attention", own.q_rank, queries)
    yield from linear(f"{name}.kv_a_proj_with_mqa", "attention", hidden, own.kv_rank + own.rope, own.bias)
    yield from norm(f"{name}.kv_a_layernorm", own.kv_rank)
    yield from linear(f"{name}.kv_b_proj", "attention", own.kv_rank, own.heads * (own.nope + own.value))
    yield from linear(f"{name}.o_proj", "attention", own.heads * own.value, hidden, own.bias)
    if indexed:
        yield from _indexer(f"{name}.indexer", hidden, own)


def _indexer(name: str, hidden: int, own: _Latent) -> Iterator[Weight]:
    """The scoring of tokens; its weights of heads stay in 16 bits in every published checkpoint."""
    yield from linear(f"{name}.wq_b", "indexer", own.q_rank or 1, own.index_heads * own.index_dim)
    yield from linear(f"{name}.wk", "indexer", hidden, own.index_dim)
    yield from norm(f"{name}.k_norm", own.index_dim, bias=True)
    yield Weight(f"{name}.weights_proj", "indexer", own.index_heads, hidden)
