"""Weights of one cell in exact rational arithmetic: bytes part by part on the fullest rank, added up.

Part of the oracle: written from the design, it shares no formula with the chain. Counts of parameters come from the
geometry in the catalog's entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

__all__ = ["embedding_bytes", "expert_bytes", "parallel_problem", "rank_bytes", "stored_bytes"]

SIXTEEN: Mapping[str, str] = {"mxfp4": "others", "int4_experts": "others", "bf16": "", "fp16": "", "fp32": ""}


def _counts(model: Any) -> dict[str, int]:
    """Parameters by part; what is in no other part is dense."""
    experts = model.num_experts or 0
    plain = 0 if model.kv_lora_rank else model.kv_layers + model.num_sliding_layers + model.num_chunked_layers
    found = {
        "experts": int(model.params_routed_experts or 0),
        "embedding": model.vocab_size * model.hidden_size,
        "lm_head": 0 if model.tie_word_embeddings else model.vocab_size * model.hidden_size,
        "router": model.num_moe_layers * experts * model.hidden_size,
        "replicated": int(model.params_replicated),
        "kv": plain * model.kv_heads * (model.head_dim or 0) * model.hidden_size * 2,
    }
    return found | {"dense": int(model.params_total) - sum(found.values())}


def _bytes(model: Any, weight: str, bits: Fraction) -> dict[str, Fraction]:
    kept = SIXTEEN.get(weight, "tables")
    if kept == "others" and not _counts(model)["experts"]:
        kept = "tables"  # a dense model has no experts to quantise alone
    sixteen = {"": (), "tables": ("embedding", "lm_head", "router")}.get(kept)
    return {
        part: count * (Fraction(16) if (part != "experts" if sixteen is None else part in sixteen) else bits) / 8
        for part, count in _counts(model).items()
    }


def stored_bytes(model: Any, weight: str, bits: Fraction) -> Fraction:
    """Bytes of all parts of the text model."""
    return sum(_bytes(model, weight, bits).values(), Fraction(0))


def expert_bytes(model: Any, weight: str, bits: Fraction) -> Fraction:
    """Bytes of the routed experts."""
    return _bytes(model, weight, bits)["experts"]


def embedding_bytes(model: Any, weight: str, bits: Fraction) -> Fraction:
    """Bytes of the input embedding."""
    return _bytes(model, weight, bits)["embedding"]


def rank_bytes(model: Any, weight: str, bits: Fraction, degrees: Callable[[str], int]) -> Fraction:
    """Bytes on the fullest rank: of each part the largest piece that any rank holds."""
    tp, pp, dp, ep = (degrees(f"{name}_parallel") for name in ("tensor", "pipeline", "data", "expert"))
    part = _bytes(model, weight, bits)
    part["embedding"] += 2 * int(model.params_vision or 0)  # the tower stands on the first stage, in 16 bits
    layers, moe = model.num_layers, model.num_moe_layers
    stage = Fraction(ceil(Fraction(layers, pp)), layers)
    moe_stage = Fraction(1, pp)
    if moe:
        held = min(moe, ceil(Fraction(layers, pp))) if moe * 2 > layers else ceil(Fraction(moe, pp))
        moe_stage = Fraction(held, moe)
    whole = part["embedding"] + part["lm_head"] if pp == 1 else max(part["embedding"], part["lm_head"])
    held_heads = Fraction(max(1, ceil(Fraction(model.kv_heads, tp))), model.kv_heads)
    of_experts = Fraction(0)
    if model.num_experts:
        group = Fraction(ceil(Fraction(model.num_experts, ep)), model.num_experts)
        padded = Fraction(-(-model.hidden_size // 256) * 256, model.hidden_size) if weight == "mxfp4" else 1
        of_experts = part["experts"] * moe_stage * group / Fraction(tp * dp, ep) * padded
    replicated = (part["router"] + part["replicated"]) * max(stage, moe_stage)
    return of_experts + whole / tp + replicated + part["kv"] * held_heads * stage + part["dense"] * stage / tp


def parallel_problem(model: Any, degrees: Callable[[str], int]) -> str | None:
    """The label of the first split that is illegal beside tensor parallelism, or None."""
    tp, pp, dp, ep = (degrees(f"{name}_parallel") for name in ("tensor", "pipeline", "data", "expert"))
    dcp, width = degrees("decode_context_parallel"), model.moe_intermediate_size if model.num_experts else None
    copies = tp if model.kv_lora_rank else tp // model.kv_heads
    queries = dcp if model.kv_lora_rank else model.attention_heads // model.kv_heads
    illegal = {
        "pipeline_parallel_illegal": pp > model.num_layers,
        "data_parallel_illegal": ep == 1 and dp > 1 and width is not None and width % (tp * dp) != 0,
        "expert_parallel_illegal": ep > 1
        and (
            tp * dp % ep != 0
            or not model.num_experts
            or ep > model.num_experts
            or (width is not None and width % (tp * dp // ep) != 0)
        ),
        "context_parallel_illegal": dcp > 1
        and (tp % dcp != 0 or dcp > copies or queries % dcp != 0 or (not model.kv_lora_rank and tp <= model.kv_heads)),
    }
    return next((name for name, so in illegal.items() if so), None)
