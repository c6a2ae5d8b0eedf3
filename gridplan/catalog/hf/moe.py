"""The feed-forward half of a layer: dense, or routed experts with shared ones beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.base import Base, Block
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.weights import Weight, linear, vector

__all__ = [
    "Experts",
    "MoeStyle",
    "dense",
    "expert_facts",
    "expert_weights",
    "gated",
    "mixture",
    "read_chosen",
    "sparse_layers",
]


@dataclass(frozen=True, slots=True)
class MoeStyle:
    """What a model type fixes of its experts: names of the fields and of the modules.

    `correction` adds one number an expert to the router (`e_score_correction_bias`), `biases` a bias to every matrix of
    experts and router, `shared_gate` a gate of the shared expert. `shared_of` names the field with the width of the
    shared expert, where it is not the number of shared experts times their width. `must_say` are fields whose
    absence would mean a default that differs by architecture.
    """

    module: str = "mlp"
    router: str = "gate"
    names: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")
    shared: str = "shared_experts"
    correction: bool = False
    biases: bool = False
    shared_gate: bool = False
    shared_of: str = ""
    dense_width: str = "intermediate_size"
    expert_width: tuple[str, ...] = ("moe_intermediate_size",)
    must_say: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experts:
    """Experts of one layer."""

    count: int
    width: int
    shared_width: int


def gated(name: str, part: str, hidden: int, width: int, bias: bool = False, copies: int = 1,
          names: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")) -> Iterator[Weight]:  # fmt: skip
    """Gate, up and down of an MLP, or of `copies` experts."""
    gate, up, down = names
    yield from linear(f"{name}.{gate}", part, hidden, width, bias, copies)
    yield from linear(f"{name}.{up}", part, hidden, width, bias, copies)
    yield from linear(f"{name}.{down}", part, width, hidden, bias, copies)


def dense(fields: Fields, base: Base, biased: bool = False) -> Block:
    """The same gated MLP in every layer; `biased` models say by `mlp_bias` whether it has biases."""
    width = fields.count("intermediate_size")
    bias = fields.flag("mlp_bias", False) if biased else False
    return Block(
        lambda layer: gated(f"layers.{layer}.mlp", "mlp", base.hidden, width, bias), facts={"intermediate_size": width}
    )


def mixture(fields: Fields, base: Base, style: MoeStyle) -> Block:
    """Routed experts in the layers that have them, a dense MLP in the others."""
    experts = fields.count(fields.first("num_experts", "num_local_experts", "n_routed_experts"), most=100_000)
    chosen = read_chosen(fields, experts, "num_experts_per_tok", "num_experts_per_token", "moe_topk")
    fields.must_say(*style.must_say)
    width = fields.count(fields.first(*style.expert_width))
    sparse = sparse_layers(fields, base)
    own = Experts(experts, width, _shared_width(fields, style, width))
    plain = fields.count(style.dense_width) if not all(sparse) else fields.optional(style.dense_width)

    def weights(layer: int) -> Iterator[Weight]:
        name = f"layers.{layer}.{style.module}"
        if layer < base.layers and not sparse[layer]:
            return gated(name, "mlp", base.hidden, plain or 1)
        return expert_weights(name, base.hidden, own, style)

    return Block(weights, facts={"intermediate_size": plain, **expert_facts(own, chosen, sum(sparse))})


def read_chosen(fields: Fields, experts: int, *names: str) -> int:
    """Experts that one token is sent to, under the first of these names."""
    name = fields.first(*names)
    chosen = fields.count(name, most=100_000)
    if chosen > experts:
        fields.clash(name, f"is {chosen}, above the {experts} experts")
    return chosen


def expert_facts(own: Experts, chosen: int, layers: int) -> dict[str, Any]:
    """Fields of the entry that describe the experts."""
    facts = {"moe_intermediate_size": own.width, "num_experts": own.count, "experts_per_token": chosen}
    return facts | {"num_moe_layers": layers}


def _shared_width(fields: Fields, style: MoeStyle, width: int) -> int:
    """Width of all shared experts together; 0 where there is none."""
    if style.shared_of:
        return fields.count(style.shared_of, least=0)
    return fields.count(fields.first("n_shared_experts", "num_shared_experts"), 0, least=0, most=1000) * width


def sparse_layers(fields: Fields, base: Base) -> list[bool]:
    """Which layers have experts: by list, by the first dense ones, and by the step between them."""
    layers = base.layers
    first = fields.count("first_k_dense_replace", 0, least=0)
    step = fields.count("decoder_sparse_step", 1)
    listed = fields.of_layers("mlp_layer_types", ("dense", "sparse"), layers)
    plain = set(fields.counts("mlp_only_layers"))
    outside = sorted(layer for layer in plain if layer >= layers)
    if outside:
        fields.clash("mlp_only_layers", f"names layer {outside[0]}; the model has {layers}, counted from 0")
    by_step = [i >= first and (i + 1) % step == 0 and i not in plain for i in range(layers)]
    frequency = fields.data.get("moe_layer_freq")
    if isinstance(frequency, list):
        flags = fields.counts("moe_layer_freq")
        return [flag != 0 for flag in flags] if flags and fields.one_each("moe_layer_freq", flags, layers) else by_step
    every = fields.count("moe_layer_freq", 1)
    by_step = [flag and i % every == 0 for i, flag in enumerate(by_step)]
    if not listed:
        return by_step
    named = [kind == "sparse" for kind in listed]
    if fields.has("first_k_dense_replace") and named != by_step:
        fields.clash("mlp_layer_types", "contradicts first_k_dense_replace and moe_layer_freq")
    return named


def expert_weights(name: str, hidden: int, own: Experts, style: MoeStyle) -> Iterator[Weight]:
    """Router, routed experts and shared expert of one layer."""
    yield Weight(f"{name}.{style.router}", "router", own.count, hidden)
    if style.biases:
        yield vector(f"{name}.{style.router}.bias", "router", own.count)
    if style.correction:
        yield vector(f"{name}.{style.router}.e_score_correction_bias", "router", own.count)
    routed = f"{name}.experts.0"
    yield from gated(routed, "experts", hidden, own.width, style.biases, own.count, style.names)
    if own.shared_width:
        yield from gated(f"{name}.{style.shared}", "shared_experts", hidden, own.shared_width)
        if style.shared_gate:
            yield Weight(f"{name}.{style.shared}_gate", "shared_experts", 1, hidden)
