"""Attention with keys and values of its own: multi-head, grouped-query and multi-query, full, sliding or chunked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.sliding import Reach, reaches
from gridplan.catalog.hf.weights import Weight, linear, norm, vector

__all__ = ["Heads", "Style", "attention", "cache_of", "head_weights", "read_heads"]


@dataclass(frozen=True, slots=True)
class Style:
    """What a model type fixes of its attention and its config does not say.

    A bias is True or False where the model type fixes it, and None where `attention_bias` says. `qk_norm` is none, head
    (over one head), full (over all heads of a projection), or a text `field:X` where the flag X switches X on per head.
    `gate` doubles the query projection (an output gate), `sinks` adds one number a head. `biased` is what a silent
    `attention_bias` means, `multi_head` says that without `num_key_value_heads` there are as many as query heads.
    """

    qkv_bias: bool | None = None
    o_bias: bool | None = None
    qk_norm: str = "none"
    windows: str = "none"
    head_dim: int | None = None
    gate: bool = False
    sinks: bool = False
    biased: bool = False
    multi_head: bool = False


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of one layer, and what its projections have beside their matrices."""

    heads: int
    kv_heads: int
    k_dim: int
    v_dim: int
    qkv_bias: bool = False
    o_bias: bool = False
    qk_norm: str = "none"
    gate: bool = False
    sinks: bool = False
    value: bool = True


def read_heads(fields: Fields, base: Base, style: Style) -> Heads:
    """The heads that every layer has; a head dimension that is not stated is hidden size over heads."""
    heads = fields.count("num_attention_heads")
    kv_heads = _kv_heads(fields, heads, style)
    size = fields.optional("head_dim") or style.head_dim
    if size is None:
        if base.hidden % heads:
            fields.clash("head_dim", f"is missing, and hidden_size {base.hidden} is no multiple of {heads} heads")
        size = max(1, base.hidden // heads)
    if heads % kv_heads:
        fields.clash("num_key_value_heads", f"must divide num_attention_heads {heads}; {kv_heads} does not")
    stated = False
    if style.qkv_bias is not False or style.o_bias is None:  # else a bias that is stated was not understood
        stated = fields.flag("attention_bias", style.biased)
    return Heads(
        heads=heads,
        kv_heads=kv_heads,
        k_dim=size,
        v_dim=size,
        qkv_bias=stated if style.qkv_bias is None else style.qkv_bias,
        o_bias=stated if style.o_bias is None else style.o_bias,
        qk_norm=_qk_norm(fields, style.qk_norm),
        gate=style.gate,
        sinks=style.sinks,
    )


def _kv_heads(fields: Fields, heads: int, style: Style) -> int:
    if not style.multi_head:
        return fields.count("num_key_value_heads")
    if not fields.has("num_key_value_heads"):
        fields.report.note(f"num_key_value_heads is not in the file: {heads}, as many as attention heads")
    return fields.count("num_key_value_heads", heads)


def _qk_norm(fields: Fields, rule: str) -> str:
    """none, head or full; `field:head:use_qk_norm` is head where that flag is true."""
    if not rule.startswith("field:"):
        if rule != "none" and not fields.flag("use_qk_norm", True):
            fields.refuse("use_qk_norm", "is false, but this architecture has norms of queries and keys")
        return rule
    _, kind, flag = rule.split(":")
    return kind if fields.flag(flag, False) else "none"


def attention(fields: Fields, base: Base, style: Style) -> Block:
    """The attention of a model whose layers have the same heads."""
    own = read_heads(fields, base, style)
    reach = reaches(fields, base.layers, style.windows)
    return Block(
        weights=lambda layer: head_weights(f"layers.{layer}.self_attn", base.hidden, own),
        groups=[cache_of(own, kind) for kind in reach],
        facts={"attention_heads": own.heads, "kv_heads": own.kv_heads, "head_dim": own.k_dim},
    )


def cache_of(own: Heads, reach: Reach) -> dict[str, Any]:
    """What a layer keeps of a sequence."""
    kind, window = reach
    cache: dict[str, Any] = {"kind": kind, "kv_heads": own.kv_heads, "k_head_dim": own.k_dim, "v_head_dim": own.v_dim}
    return cache if window is None else cache | {"window_tokens": window}


def head_weights(name: str, hidden: int, own: Heads) -> Iterator[Weight]:
    """Projections of one layer with their biases, norms and sinks."""
    queries, keys, values = own.heads * own.k_dim, own.kv_heads * own.k_dim, own.kv_heads * own.v_dim
    yield from linear(f"{name}.q_proj", "attention", hidden, queries * (2 if own.gate else 1), own.qkv_bias)
    yield from linear(f"{name}.k_proj", "attention", hidden, keys, own.qkv_bias)
    if own.value:
        yield from linear(f"{name}.v_proj", "attention", hidden, values, own.qkv_bias)
    yield from linear(f"{name}.o_proj", "attention", own.heads * own.v_dim, hidden, own.o_bias)
    if own.qk_norm != "none":
        over_all = own.qk_norm == "full"
        yield from norm(f"{name}.q_norm", queries if over_all else own.k_dim)
        yield from norm(f"{name}.k_norm", keys if over_all else own.k_dim)
    if own.sinks:
        yield vector(f"{name}.sinks", "attention", own.heads)
