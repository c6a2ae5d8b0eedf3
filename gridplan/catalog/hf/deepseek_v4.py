"""DeepSeek V4: one vector a token as key and value, compressed beyond a window, and streams mixed around each half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.catalog.hf.base import Base, Plan, grouped, read_base
from gridplan.catalog.hf.fields import Fields
from gridplan.catalog.hf.moe import Experts, expert_facts, gated, read_chosen
from gridplan.catalog.hf.weights import Weight, as_part, linear, norm, vector

__all__ = ["deepseek_v4"]

FP8_ENTRY_BYTES = 584
"""One entry in an 8-bit cache: 448 FP8, 64 BF16 and 8 of scales (fact; vLLM's fp8_ds_mla for head_dim 512)."""
INDEXED = 4
"""The compression at which a layer has an indexer and gathers overlapping windows (fact; published inference code)."""


@dataclass(frozen=True, slots=True)
class _Own:
    heads: int
    head_dim: int
    rope: int
    q_rank: int
    o_rank: int
    o_groups: int
    index_heads: int
    index_dim: int
    window: int
    streams: int
    hash_layers: int
    experts: Experts
    chosen: int


def deepseek_v4(fields: Fields) -> Plan:
    """The plan of a DeepSeek V4; `compress_ratios` has one item a layer, and may have more for extra layers."""
    base = read_base(fields, tied=False)
    own = _own(fields)
    extra = fields.count("num_nextn_predict_layers", 0, least=0, most=100)
    ratios = fields.counts("compress_ratios")
    if not base.layers <= len(ratios) <= base.layers + extra:
        fields.clash("compress_ratios", f"has {len(ratios)} items; the model has {base.layers} layers")
    fields.report.raise_if_any()
    weights = [Weight("embed", "embedding", base.vocab, base.hidden), *norm("norm", base.hidden)]
    weights += linear("head", "lm_head", base.hidden, base.vocab)
    weights += _head_mix("hc_head", base.hidden, own)
    for layer, ratio in enumerate(ratios[: base.layers]):
        weights += _layer(f"layers.{layer}", base, own, ratio, layer < own.hash_layers)
    caches = [cache for ratio in ratios[: base.layers] for cache in _caches(own, ratio)]
    facts: dict[str, Any] = {"attention_heads": own.heads, "kv_heads": 1, "head_dim": own.head_dim}
    facts |= {"kv_lora_rank": own.head_dim - own.rope, "qk_rope_head_dim": own.rope, "q_lora_rank": own.q_rank}
    facts |= {"index_head_dim": own.index_dim, **expert_facts(own.experts, own.chosen, base.layers)}
    mtp = tuple(_mtp(base, own, extra))
    return Plan(base, tuple(weights), grouped(caches), facts, {"mtp": mtp} if mtp else {})


def _own(fields: Fields) -> _Own:
    width, experts = fields.count("moe_intermediate_size"), fields.count("n_routed_experts", most=100_000)
    shared = fields.count("n_shared_experts", 1, least=1, most=1)
    head_dim, rope = fields.count("head_dim"), fields.count("qk_rope_head_dim")
    if head_dim <= rope:
        fields.clash("qk_rope_head_dim", f"must be below head_dim {head_dim}; {rope} is not")
    fields.count("num_key_value_heads", 1, most=1)
    if fields.flag("attention_bias", False):
        fields.clash("attention_bias", "is true: which projections have biases is not understood")
    return _Own(
        heads=fields.count("num_attention_heads"),
        head_dim=head_dim,
        rope=rope,
        q_rank=fields.count("q_lora_rank"),
        o_rank=fields.count("o_lora_rank"),
        o_groups=fields.count("o_groups"),
        index_heads=fields.count("index_n_heads"),
        index_dim=fields.count("index_head_dim"),
        window=fields.count("sliding_window"),
        streams=fields.count("hc_mult"),
        hash_layers=fields.count("num_hash_layers", 0, least=0),
        experts=Experts(experts, width, shared * width),
        chosen=read_chosen(fields, experts, "num_experts_per_tok"),
    )


def _caches(own: _Own, ratio: int) -> Iterator[dict[str, Any]]:
    """What a layer keeps: the window, and if it compresses one entry for so many tokens and the work beside it."""
    entry = {"fp8_entry_bytes": FP8_ENTRY_BYTES} if (own.head_dim, own.rope) == (512, 64) else {}
    window = _row(own.head_dim, own.window) | entry
    if not ratio:
        yield window
        return
    latent = {"kv_lora_rank": own.head_dim - own.rope, "qk_rope_head_dim": own.rope}
    index = {"index_head_dim": own.index_dim} if ratio == INDEXED else {}
    yield {"kind": "sparse_mla" if index else "mla", **latent, **index, "compression": float(ratio), **entry}
    yield window | {"beside": True}
    overlap = 2 if ratio == INDEXED else 1
    yield _row(2 * overlap * own.head_dim, overlap * ratio) | {"kv_bits": 32, "beside": True}
    if index:
        yield _row(2 * overlap * own.index_dim, overlap * ratio) | {"kv_bits": 32, "beside": True}


def _row(size: int, window: int) -> dict[str, Any]:
    """One vector a token that is stored once, of the last tokens."""
    return {"kind": "sliding", "kv_heads": 1, "k_head_dim": size, "v_head_dim": 0, "window_tokens": window}


def _layer(name: str, base: Base, own: _Own, ratio: int, hashed: bool) -> Iterator[Weight]:
    yield from norm(f"{name}.attn_norm", base.hidden)
    yield from norm(f"{name}.ffn_norm", base.hidden)
    mixes = (2 + own.streams) * own.streams
    for half in ("attn", "ffn"):
        yield Weight(f"{name}.hc_{half}_fn", "norms", mixes, own.streams * base.hidden)
        yield vector(f"{name}.hc_{half}_base", "norms", mixes + 3)
    yield from _attention(f"{name}.attn", base.hidden, own, ratio)
    yield Weight(f"{name}.ffn.gate", "router", own.experts.count, base.hidden)
    if not hashed:  # hashed layers look experts up in a table of whole numbers, which are no parameters
        yield vector(f"{name}.ffn.gate.bias", "router", own.experts.count)
    names = ("w1", "w3", "w2")
    copies = own.experts.count
    yield from gated(f"{name}.ffn.experts.0", "experts", base.hidden, own.experts.width, copies=copies, names=names)
    shared = own.experts.shared_width
    yield from gated(f"{name}.ffn.shared_experts", "shared_experts", base.hidden, shared, names=names)


def _attention(name: str, hidden: int, own: _Own, ratio: int) -> Iterator[Weight]:
    wide = own.heads * own.head_dim
    yield vector(f"{name}.attn_sink", "attention", own.heads)
    yield from linear(f"{name}.wq_a", "attention", hidden, own.q_rank)
    yield from norm(f"{name}.q_norm", own.q_rank)
    yield from linear(f"{name}.wq_b", "attention", own.q_rank, wide)
    yield from linear(f"{name}.wkv", "attention", hidden, own.head_dim)
    yield from norm(f"{name}.kv_norm", own.head_dim)
    yield from linear(f"{name}.wo_a", "attention", wide // own.o_groups, own.o_groups * own.o_rank)
    yield from linear(f"{name}.wo_b", "attention", own.o_groups * own.o_rank, hidden)
    if ratio:
        yield from _compressor(f"{name}.compressor", hidden, own.head_dim, ratio)
    if ratio == INDEXED:
        yield from linear(f"{name}.indexer.wq_b", "indexer", own.q_rank, own.index_heads * own.index_dim)
        yield Weight(f"{name}.indexer.weights_proj", "indexer", own.index_heads, hidden)
        yield from as_part(_compressor(f"{name}.indexer.compressor", hidden, own.index_dim, ratio), "indexer")


def _compressor(name: str, hidden: int, size: int, ratio: int) -> Iterator[Weight]:
    """Projections that gather tokens into one entry; they stay in 16 bits in the published checkpoints."""
    wide = size * (2 if ratio == INDEXED else 1)
    yield vector(f"{name}.ape", "attention", ratio * wide)
    yield Weight(f"{name}.wkv", "attention", wide, hidden)
    yield Weight(f"{name}.wgate", "attention", wide, hidden)
    yield from norm(f"{name}.norm", size)


def _head_mix(name: str, hidden: int, own: _Own) -> Iterator[Weight]:
    yield Weight(f"{name}_fn", "norms", own.streams, own.streams * hidden)
    yield vector(f"{name}_base", "norms", own.streams + 1)


def _mtp(base: Base, own: _Own, layers: int) -> Iterator[Weight]:
    for index in range(layers):
        name = f"mtp.{index}"
        yield from as_part(_layer(name, base, own, 0, hashed=False), "mtp")
        for part in ("e_proj", "h_proj"):
            yield from linear(f"{name}.{part}", "mtp", base.hidden, base.hidden)
        for part in ("enorm", "hnorm", "norm"):
            yield from as_part(norm(f"{name}.{part}", base.hidden), "mtp")
        yield from as_part(_head_mix(f"{name}.hc_head", base.hidden, own), "mtp")
