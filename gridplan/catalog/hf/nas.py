"""Models found by architecture search (Llama-Nemotron): every block states its own heads and its own MLP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.attention import Heads, cache_of, head_weights
from gridplan.catalog.hf.base import Base, Plan, grouped, read_base
from gridplan.catalog.hf.ends import ends
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.moe import gated
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight, linear, norm

__all__ = ["nemotron_nas"]

MULTIPLE = 256
"""The width of an MLP is rounded up to it (fact; modeling_decilm.py of the published models)."""


@dataclass(frozen=True, slots=True)
class _Block:
    heads: Heads | None
    linear_attention: bool
    width: int
    linear_mlp: bool


def nemotron_nas(fields: Fields) -> Plan:
    """The plan of a model with `block_configs`; blocks without attention keep no cache."""
    base = read_base(fields, tied=False)
    heads = fields.count("num_attention_heads")
    for name in ("num_key_value_heads", "intermediate_size"):
        fields.optional(name)
    size = fields.count("head_dim", max(1, base.hidden // heads))
    bias, mlp_bias = fields.flag("attention_bias", False), fields.flag("mlp_bias", False)
    blocks = [_block(item, base, Heads(heads, heads, size, size, bias, bias)) for item in _items(fields, base)]
    fields.report.raise_if_any()
    weights = list(ends(base))
    for layer, block in enumerate(blocks):
        weights += _weights(f"layers.{layer}", base, block, mlp_bias)
    caches = [{"kind": "shared"} if block.heads is None else cache_of(block.heads, WHOLE) for block in blocks]
    least = min((block.heads.kv_heads for block in blocks if block.heads), default=1)
    facts: dict[str, Any] = {"attention_heads": heads, "kv_heads": least, "head_dim": size}
    return Plan(base, tuple(weights), grouped(caches), facts)


def _items(fields: Fields, base: Base) -> list[Fields]:
    """The objects in `block_configs`, one a layer."""
    fields.report.seen.add(fields.key("block_configs"))
    blocks = fields.data.get("block_configs")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(item, dict) for item in blocks):
        fields.refuse("block_configs", "must be a list of one object a layer")
        return []
    fields.one_each("block_configs", blocks, base.layers)
    return [Fields(item, fields.report, f"{fields.key('block_configs')}[{i}].") for i, item in enumerate(blocks)]


def _block(item: Fields, base: Base, plain: Heads) -> _Block:
    attention, forward = item.sub("attention"), item.sub("ffn")
    for name in ("window_length", "num_sink_tokens", "sparsify"):
        if attention.has(name):
            attention.refuse(name, "is not understood: only attention to the whole context is")
    none, simple = attention.flag("no_op", False), attention.flag("replace_with_linear", False)
    heads = None
    if not none and not simple:
        group = attention.count("n_heads_in_group")
        if plain.heads % group:
            attention.clash("n_heads_in_group", f"must divide num_attention_heads {plain.heads}; {group} does not")
        kv_heads = max(1, plain.heads // group)
        heads = Heads(plain.heads, kv_heads, plain.k_dim, plain.v_dim, plain.qkv_bias, plain.o_bias)
    absent, matrix = forward.flag("no_op", False), forward.flag("replace_with_linear", False)
    width = 0 if absent or matrix else _width(forward.number("ffn_mult"), base.hidden)
    return _Block(heads, simple and not none, width, matrix and not absent)


def _width(multiple: float, hidden: int) -> int:
    """Width of an MLP from its multiple of the hidden size: two thirds of it, rounded up.

    >>> _width(5.25, 8192), _width(2.625, 8192)
    (28672, 14336)
    """
    return -(-int(2 * multiple * hidden / 3) // MULTIPLE) * MULTIPLE


def _weights(name: str, base: Base, block: _Block, mlp_bias: bool) -> Iterator[Weight]:
    if block.heads is not None or block.linear_attention:
        yield from norm(f"{name}.input_layernorm", base.hidden)
    if block.heads is not None:
        yield from head_weights(f"{name}.self_attn", base.hidden, block.heads)
    elif block.linear_attention:
        yield from linear(f"{name}.self_attn.linear_attn", "attention", base.hidden, base.hidden)
    if block.width or block.linear_mlp:
        yield from norm(f"{name}.post_attention_layernorm", base.hidden)
    if block.width:
        yield from gated(f"{name}.mlp", "mlp", base.hidden, block.width, mlp_bias)
    elif block.linear_mlp:
        yield from linear(f"{name}.mlp.linear_mlp", "mlp", base.hidden, base.hidden)
