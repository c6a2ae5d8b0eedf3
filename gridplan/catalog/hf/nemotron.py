"""Nemotron-H: every block has one sublayer, a Mamba-2 layer, attention, an MLP or experts, and one norm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gridplan.catalog.hf.attention import Heads, Style, cache_of, head_weights, read_heads
from gridplan.catalog.hf.base import Base, Plan, grouped, read_base
from gridplan.catalog.hf.delta import state_bits
from gridplan.catalog.hf.ends import ends
from gridplan.catalog.hf.fields import MOST_LAYERS, Fields
from gridplan.catalog.hf.mamba import Mamba, mamba_weights, nemotron_mamba
from gridplan.catalog.hf.moe import Experts, expert_facts, read_chosen
from gridplan.catalog.hf.sliding import WHOLE
from gridplan.catalog.hf.weights import Weight, linear, norm, vector

__all__ = ["nemotron_h"]

_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_h(fields: Fields) -> Plan:
    """The plan of a Nemotron-H; blocks of MLP or experts keep no cache."""
    kinds = _kinds(fields)
    base = read_base(fields, tied=False, layers=len(kinds))
    own = _heads(fields, base)
    mamba = nemotron_mamba(fields)
    bits = state_bits(fields, "mamba_ssm_cache_dtype", 32)
    experts = _Experts(fields, base) if "moe" in kinds else None
    width = fields.count("intermediate_size") if "mlp" in kinds else fields.optional("intermediate_size")
    bias = fields.flag("mlp_bias", False)
    if bias and experts is not None:
        fields.clash("mlp_bias", "is true: whether the experts have biases is not understood")
    fields.report.raise_if_any()
    caches = {"mamba": mamba.cache(bits), "attention": cache_of(own, WHOLE)}
    facts: dict[str, Any] = {"attention_heads": own.heads, "kv_heads": own.kv_heads, "head_dim": own.k_dim}
    facts |= {"intermediate_size": width}
    if experts is not None:
        facts |= expert_facts(experts.own, experts.chosen, kinds.count("moe"))
    weights: list[Weight] = list(ends(base))
    for layer, kind in enumerate(kinds):
        name = f"layers.{layer}.mixer"
        weights += norm(f"layers.{layer}.norm", base.hidden)
        weights += _mixer(kind, name, base, own, mamba, experts, (width or 1, bias))
    return Plan(
        base,
        tuple(weights),
        grouped(caches.get(kind, {"kind": "shared"}) for kind in kinds),
        facts,
        not_counted={"mtp": "the extra layers of Nemotron-H are not counted"} if _has_mtp(fields) else {},
    )


def _mixer(kind: str, name: str, base: Base, own: Heads, mamba: Mamba, experts: _Experts | None,
           mlp: tuple[int, bool]) -> Iterator[Weight]:  # fmt: skip
    if kind == "mamba":
        return mamba_weights(name, base.hidden, mamba)
    if kind == "attention":
        return head_weights(name, base.hidden, own)
    if kind == "moe" and experts is not None:
        return experts.weights(name)
    return _two(name, "mlp", base.hidden, *mlp)


def _has_mtp(fields: Fields) -> bool:
    for name in ("mtp_hybrid_override_pattern", "mtp_layers_block_type"):
        fields.first(name)
    return fields.count("num_nextn_predict_layers", 0, least=0) > 0


def _kinds(fields: Fields) -> list[str]:
    """The sublayer of each block, from a text of letters or a list of names."""
    listed = fields.texts("layers_block_type")
    letters = fields.text("hybrid_override_pattern")
    name = "layers_block_type" if listed else "hybrid_override_pattern"
    known = tuple(_LETTERS.values()) if listed else tuple(_LETTERS)
    items = listed or list(letters)
    odd = next((item for item in items if item not in known), None)
    if odd is not None:
        fields.refuse(name, f"{odd!r} is not understood; known: {', '.join(known)}")
    elif not items:
        fields.refuse(name, "is missing; it says what each block is")
    stated = fields.count("num_hidden_layers", len(items) or 1, most=MOST_LAYERS)
    if items and len(items) != stated:
        fields.clash(name, f"has {len(items)} blocks; num_hidden_layers says {stated}")
    return ["mlp"] if odd is not None or not items else [_LETTERS.get(item, item) for item in items[:MOST_LAYERS]]


def _heads(fields: Fields, base: Base) -> Heads:
    """Heads of attention; older files call their size `attention_head_dim`."""
    own = read_heads(fields, base, Style(head_dim=fields.optional("attention_head_dim")))
    return replace(own, o_bias=own.qkv_bias)


class _Experts:
    """Experts with two matrices (squared ReLU), that work on a latent of the hidden state where the file has one."""

    def __init__(self, fields: Fields, base: Base) -> None:
        count = fields.count("n_routed_experts", most=100_000)
        shared = fields.count("n_shared_experts", 0, least=0, most=1000)
        width = fields.count("moe_shared_expert_intermediate_size") if shared else 0
        self.own = Experts(count, fields.count("moe_intermediate_size"), shared * width)
        self.chosen = read_chosen(fields, count, "num_experts_per_tok")
        self.latent = fields.optional("moe_latent_size")
        self.hidden = base.hidden

    def weights(self, name: str) -> Iterator[Weight]:
        """Tensors of one block of experts."""
        yield Weight(f"{name}.gate", "router", self.own.count, self.hidden)
        yield vector(f"{name}.gate.e_score_correction_bias", "router", self.own.count)
        if self.latent is not None:
            yield from linear(f"{name}.fc1_latent_proj", "shared_experts", self.hidden, self.latent)
            yield from linear(f"{name}.fc2_latent_proj", "shared_experts", self.latent, self.hidden)
        inputs = self.latent or self.hidden
        yield from _two(f"{name}.experts.0", "experts", inputs, self.own.width, copies=self.own.count)
        if self.own.shared_width:
            yield from _two(f"{name}.shared_experts", "shared_experts", self.hidden, self.own.shared_width)


def _two(name: str, part: str, hidden: int, width: int, bias: bool = False, copies: int = 1) -> Iterator[Weight]:
    """An MLP without a gate."""
    yield from linear(f"{name}.up_proj", part, hidden, width, bias, copies)
    yield from linear(f"{name}.down_proj", part, width, hidden, bias, copies)
