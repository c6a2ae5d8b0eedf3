"""The formula behind each KV measure of a cell: by token where all cost the same, else by what layer groups charge."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan.dictionary import dictionary

__all__ = ["kv_formulas"]


def kv_formulas(known: Mapping[str, float]) -> dict[str, str]:
    """Formulas of the KV measures of one cell, by measure."""
    uniform = known.get("kv_uniform") == 1
    formulas = _by_token(known) if uniform else _by_groups()
    formulas |= _sequence(known, uniform)
    formulas |= _counts(known)
    if known.get("fraction_of_free") == 1 and math.isnan(known.get("kv_pool_bytes_given", math.nan)):
        left = "(gpu_memory_bytes - weights_bytes_per_gpu - workspace_bytes_per_gpu) * gpu_memory_utilization"
        formulas["kv_pool_bytes_per_gpu"] = f"max(0, {left})"
        formulas["memory_shortfall_bytes_per_gpu"] = f"max(0, -{left})"
    if not math.isnan(known.get("kv_pool_tokens_given", math.nan)):
        formulas["kv_pool_bytes_per_gpu"] = "kv_pool_tokens_given / data_parallel * kv_bytes_per_token_per_gpu"
        if uniform:
            formulas |= _measured_tokens(known)
    return formulas


def _measured_tokens(known: Mapping[str, float]) -> dict[str, str]:
    """Sequences in a pool that was measured in tokens, of which every rank of data parallelism holds its own."""
    one = known.get("data_parallel") == 1
    of_rank, over = ("kv_pool_tokens", "") if one else ("kv_pool_tokens / data_parallel", " * data_parallel")
    counts = {f"concurrency_memory_{name}": _charge(name) for name in ("expected", "mean", "residence")}
    if math.isnan(known.get("kv_bytes_per_sequence_given", math.nan)):
        counts["concurrency_memory"] = "kv_bytes_per_sequence_per_gpu"
    return {
        name: f"floor(kv_efficiency * {of_rank} * kv_bytes_per_token_per_gpu / {charge}){over}"
        for name, charge in counts.items()
    }


def _charge(name: str) -> str:
    """The charge behind one of the ceilings by memory."""
    return "kv_charge_final" if name == "expected" else f"kv_charge_{name}"


def _by_token(known: Mapping[str, float]) -> dict[str, str]:
    """Every token costs the same: by heads, by the latent vector, or the sum of several kinds of layer."""
    attention, _, latent = dictionary()["kv_bytes_per_token"].formula.partition("; MLA: ")
    latent, _, _ = latent.partition("; layer groups: ")
    rank, _, _ = dictionary()["kv_bytes_per_token_per_gpu"].formula.partition("; MLA")
    is_mla = known.get("kv_is_mla") == 1
    plain = _value(known, ("kv_layers", "kv_lora_rank", "qk_rope_head_dim"), latent=True)
    if not is_mla:
        plain = _value(known, ("kv_layers", "kv_heads", "head_dim"), latent=False)
    tokens, _, _ = dictionary()["kv_pool_tokens"].formula.partition("; layer groups")
    if known.get("decode_context_parallel") != 1:
        # A block of a rank is one of as many ranks that share a sequence.
        tokens = tokens.replace("kv_block_tokens", "kv_block_tokens * decode_context_parallel")
    if not math.isclose(plain, known.get("kv_bytes_per_token", math.nan), rel_tol=1e-9):
        return {
            "kv_pool_tokens": tokens,
            "kv_bytes_per_token": "sum over layer groups of layers * bytes of a token",
            "kv_bytes_per_token_per_gpu": "sum over layer groups of layers * bytes of a token on one rank",
        }
    shared = "kv_bytes_per_token * ceil(kv_layers / pipeline_parallel) / kv_layers / decode_context_parallel"
    return {
        "kv_pool_tokens": tokens,
        "kv_bytes_per_token": latent if is_mla else attention,
        "kv_bytes_per_token_per_gpu": shared if is_mla else rank,
    }


def _value(known: Mapping[str, float], names: tuple[str, str, str], latent: bool) -> float:
    """The plain formula per token with this cell's numbers [bytes]."""
    layers, a, b = (known.get(name, math.nan) for name in names)
    element = known.get("kv_bits", math.nan) / 8
    return layers * (a + b) * element if latent else 2 * layers * a * b * element


def _by_groups() -> dict[str, str]:
    return {
        "kv_bytes_per_token": "what a sequence of longest_tokens is charged in the whole model / longest_tokens",
        "kv_bytes_per_token_per_gpu": "kv_charge_longest_bytes / longest_tokens",
        "kv_pool_tokens": "floor(concurrency_at_limit * longest_tokens)",
        "kv_read_per_context_token_s": dictionary()["kv_read_per_context_token_s"].formula.replace(
            "kv_bytes_per_token_per_gpu", "kv_read_bytes_per_token_per_gpu"
        ),
        "decode_bytes": dictionary()["decode_bytes"].formula.replace("kv_bytes_per_token", "kv_read_bytes_per_token"),
    }


def _sequence(known: Mapping[str, float], uniform: bool) -> dict[str, str]:
    if not math.isnan(known.get("kv_bytes_per_sequence_given", math.nan)):
        formula = "kv_bytes_per_sequence_given * kv_rank_share"
        return {"kv_bytes_per_sequence_per_gpu": formula}
    linear = "resident_tokens * kv_bytes_per_token_per_gpu"
    if known.get("kv_efficiency") == 1 or not uniform:
        # Several classes are charged one by one, so the mean is not the charge of the mean length.
        one_class = known.get("context_tokens_mean") == known.get("context_tokens_max")
        blocks = "ceil(resident_tokens / kv_block_tokens) * kv_block_tokens * kv_bytes_per_token_per_gpu"
        several = "sum over layer groups of whole blocks, mean over classes"
        dcp = known.get("decode_context_parallel") != 1
        return {"kv_bytes_per_sequence_per_gpu": blocks if uniform and one_class and not dcp else several}
    return {"kv_bytes_per_sequence_per_gpu": linear}


def _counts(known: Mapping[str, float]) -> dict[str, str]:
    """Sequences that fit: in whole pages where nothing else stands for what pages lose."""
    in_pages = known.get("kv_efficiency") == 1 and known.get("kv_page_bytes", 0.0) > 0
    pool = "kv_pool_usable_bytes" if in_pages else "kv_efficiency * kv_pool_bytes_per_gpu"
    charges = {f"concurrency_memory_{name}": _charge(name) for name in ("expected", "mean", "residence")}
    charges["concurrency_memory"] = "kv_bytes_per_sequence_per_gpu"
    return {
        **{name: f"floor({pool} / {charge}) * data_parallel" for name, charge in charges.items()},
        "concurrency_memory_worst": "floor(kv_pool_usable_bytes / kv_charge_longest_bytes) * data_parallel",
    }
