"""SGLang's start-up log in the normal form.

The sentences are those of python/sglang/srt/model_executor/model_runner.py (and its model_runner_kv_cache_mixin.py),
mem_cache/memory_pool.py and managers/scheduler.py, 0.3 to 0.5. SGLang prints GB and means GiB: it divides by 1 << 30.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gridplan.measured.engine_log import EngineLog, Reading
from gridplan.measured.log_rules import Found, collect, collect_keys, compile_keys, compile_rules
from gridplan.measured.log_text import LogText
from gridplan.measured.normal_form import normal_form

__all__ = ["BANNERS", "ENDS", "LOOKED_FOR", "sglang_log", "sglang_sentences"]

BANNERS = (re.compile(r"server_args=(?:ServerArgs\(|\{)"),)
"""What a start-up begins with."""

LOOKED_FOR = ("server_args=ServerArgs(", "Load weight end.", "KV Cache is allocated.")
"""Sentences that a person can look for, for messages."""

RULES = compile_rules(
    [
        "Load weight begin. avail mem={free_bytes} GB",
        "Load weight end. ... avail mem={free_after_load_bytes} GB",
        "Load weight end. ... mem usage={weights_bytes} GB",
        "Load weight end. ... dtype=torch.{dtype},",
        "Load weight end. ... quant={quantization},",
        "Using KV cache dtype: torch.{kv_cache_dtype}",
        "KV Cache is allocated. ... K size: {k_bytes} GB, V size: {v_bytes} GB",
        "KV Cache is allocated. K size: {k_bytes} GB, V size: {v_bytes} GB",
        "KV Cache is allocated. ... KV size: {kv_bytes} GB",
        "KV Cache is allocated. ... #tokens: {pool_tokens}",
        "KV Cache is allocated. #tokens: {pool_tokens}",
        "sliding window memory pool. full_layer_tokens={full_tokens}, swa_layer_tokens={sliding_tokens}",
        "conv_state size: {conv_bytes}GB",
        "ssm_state size: {ssm_bytes}GB",
        "Memory pool end. avail mem={pool_end_bytes} GB",
        "uda graph end. ... mem usage={cuda_graphs_bytes} GB",
        "UDA graph end. ... mem usage={cuda_graphs_bytes} GB",
        "max_total_num_tokens={kv_tokens},",
        "chunked_prefill_size={max_num_batched_tokens},",
        "max_running_requests={max_num_seqs},",
        "context_len={max_model_len}",
    ]
)
_REFUSALS = (
    re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static"),
    re.compile(r"Loading (?:the )?model weights? .{0,40}out of memory", re.IGNORECASE),
)
ENDS = (re.compile(r"Memory pool end\.|max_total_num_tokens=\d"), *_REFUSALS)
"""What a start-up has printed when it has its pool, or when it gives up."""

_ARGUMENTS = re.compile(r"server_args=(?:ServerArgs\(|\{)")
_KEYS = {
    "model_path": "model",
    "tp_size": "tensor_parallel",
    "pp_size": "pipeline_parallel",
    "dp_size": "data_parallel",
    "ep_size": "expert_ranks",
    "enable_ep_moe": "expert_parallel",
    "enable_dp_attention": "attention_data_parallel",
    "mem_fraction_static": "memory_fraction",
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "context_length": "max_model_len",
    "max_total_tokens": "pool_limit_tokens",
    "disable_cuda_graph": "enforce_eager",
    "page_size": "block_size",
}
_PATTERNS = compile_keys(_KEYS)


def sglang_sentences(text: LogText) -> int:
    """How many of SGLang's sentences occur."""
    return sum(rule.search(text.text) is not None for rule in (*RULES, *BANNERS))


def _found(text: LogText) -> Found:
    """Every value that SGLang's sentences and its printed arguments hold."""
    found: Found = {}
    collect(text, RULES, found)
    for name, readings in collect_keys(text, _ARGUMENTS, _KEYS, _PATTERNS).items():
        found.setdefault(name, []).extend(readings)
    return found


def sglang_log(file: str, text: LogText, start: int, starts: int) -> EngineLog:
    """One start-up of SGLang in the normal form."""
    found = _found(text)
    ends = _pool_ends(found)
    notes = _without_draft(found, ends)
    _pools(found)
    _tokens(found)
    _summed(found, "state_bytes", ("conv_bytes", "ssm_bytes"))
    _summed(found, "cuda_graphs_bytes", ("cuda_graphs_bytes",))
    notes += _parallelism(found)
    # All ranks take the least that any of them has free (profile_max_num_token, `distributed=True`).
    for name in ("free_bytes", "free_after_load_bytes"):
        if found.get(name):
            found[name] = [min(found[name], key=lambda reading: reading.value)]
    return normal_form(file, "sglang", None, text, found, _REFUSALS, start, starts, notes)


def _pool_ends(found: Found) -> dict[str, int]:
    """By rank, the line where the target model's pool is finished; what follows belongs to a draft model."""
    ends: dict[str, int] = {}
    for reading in found.get("pool_end_bytes", ()):
        ends.setdefault(reading.rank, reading.line)
    return ends


def _without_draft(found: Found, ends: dict[str, int]) -> list[str]:
    """Drop what a draft model prints in the words of the target: what comes after the target's pool of that rank."""
    dropped: list[Reading[Any]] = []
    for name in ("free_bytes", "free_after_load_bytes", "weights_bytes", "k_bytes", "v_bytes", "kv_bytes"):
        late = [item for item in found.get(name, ()) if item.line > ends.get(item.rank, item.line)]
        dropped += late
        found[name] = [item for item in found.get(name, ()) if item not in late]
    tokens = [item for item in found.get("pool_tokens", ()) if item.line <= ends.get(item.rank, item.line)]
    found["pool_tokens"] = tokens
    if not dropped:
        return []
    return [f"line {dropped[0].line} on: a draft model with weights and a pool of its own, which are left out"]


def _pools(found: Found) -> None:
    """The pool of each rank: keys and values of all its layers, or of full and sliding layers together."""
    by_rank: dict[str, dict[int, float]] = {}
    steps: dict[str, dict[int, float]] = {}
    for name in ("k_bytes", "v_bytes", "kv_bytes"):
        for reading in dict.fromkeys(found.get(name, ())):
            sizes, halves = by_rank.setdefault(reading.rank, {}), steps.setdefault(reading.rank, {})
            sizes[reading.line] = sizes.get(reading.line, 0.0) + reading.value
            halves[reading.line] = halves.get(reading.line, 0.0) + reading.half_step
    for rank, sizes in by_rank.items():
        reading = Reading(sum(sizes.values()), min(sizes), sum(steps[rank].values()), rank)
        found.setdefault("kv_pool_bytes", []).append(reading)


def _tokens(found: Found) -> None:
    """Tokens that a sequence may take: those of the full layers; the scheduler's figure where the pool names none."""
    full = found.get("full_tokens", [])
    pools = found.get("pool_tokens", [])
    if full:
        found["kv_tokens"] = full
    elif pools:
        most: dict[str, Reading[Any]] = {}
        for reading in pools:
            if reading.rank not in most or reading.value > most[reading.rank].value:
                most[reading.rank] = reading
        found["kv_tokens"] = list(most.values())
        least = min(reading.value for reading in pools)
        if least < max(reading.value for reading in pools if reading.rank == pools[0].rank):
            found.setdefault("sliding_tokens", [next(item for item in pools if item.value == least)])


def _summed(found: Found, name: str, parts: tuple[str, ...]) -> None:
    """One reading a rank: the sum of the parts, each line once."""
    by_rank: dict[str, Reading[Any]] = {}
    for part in parts:
        for reading in dict.fromkeys(found.get(part, ())):
            before = by_rank.get(reading.rank)
            if before is None:
                by_rank[reading.rank] = reading
            else:
                total, half = before.value + reading.value, before.half_step + reading.half_step
                by_rank[reading.rank] = replace(before, value=total, half_step=half)
    if by_rank:
        found[name] = list(by_rank.values())


def _parallelism(found: Found) -> list[str]:
    """SGLang's dp_size counts replicas, or with data-parallel attention the parts that tp_size is divided into."""
    notes: list[str] = []
    replicas = found.pop("data_parallel", [])
    attention = found.get("attention_data_parallel", [])
    ranks = found.get("expert_ranks", [])
    if ranks and "expert_parallel" not in found:
        found["expert_parallel"] = [Reading(ranks[0].value > 1, ranks[0].line)]
    if not replicas or replicas[0].value <= 1:
        return notes
    if not attention or not attention[0].value:
        return [f"line {replicas[0].line}: dp_size {replicas[0].value:.0f} are replicas of their own; one is read"]
    tensor = found.get("tensor_parallel", [])
    if tensor and tensor[0].value % replicas[0].value == 0:
        found["data_parallel"] = replicas
        found["tensor_parallel"] = [replace(tensor[0], value=tensor[0].value / replicas[0].value)]
        notes.append(
            f"line {replicas[0].line}: attention is data-parallel over {replicas[0].value:.0f} parts of "
            f"{tensor[0].value:.0f} GPUs, so its tensor parallelism is {found['tensor_parallel'][0].value:.0f}"
        )
    return notes
