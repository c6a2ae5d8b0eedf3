"""Gated delta net, the linear attention of Qwen3-Next and Qwen3.5: a state a sequence in place of keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.attention import Style, cache_of, head_weights, read_heads
from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight, linear, norm, vector

__all__ = ["STATE_BITS", "delta_hybrid", "state_bits"]

STATE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16}
_KINDS = ("linear_attention", "full_attention")


@dataclass(frozen=True, slots=True)
class _Delta:
    k_heads: int
    v_heads: int
    k_dim: int
    v_dim: int
    kernel: int
    fused: bool

    @property
    def mixed(self) -> int:
        """Channels that the convolution mixes: queries, keys and values."""
        return 2 * self.k_heads * self.k_dim + self.v_heads * self.v_dim


def delta_hybrid(fields: Fields, base: Base, fused: bool) -> Block:
    """Layers of linear attention, and every n-th of full attention with an output gate.

    `fused`: the inputs are projected by two matrices (Qwen3-Next) rather than four (Qwen3.5); the count is the same.
    """
    style = Style(o_bias=None, qk_norm="head", head_dim=256, gate=fields.flag("attn_output_gate", True))
    own = read_heads(fields, base, style)
    state = _Delta(
        k_heads=fields.count("linear_num_key_heads"),
        v_heads=fields.count("linear_num_value_heads"),
        k_dim=fields.count("linear_key_head_dim"),
        v_dim=fields.count("linear_value_head_dim"),
        kernel=fields.count("linear_conv_kernel_dim", least=2),
        fused=fused,
    )
    linear_layers = _linear_layers(fields, base)
    kept = {
        "kind": "state",
        "recurrent_elements": state.v_heads * state.k_dim * state.v_dim,
        "conv_elements": state.mixed * (state.kernel - 1),
        "recurrent_bits": state_bits(fields, "mamba_ssm_dtype", 16),
    }

    def weights(layer: int) -> Iterator[Weight]:
        if layer < base.layers and linear_layers[layer]:
            return _delta_weights(f"layers.{layer}.linear_attn", base.hidden, state)
        return head_weights(f"layers.{layer}.self_attn", base.hidden, own)

    caches: list[dict[str, Any]] = [kept if flag else cache_of(own, WHOLE) for flag in linear_layers]
    facts = {"attention_heads": own.heads, "kv_heads": own.kv_heads, "head_dim": own.k_dim}
    return Block(weights, caches, facts)


def state_bits(fields: Fields, name: str, default: int) -> int:
    """Bits of the recurrent state; the default and its reason are noted where the file is silent."""
    if not fields.has(name):
        fields.report.note(f"{name} is not in the file: a state of {default} bits is assumed")
    silent = next(key for key, bits in STATE_BITS.items() if bits == default)
    return STATE_BITS[fields.choice(name, STATE_BITS, silent)]


def _linear_layers(fields: Fields, base: Base) -> list[bool]:
    every = fields.count("full_attention_interval", 4)
    types = fields.of_layers("layer_types", _KINDS, base.layers)
    return [kind == "linear_attention" for kind in types] or [(i + 1) % every != 0 for i in range(base.layers)]


def _delta_weights(name: str, hidden: int, own: _Delta) -> Iterator[Weight]:
    values = own.v_heads * own.v_dim
    if own.fused:
        yield from linear(f"{name}.in_proj_qkvz", "state", hidden, own.mixed + values)
        yield from linear(f"{name}.in_proj_ba", "state", hidden, 2 * own.v_heads)
    else:
        yield from linear(f"{name}.in_proj_qkv", "state", hidden, own.mixed)
        yield from linear(f"{name}.in_proj_z", "state", hidden, values)
        yield from linear(f"{name}.in_proj_b", "state", hidden, own.v_heads)
        yield from linear(f"{name}.in_proj_a", "state", hidden, own.v_heads)
    yield Weight(f"{name}.conv1d", "state", own.mixed, own.kernel)
    yield vector(f"{name}.A_log", "state", own.v_heads)
    yield vector(f"{name}.dt_bias", "state", own.v_heads)
    yield from norm(f"{name}.norm", own.v_dim)
    yield from linear(f"{name}.out_proj", "state", values, hidden)
