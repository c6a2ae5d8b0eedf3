"""Published and logged names of models: which entry of the catalog they mean, and which mean none."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gridplan.catalog import find_model, load_catalog
from gridplan.catalog.model_rows import read_model_aliases

SHIPPED = load_catalog()
LOGS = Path(__file__).parents[3] / "shared" / "truth" / "memory_logs.csv"

MEANT = {
    "DeepSeek-R1 (AWQ/GPTQ int4, wna16 marlin)": "deepseek-r1",
    "meta-llama/Llama-3.2-11B-Vision": "llama-3.2-11b-vision",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B": "qwen2.5-14b",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B": "qwen2.5-7b",
    "Qwen2.5-7B (4-bit, 5.2 GiB)": "qwen2.5-7b",
    "DeepSeek-V2.5": "deepseek-v2",
    "microsoft/phi-4 (bitsandbytes 4bit, LoRA)": "phi-4",
    "Qwen/Qwen2.5-1.5B-Instruct": "qwen2.5-1.5b",
    "Qwen2.5-Math-1.5B": "qwen2.5-1.5b",
    "OpenGVLab/InternVL3-78B (Qwen2.5-72B language model, 80 layers x 8 KV x 128)": "qwen2.5-72b",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "meta-llama/Meta-Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "Llama-3.1-8B-Instruct (15.0 GiB)": "llama-3.1-8b",
    "kaitchup/Meta-Llama-3.1-8B-Instruct-autoround-gptq-4bit-asym": "llama-3.1-8b",
    "meta-llama/Meta-Llama-3-8B-Instruct": "llama-3-8b",
    "meta-llama/Llama-2-7b-chat-hf": "llama-2-7b",
    "Open-Orca/LlongOrca-7B-16k (Llama-2-7B)": "llama-2-7b",
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": "llama-3.3-70b",
    "Mistral-7B (finetune, max_seq 32768, 14.5 GB shards)": "mistral-7b-v0.3",
    "Qwen/Qwen3-0.6B": "qwen3-0.6b",
    "Qwen3-8B-FP8": "qwen3-8b",
    "Qwen3-14B": "qwen3-14b",
    "Qwen/Qwen3-32B": "qwen3-32b",
    "Qwen3-30B-A3B (YaRN)": "qwen3-30b-a3b",
    "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8": "qwen3-30b-a3b",
    "Qwen3-235B-A22B-FP8": "qwen3-235b-a22b",
    "Qwen/Qwen3-235B-A22B-Instruct-2507": "qwen3-235b-a22b",
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": "qwen3-235b-a22b",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": "qwen3-coder-480b-a35b",
    "Qwen3-Next-80B-A3B-Instruct": "qwen3-next-80b-a3b",
    "Qwen3.5-122B-A10B-NVFP4 + MTP": "qwen3.5-122b-a10b",
    "moonshotai/Kimi-K2-Thinking": "kimi-k2-thinking",
    "moonshotai/Kimi-K2.5": "kimi-k2.5",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "openai/gpt-oss-20b": "gpt-oss-20b",
    "google/gemma-3-4b-it": "gemma-3-4b",
    "google/gemma-4-26B-A4B": "gemma-4-26b-a4b",
    "google/gemma-4-26B-A4B (NVFP4)": "gemma-4-26b-a4b",
    "gemma-4-26B-A4B-it": "gemma-4-26b-a4b",
    "google/diffusiongemma-26B-A4B-it": "gemma-4-26b-a4b",
    "gemma-4-31B-it-AWQ-4bit": "gemma-4-31b",
    "gemma-4-E2B-it": "gemma-4-e2b",
    "deepseek-ai/DeepSeek-V4-Flash-0731": "deepseek-v4-flash",
    "deepseek-ai/DeepSeek-V4-Flash-0731 (+DSpark 7 draft tokens)": "deepseek-v4-flash",
    "zai-org/GLM-4.7-FP8": "glm-4.7",
    "DotsOCR (Qwen2-1.5B language model, 28 layers x 2 KV x 128)": "dots-ocr",
    "facebook/opt-125m": "opt-125m",
    "Qwen-14B (finetune)": "qwen-14b",
}
NONE = {
    "DeepSeek-R1/V3 671B (FP8)": "names two models",
    "DeepSeek-V3/R1 (DP attention)": "names two models",
    "Qwen2/2.5-0.5B": "names two models",
    "Qwen3.8-27B (W4 quant)": "no published configuration was found",
    "deepseek-ai/deepseek-coder-6.7b-instruct": "no published configuration was found",
    "(Flash-Next class, hybrid)": "names no model",
    "(Flash-Next hybrid MoE, 48 layers/12 full, 2 KV heads)": "names no model",
    "(Qwen3.5/3.6 hybrid + MTP, see source)": "names no model",
    "(hybrid, not printed; 32,768 context)": "names no model",
    "(NVFP4 hybrid, not printed)": "names no model",
}
"""Names that mean no entry, and why."""


@pytest.mark.parametrize(("name", "model"), MEANT.items())
def test_a_logged_name_means_its_model(name: str, model: str) -> None:
    assert find_model(SHIPPED, name) == model


@pytest.mark.parametrize("name", NONE)
def test_a_name_that_means_no_entry_finds_none(name: str) -> None:
    assert find_model(SHIPPED, name) is None


@pytest.mark.skipif(not LOGS.exists(), reason="the start-up logs are not shipped with the repository")
def test_every_name_of_the_logs_is_judged_above() -> None:
    with LOGS.open(encoding="utf-8", newline="") as file:
        named = {row["model"] for row in csv.DictReader(file) if row["model_deduced"] != "yes"}
    assert named == MEANT.keys() | NONE.keys()


@pytest.mark.parametrize("model", SHIPPED.models)
def test_a_model_is_found_by_its_own_names(model: str) -> None:
    assert find_model(SHIPPED, model) == model
    assert find_model(SHIPPED, model.upper()) == model
    published = SHIPPED.model(model).hf_id
    assert find_model(SHIPPED, published) == model
    assert find_model(SHIPPED, f"someone/{published.rpartition('/')[2]}-AWQ") == model


@pytest.mark.parametrize(
    "name",
    [
        "",
        "instruct",
        "Llama",
        "llama-3.1",
        "My-Llama-3.1-8B",
        "Llama-3.1-8B-Hermes",
        "DeepSeek-R1-Distill-Qwen-3B",
        "Qwen2-VL-7B / Qwen2.5-VL-7B",
        "qwen3-8b/qwen3-14b",
        "gemma-4-26B",
        "Mistral-Large-3-675B-Instruct-2512",
    ],
)
def test_a_part_of_a_name_or_a_fine_tune_is_no_match(name: str) -> None:
    assert find_model(SHIPPED, name) is None


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("Llama-3_3-Nemotron-Super-49B-v1-FP8", "llama-3.3-nemotron-super-49b"),
        ("RedHatAI/Qwen3-8B-quantized.w4a16", "qwen3-8b"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen2.5-72b"),
        ("Kimi-K2-Instruct-0905", "kimi-k2"),
        ("/models/Qwen/Qwen3-8B", "qwen3-8b"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.3"),
    ],
)
def test_formats_dates_and_folders_do_not_matter(name: str, model: str) -> None:
    assert find_model(SHIPPED, name) == model


def test_a_name_of_two_models_finds_none() -> None:
    entry = {"hf_id": "us/gpt-oss-20b", "params_total": 2e10}
    ours = SHIPPED.with_entries({"models": {"qwen3-8b": entry}})
    assert find_model(ours, "other/GPT-OSS-20B") is None
    assert find_model(ours, "us/gpt-oss-20b") == "qwen3-8b"


def test_aliases_name_models_of_the_catalog_and_no_model_itself() -> None:
    aliases = read_model_aliases()
    assert set(aliases.values()) <= SHIPPED.models.keys()
    assert not aliases.keys() & SHIPPED.models.keys()
