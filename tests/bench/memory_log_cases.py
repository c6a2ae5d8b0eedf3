"""Start-up logs that the others can be asked about too, and what they are told of each.

`memory_new_logs.csv` carries figures of 24 records of ashishkamra/vllm-memory-estimator@8b0e21d,
test_data/validation_db.json (2026-05-17), which holds 281 start-ups of one laboratory. About a fifth of the file was
read. Taken were all records there whose model gridplan's catalog has and whose config is shipped, but for those
that repeat another's model, format, GPU and TP with a pool within 1%, and those of vLLM 0.20, whose fraction the file
states in two ways. No constant of gridplan was set with them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_cases import GEMMA_3_SPELLED, QWEN_3_NEXT
from memory_logs import Log, logs

NEW = Path(__file__).with_name("memory_new_logs.csv")


@dataclass(frozen=True)
class LogCase:
    """A log that the others can be asked about: bytes of the checkpoint where they are known, formats where the shipped
    config is of other ones."""

    row: str
    hf_id: str
    checkpoint_bytes: int | None
    system: str
    nominal_gib: float
    config: Mapping[str, Any] | None = None
    formats: Mapping[str, str] = field(default_factory=dict)


LLAMA, GPT_20B = "meta-llama/Meta-Llama-3.1-8B", "openai/gpt-oss-20b"
QWEN_235B = "Qwen/Qwen3-235B-A22B-FP8"
NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"

LOG_CASES = (
    LogCase("v0-llama31-8b-3090-20k", LLAMA, 2 * 8030261248, "h100_sxm", 24),
    LogCase("v0-llama31-8b-3090-29k", LLAMA, 2 * 8030261248, "h100_sxm", 24),
    LogCase("v0-llama31-8b-24g-131k", LLAMA, 2 * 8030261248, "h100_sxm", 24),
    LogCase("v1-llama31-8b-eager-a100-40?", LLAMA, 2 * 8030261248, "a100_sxm", 40),
    LogCase("v1-llama31-8b-default-v0.10.1.1", LLAMA, 2 * 8030261248, "a100_sxm", 40),
    LogCase("v1-llama31-8b-h100-0.92", LLAMA, 2 * 8030261248, "h100_sxm", 80),
    LogCase("llmd-qwen3-0.6b", "Qwen/Qwen3-0.6B", 1503300328, "h100_sxm", 80),
    LogCase("v1-qwen3-30b-a3b-fp8-2xl40s-tp2", "Qwen/Qwen3-30B-A3B-FP8", None, "l40s", 48),
    LogCase("v1-qwen3-235b-fp8-4xh100", QWEN_235B, None, "h100_sxm", 80),
    LogCase("v1-qwen3-235b-fp8-8gpu", QWEN_235B, None, "l40s", 48),
    LogCase("v1-qwen3-235b-fp8-4xrtx6000pro", QWEN_235B, None, "rtx_pro_6000_server", 96),
    LogCase("llmd-gpt-oss-20b", GPT_20B, 13761264768, "h100_sxm", 80),
    LogCase("v1-gptoss20b-a100-.65", GPT_20B, 13761264768, "a100_sxm", 80),
    LogCase("v1-gptoss120b-h100-util.95", "openai/gpt-oss-120b", 65248815744, "h100_sxm", 80),
    LogCase("v0-deepseek-r1-8xh200", "deepseek-ai/DeepSeek-R1", 688586727753, "h200_sxm", 141),
    LogCase("v1-kimi-k2-thinking-8xh200-tp8", "moonshotai/Kimi-K2-Instruct", None, "h200_sxm", 141),
    LogCase("v1-qwen3next-80b-2xh200", NEXT, 2 * 81324862720, "h200_sxm", 141, QWEN_3_NEXT),
    LogCase("v1-qwen3next-80b-4xh100-mtp", NEXT, 2 * 81324862720, "h100_sxm", 80, QWEN_3_NEXT),
    LogCase("v1-gemma4-26b-a4b-a100", "google/gemma-4-26B-A4B", None, "a100_sxm", 80),
    LogCase("v1-gemma4-26b-a4b-thor", "google/gemma-4-26B-A4B", None, "b200_sxm", 128),
    LogCase("v1-gemma3-4b-mi300x", "google/gemma-3-4b-it", 2 * 4300079472, "h200_sxm", 192, GEMMA_3_SPELLED),
)
"""Rows of vLLM whose model both sides know. A GPU that aiconfigurator lacks is named by another system with its size.

Of Kimi-K2-Thinking (4-bit experts) the cache alone is compared: the shipped config is of another format. Rows with a
draft head are left out of the cache, for kvfit cannot be told of one. Weights of FP8 checkpoints are left out for
kvfit, whose input, the size of the files, is not at hand.
"""

CACHE_ONLY = frozenset({"v1-kimi-k2-thinking-8xh200-tp8"})

QWEN_VL = "Qwen/Qwen3-VL-30B-A3B-Instruct"
NANO = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
SUPER = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"
LLAMA_70B, R1 = "meta-llama/Meta-Llama-3.1-70B", "deepseek-ai/DeepSeek-R1"
FP8: Mapping[str, str] = {"gemm_quant_mode": "fp8"}
FP8_EXPERTS: Mapping[str, str] = {**FP8, "moe_quant_mode": "fp8"}

NEW_CASES = (
    LogCase("llama70b-fp8-h200-tp4-0.11", LLAMA_70B, None, "h200_sxm", 141, formats=FP8),
    LogCase("llama70b-h200-tp4-0.13", LLAMA_70B, 2 * 70553706496, "h200_sxm", 141),
    LogCase("llama70b-h200-tp4-0.18", LLAMA_70B, 2 * 70553706496, "h200_sxm", 141),
    LogCase("llama70b-b200-tp4-0.18", LLAMA_70B, 2 * 70553706496, "b200_sxm", 180),
    LogCase("llama70b-fp8-b200-tp4-0.18", LLAMA_70B, None, "b200_sxm", 180, formats=FP8),
    LogCase("llama70b-mi300x-tp1-0.18", LLAMA_70B, 2 * 70553706496, "h200_sxm", 192),
    LogCase("llama70b-fp8-h200-tp4-0.18", LLAMA_70B, None, "h200_sxm", 141, formats=FP8),
    LogCase("llama70b-mi300x-tp4-0.13", LLAMA_70B, 2 * 70553706496, "h200_sxm", 192),
    LogCase("llama70b-fp8-mi300x-tp1-0.18", LLAMA_70B, None, "h200_sxm", 192, formats=FP8),
    LogCase("deepseek-r1-h200-tp8-0.11.0", R1, 688586727753, "h200_sxm", 141),
    LogCase("deepseek-r1-h200-tp8-0.11.2", R1, 688586727753, "h200_sxm", 141),
    LogCase("deepseek-r1-h200-tp8-0.14", R1, 688586727753, "h200_sxm", 141),
    LogCase("deepseek-r1-h200-tp8-0.16", R1, 688586727753, "h200_sxm", 141),
    LogCase("deepseek-r1-h200-tp8-0.18", R1, 688586727753, "h200_sxm", 141),
    LogCase("qwen3-235b-h200-tp4-0.11", "Qwen/Qwen3-235B-A22B", 2 * 235093634560, "h200_sxm", 141),
    LogCase("qwen3-235b-fp8-h200-tp4-ep-0.11", QWEN_235B, None, "h200_sxm", 141),
    LogCase("nemotron-3-nano-fp8-h200-tp1-0.16", NANO, None, "h200_sxm", 141),
    LogCase("nemotron-3-nano-fp8-h200-tp1-0.18", NANO, None, "h200_sxm", 141),
    LogCase("nemotron-3-super-fp8-h200-tp2-0.18", SUPER, None, "h200_sxm", 141),
    LogCase("qwen3-vl-30b-h200-tp1-0.13", QWEN_VL, 2 * 31070754032, "h200_sxm", 141),
    LogCase("qwen3-vl-30b-h200-tp1-0.18", QWEN_VL, 2 * 31070754032, "h200_sxm", 141),
    LogCase("qwen3-vl-30b-mi300x-tp1-0.13", QWEN_VL, 2 * 31070754032, "h200_sxm", 192),
    LogCase("deepseek-v3.2-nvfp4-b200-tp8-0.18", "nvidia/DeepSeek-V3.2-NVFP4", None, "b200_sxm", 180),
    LogCase(
        "llama4-maverick-fp8-h200-tp8-0.11",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
        None,
        "h200_sxm",
        141,
        formats=FP8_EXPERTS,
    ),
)
CACHE_ONLY_OF_OTHERS = frozenset({"nemotron-3-nano-fp8-h200-tp1-0.16", "nemotron-3-nano-fp8-h200-tp1-0.18"})
"""Rows whose weights have no shipped config of the right format: the others are asked for the cache alone."""


def all_logs() -> dict[str, Log]:
    """Every log by its id: those of the reference tests, and the new ones in the same columns."""
    known = logs()
    blank = dict.fromkeys(known[0].row, "")
    with NEW.open(encoding="utf-8") as file:
        new = [Log(blank | row) for row in csv.DictReader(file)]
    return {log.id: log for log in (*known, *new)}
