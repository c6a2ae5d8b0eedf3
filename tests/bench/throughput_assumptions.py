"""What rows of measured throughput leave open, and how it is settled for all of them alike.

Sources: the two TensorRT-LLM performance overviews (docs/source/performance/perf-overview.md at 00f3768 and
docs/source/developer-guide/perf-overview.md at 03e27c7) print the number of prompts of each pair of lengths, the cache
formats and `trtllm-bench`, whose batch is capped at 4,096 sequences; defaults of `trtllm-serve` are 2,048 sequences
and 8,192 tokens a step; SGLang runs at least 2,048 requests and prefills 8,192 tokens a step on a GPU of 60 GiB or
more, 2,048 on a smaller one. vLLM's are in the catalog, by version. Flags of a row go before all of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridplan.catalog import load_catalog

__all__ = ["GPUS", "MODELS", "REQUESTS", "WEIGHTS", "assumed_kv", "limits"]

GPUS = {
    **{"H100-SXM-80GB": "h100-sxm", "H100-80GB": "h100-sxm", "H200-SXM-141GB": "h200-sxm", "B200-180GB": "b200"},
    **{"A100-SXM-80GB": "a100-sxm-80gb", "A100-80GB": "a100-sxm-80gb", "GB200-186GB": "gb200"},
    **{"RTX PRO 6000 Blackwell Server 96GB": "rtx-pro-6000-blackwell-server", "MI300X-192GB": "mi300x"},
    **{"RTX5090-32GB (PCIe)": "rtx-5090", "RTX4090-24GB": "rtx-4090"},
}
"""Names in the table, names in the catalog."""

MODELS = {
    **{"llama 3.3 70b": "llama-3.3-70b", "llama v3.3 70b": "llama-3.3-70b", "llama 3.1 405b": "llama-3.1-405b"},
    **{"llama 3.1 8b": "llama-3.1-8b", "llama v4 maverick": "llama-4-maverick-17b-128e"},
    **{"qwen3 235b a22b": "qwen3-235b-a22b", "qwen3 30b a3b": "qwen3-30b-a3b", "deepseek r1 0528": "deepseek-r1"},
    **{"gpt-oss 120b": "gpt-oss-120b", "gpt-oss 20b": "gpt-oss-20b", "qwen/qwen3-32b-awq": "qwen3-32b"},
    **{"meta-llama/llama-2-7b-chat-hf": "llama-2-7b", "nemotron nano 30b": "nemotron-3-nano-30b-a3b"},
    **{"nemotron super 49b": "llama-3.3-nemotron-super-49b", "moonshotai/kimi-k2-thinking": "kimi-k2-thinking"},
}
"""Names that no repository has, lower case, and names in the catalog."""

WEIGHTS = {
    **{"fp4": "nvfp4", "fp8 (native checkpoint)": "fp8", "checkpoint native (see model name)": "int4_experts"},
    "awq/gptq int4": "int4",
}
"""Names of formats in the table, names in the catalog."""

REQUESTS = {
    **{(128.0, 128.0): 30000.0, (128.0, 2048.0): 3000.0, (128.0, 4096.0): 1500.0, (1000.0, 2000.0): 1500.0},
    **{(2048.0, 128.0): 3000.0, (2048.0, 2048.0): 1500.0, (5000.0, 500.0): 1500.0, (1000.0, 1000.0): 3000.0},
    **{(500.0, 2000.0): 3000.0, (20000.0, 2000.0): 1000.0, (1024.0, 1024.0): 3000.0, (8192.0, 1024.0): 1500.0},
    **{(1024.0, 8192.0): 1500.0, (32768.0, 1024.0): 1000.0, (1024.0, 32768.0): 1000.0, (512.0, 128.0): 1000.0},
}
"""Prompts of a run by prompt and output tokens: both TensorRT-LLM overviews, and vLLM's benchmark_throughput."""

_BENCH, _SERVE, _SGLANG = 4096.0, 2048.0, 2048.0
_TOKENS, _FEW_TOKENS, _LARGE_BYTES = 8192.0, 2048.0, 60 * 2**30


def assumed_kv(row: Mapping[str, str], weight: str, family: str) -> tuple[str, str]:
    """Format of the cache, and a note where the row does not name it.

    Checkpoints of the TensorRT-LLM overviews keep it in 8 bits but gpt-oss on Hopper; `auto` is 16 bits.
    """
    if row["kv_dtype"] == "fp8":
        return "fp8", ""
    if row["kv_dtype"] == "auto":
        return "fp16" if weight == "fp16" else "bf16", ""
    overview = row["source_kind"].startswith("TensorRT-LLM")
    eight = overview and not (weight == "mxfp4" and family == "hopper")
    return ("fp8", "8-bit cache") if eight else ("bf16", "16-bit cache")


def _flag(row: Mapping[str, str], *names: str) -> float | None:
    """A flag of the row: that of the block's own heading before that of the page's command."""
    for name in names:
        if found := re.search(rf"{name}[ =]([\d.]+)", row["notes"]):
            return float(found[1])
    return None


def limits(row: Mapping[str, str], gpu: str) -> tuple[dict[str, float], list[str]]:
    """Sequences, tokens of a step and share of memory that differ from vLLM's defaults of the catalog, with notes."""
    found: dict[str, float] = {}
    notes: list[str] = []
    large = load_catalog().gpus[gpu].memory_bytes >= _LARGE_BYTES
    if row["engine"] == "TensorRT-LLM":
        bench = row["source_kind"].startswith("TensorRT-LLM")
        found = {"max_num_seqs": _BENCH if bench else _SERVE, "max_num_batched_tokens": _TOKENS}
        found["gpu_memory_utilization"] = 0.95 if bench else 0.9
        notes += [f"{found['gpu_memory_utilization']:.0%} of free memory", "workspace 4 GiB"]
    if row["engine"] == "SGLang":
        found = {"max_num_seqs": _SGLANG, "max_num_batched_tokens": _TOKENS if large else _FEW_TOKENS}
    tokens = _flag(row, "--max-num-batched-tokens", "--max_num_tokens")
    share, longest = _flag(row, "--gpu-memory-utilization"), _flag(row, "--max-model-len", "--max_seq_len")
    stated = {"max_num_batched_tokens": tokens, "gpu_memory_utilization": share, "max_model_len": longest}
    found |= {name: value for name, value in stated.items() if value is not None}
    return found, notes
