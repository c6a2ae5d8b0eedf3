"""Gemma 4: full and sliding layers with different heads, and experts beside the dense MLP of every layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gridplan.catalog.hf.attention import Style, cache_of, head_weights, read_heads
from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.moe import Experts, dense, expert_facts, gated, read_chosen
from gridplan.catalog.hf.sliding import WHOLE, reaches
from gridplan.catalog.hf.weights import Weight, norm, vector

__all__ = ["gemma4_attention", "gemma4_feed_forward"]

EVERY = 6
"""Every sixth layer sees the whole context where `layer_types` is absent (fact; Gemma4TextConfig)."""


def gemma4_attention(fields: Fields, base: Base) -> Block:
    """Sliding layers as `head_dim` and `num_key_value_heads` say, full ones as their `global` forms do.

    With `attention_k_eq_v` full layers have no value projection; engines store keys and values all the same.
    """
    own = read_heads(fields, base, Style(qk_norm="head", head_dim=256))
    size = fields.count("global_head_dim")
    same = fields.flag("attention_k_eq_v", False)
    kv_heads = fields.count("num_global_key_value_heads", own.kv_heads)
    for name in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        if fields.count(name, 0, least=0):
            fields.clash(name, "is above 0: embeddings and caches shared by layers are not counted yet")
    fields.flag("use_double_wide_mlp", False)
    fields.optional("vocab_size_per_layer_input")
    whole = replace(own, k_dim=size, v_dim=size, kv_heads=kv_heads if same else own.kv_heads, value=not same)
    reach = reaches(fields, base.layers, f"every {EVERY}")

    def weights(layer: int) -> Iterator[Weight]:
        return head_weights(f"layers.{layer}.self_attn", base.hidden, whole if reach[layer] == WHOLE else own)

    caches = [cache_of(whole if kind == WHOLE else own, kind) for kind in reach]
    return Block(weights, caches, {"attention_heads": own.heads, "kv_heads": own.kv_heads, "head_dim": own.k_dim})


def gemma4_feed_forward(fields: Fields, base: Base) -> Block:
    """The dense MLP of every layer, and experts with norms of their own where `enable_moe_block`."""
    plain = dense(fields, base)
    if not fields.flag("enable_moe_block", False):
        for name in ("num_experts", "moe_intermediate_size", "expert_intermediate_size", "top_k_experts"):
            fields.optional(name)
        return plain
    count = fields.count("num_experts", most=100_000)
    width = fields.count(fields.first("moe_intermediate_size", "expert_intermediate_size"))
    chosen = read_chosen(fields, count, "top_k_experts")

    def weights(layer: int) -> Iterator[Weight]:
        name = f"layers.{layer}"
        yield from plain.weights(layer)
        yield Weight(f"{name}.router.proj", "router", count, base.hidden)
        yield vector(f"{name}.router.scale", "router", base.hidden)
        yield vector(f"{name}.router.per_expert_scale", "router", count)
        yield from gated(f"{name}.experts.0", "experts", base.hidden, width, copies=count)
        for part in ("pre_feedforward_layernorm_2", "post_feedforward_layernorm_1", "post_feedforward_layernorm_2"):
            yield from norm(f"{name}.{part}", base.hidden)

    return Block(weights, facts={**plain.facts, **expert_facts(Experts(count, width, 0), chosen, base.layers)})
