"""Falcon: attention and MLP side by side, a fused projection, LayerNorms with biases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridplan.catalog.hf.attention import Heads, cache_of, head_weights
from gridplan.catalog.hf.base import Plan, grouped, read_base
from gridplan.catalog.hf.ends import ends
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight, linear, norm

__all__ = ["falcon"]


def falcon(fields: Fields) -> Plan:
    """The plan of a Falcon 7B, 40B or 180B; one key and value head where `multi_query` and not the new architecture."""
    base = read_base(fields, tied=True)
    heads = fields.count("num_attention_heads")
    new = fields.flag("new_decoder_architecture", False)
    single = fields.flag("multi_query", True) and not new
    stated = fields.count(fields.first("num_kv_heads", "num_key_value_heads"), heads)
    kv_heads = 1 if single else stated
    bias = fields.flag("bias", False)
    width = fields.count("ffn_hidden_size", 4 * base.hidden)
    parallel = fields.flag("parallel_attn", True)
    if base.hidden % heads:
        fields.clash("num_attention_heads", f"must divide hidden_size {base.hidden}; {heads} does not")
    norms = fields.count("num_ln_in_parallel_attn", 2 if new else 1, most=2)
    if not parallel:
        norms = 2
    if fields.flag("alibi", False):
        fields.report.note("alibi: positions have no weights")
    fields.report.raise_if_any()
    size = base.hidden // heads
    own = Heads(heads, kv_heads, size, size, bias, bias)
    weights = list(ends(base, norm_bias=True))
    for layer in range(base.layers):
        weights += _layer(f"layers.{layer}", base.hidden, own, width, norms, bias)
    facts: dict[str, Any] = {"attention_heads": heads, "kv_heads": kv_heads, "head_dim": size}
    facts |= {"intermediate_size": width}
    return Plan(base, tuple(weights), grouped([cache_of(own, WHOLE)] * base.layers), facts)


def _layer(name: str, hidden: int, own: Heads, width: int, norms: int, bias: bool) -> Iterator[Weight]:
    for index in range(norms):
        yield from norm(f"{name}.ln_{index}", hidden, bias=True)
    yield from head_weights(f"{name}.self_attention", hidden, own)
    yield from linear(f"{name}.mlp.dense_h_to_4h", "mlp", hidden, width, bias)
    yield from linear(f"{name}.mlp.dense_4h_to_h", "mlp", width, hidden, bias)
