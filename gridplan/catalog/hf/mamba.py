"""Mamba-2 layers, and the hybrids made of them: Nemotron-H (blocks of one sublayer) and Granite 4 (two)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.attention import Style, cache_of, head_weights, read_heads
from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.delta import state_bits
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight, linear, norm, vector

__all__ = ["Mamba", "granite_hybrid", "mamba_weights", "nemotron_mamba"]


@dataclass(frozen=True, slots=True)
class Mamba:
    """The sizes of one Mamba-2 layer."""

    heads: int
    head_dim: int
    state: int
    groups: int
    kernel: int
    projection_bias: bool
    conv_bias: bool

    @property
    def inner(self) -> int:
        """Channels of the state space model."""
        return self.heads * self.head_dim

    @property
    def mixed(self) -> int:
        """Channels that the convolution mixes: inputs and the two projections of the state."""
        return self.inner + 2 * self.groups * self.state

    def cache(self, bits: int) -> dict[str, Any]:
        """What a layer keeps of a sequence, whatever its length."""
        elements = {"recurrent_elements": self.inner * self.state, "conv_elements": self.mixed * (self.kernel - 1)}
        return {"kind": "state", **elements, "recurrent_bits": bits}


def nemotron_mamba(fields: Fields) -> Mamba:
    """The Mamba layers of Nemotron-H."""
    stated = fields.flag("use_bias", False)
    projection_bias = fields.flag("mamba_proj_bias", stated)
    if fields.has("use_bias") and projection_bias != stated:
        fields.clash("use_bias", "and mamba_proj_bias say otherwise of the biases of projections")
    return Mamba(
        heads=fields.count("mamba_num_heads"),
        head_dim=fields.count("mamba_head_dim"),
        state=fields.count("ssm_state_size"),
        groups=fields.count("n_groups"),
        kernel=fields.count("conv_kernel", least=2),
        projection_bias=projection_bias,
        conv_bias=fields.flag("use_conv_bias", True),
    )


def mamba_weights(name: str, hidden: int, own: Mamba) -> Iterator[Weight]:
    """Tensors of one Mamba-2 layer."""
    yield from linear(f"{name}.in_proj", "state", hidden, own.inner + own.mixed + own.heads, own.projection_bias)
    yield Weight(f"{name}.conv1d", "state", own.mixed, own.kernel)
    if own.conv_bias:
        yield vector(f"{name}.conv1d.bias", "state", own.mixed)
    for part in ("A_log", "D", "dt_bias"):
        yield vector(f"{name}.{part}", "state", own.heads)
    yield from norm(f"{name}.norm", own.inner)
    yield from linear(f"{name}.out_proj", "state", own.inner, hidden, own.projection_bias)


def granite_hybrid(fields: Fields, base: Base) -> Block:
    """Mamba-2 and attention layers of Granite 4, as `layer_types` names them."""
    own = Mamba(
        heads=fields.count("mamba_n_heads"),
        head_dim=fields.count("mamba_d_head"),
        state=fields.count("mamba_d_state"),
        groups=fields.count("mamba_n_groups", 1),
        kernel=fields.count("mamba_d_conv", least=2),
        projection_bias=fields.flag("mamba_proj_bias", False),
        conv_bias=fields.flag("mamba_conv_bias", True),
    )
    heads = read_heads(fields, base, Style())
    types = fields.of_layers("layer_types", ("mamba", "attention"), base.layers)
    if not types:
        fields.refuse("layer_types", "is missing; it says which layers are Mamba layers")
        types = ["attention"] * base.layers
    kept = own.cache(state_bits(fields, "mamba_ssm_cache_dtype", 16))

    def weights(layer: int) -> Iterator[Weight]:
        if types[layer] == "mamba":
            return mamba_weights(f"layers.{layer}.mamba", base.hidden, own)
        return head_weights(f"layers.{layer}.self_attn", base.hidden, heads)

    caches = [kept if kind == "mamba" else cache_of(heads, WHOLE) for kind in types]
    facts = {"attention_heads": heads.heads, "kv_heads": heads.kv_heads, "head_dim": heads.k_dim}
    return Block(weights, caches, facts)
