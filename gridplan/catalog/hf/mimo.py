"""Attention of MiMo-V2: sliding layers have heads of their own, and sinks."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.catalog.hf.attention import Heads, cache_of, head_weights
from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight

__all__ = ["mimo_v2_attention"]


def mimo_v2_attention(fields: Fields, base: Base) -> Block:
    """`hybrid_layer_pattern` has 1 for sliding layers, whose fields start with `swa_`, and 0 for full ones."""
    bias = fields.flag("attention_bias", False)
    whole = _heads(fields, "", bias, fields.flag("add_full_attention_sink_bias", False))
    local = _heads(fields, "swa_", bias, fields.flag("add_swa_attention_sink_bias", False))
    window = fields.count(fields.first("sliding_window", "sliding_window_size"))
    pattern = fields.counts("hybrid_layer_pattern")
    if not pattern:
        fields.refuse("hybrid_layer_pattern", "is missing; it says which layers slide")
    fields.one_each("hybrid_layer_pattern", pattern, base.layers)
    fields.optional("attention_chunk_size")  # repeats the window; engines read sliding_window

    def weights(layer: int) -> Iterator[Weight]:
        own = local if layer < base.layers and pattern[layer] else whole
        return head_weights(f"layers.{layer}.self_attn", base.hidden, own)

    caches = [cache_of(local, ("sliding", window)) if flag else cache_of(whole, WHOLE) for flag in pattern]
    return Block(weights, caches, {"attention_heads": whole.heads, "kv_heads": whole.kv_heads, "head_dim": whole.k_dim})


def _heads(fields: Fields, prefix: str, bias: bool, sinks: bool) -> Heads:
    size = fields.count(f"{prefix}head_dim")
    return Heads(
        heads=fields.count(f"{prefix}num_attention_heads"),
        kv_heads=fields.count(f"{prefix}num_key_value_heads"),
        k_dim=size,
        v_dim=fields.count(f"{prefix}v_head_dim", size),
        qkv_bias=bias,
        sinks=sinks,
    )
