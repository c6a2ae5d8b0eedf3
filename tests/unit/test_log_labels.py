"""Which catalog labels a log means: by the sentences of the log, by options, or by neither."""

from __future__ import annotations

import pytest

from gridplan.catalog import load_catalog
from gridplan.errors import LogError
from gridplan.measured import EngineLog, logs_of
from gridplan.report.log_labels import Options, labels_of


def vllm(total: str = "191.69", version: str = "0.10.2", quantization: str = "None", name: str = "") -> EngineLog:
    lines = [
        f"INFO Initializing a V1 LLM engine (v{version}) with config: model='Qwen/Qwen3-8B', dtype=torch.bfloat16, "
        f"quantization={quantization}, kv_cache_dtype=fp8_e4m3",
        f"INFO total_gpu_memory={total}GiB",
        name and f"INFO Config file not found at E=1,N=2,device_name={name}.json",
    ]
    return logs_of("\n".join(lines))[0]


def sglang(model: str, free: str = "23.10", more: str = "") -> EngineLog:
    lines = [
        f"[2025-02-04 10:00:00] server_args=ServerArgs(model_path='{model}', mem_fraction_static=0.88, "
        "quantization=None)",
        f"[2025-02-04 10:00:10] Load weight begin. avail mem={free} GB",
        f"[2025-02-04 10:00:20] Load weight end. type=X, dtype=torch.bfloat16,{more} avail mem=8.37 GB, mem "
        "usage=14.4 GB.",
    ]
    return logs_of("\n".join(lines))[0]


def labels(log: EngineLog, **options: str) -> tuple[str, str, str, str, str | None]:
    found = labels_of(log, load_catalog(), Options(**options))
    return found.model, found.gpu, found.weight_dtype, found.engine, found.kv_dtype


def refusal(log: EngineLog, **options: str) -> str:
    with pytest.raises(LogError) as caught:
        labels_of(log, load_catalog(), Options(**options))
    return str(caught.value)


def test_memory_that_one_gpu_has_needs_no_name() -> None:
    assert labels(vllm()) == ("qwen3-8b", "mi300x", "bf16", "vllm@0.10.2", "fp8")


@pytest.mark.parametrize(
    ("name", "total", "gpu"),
    [
        ("NVIDIA_H100_80GB_HBM3", "79.25", "h100-sxm"),
        ("NVIDIA_H100_PCIe", "79.19", "h100-pcie"),
        ("NVIDIA_A100-SXM4-80GB", "79.15", "a100-sxm-80gb"),
        ("NVIDIA_A100_80GB_PCIe", "79.15", "a100-pcie-80gb"),
        ("NVIDIA_A100-SXM4-40GB", "39.49", "a100-sxm-40gb"),
        ("NVIDIA_GeForce_RTX_3090", "23.58", "rtx-3090"),
        ("NVIDIA_GeForce_RTX_4090", "23.53", "rtx-4090"),
        ("NVIDIA_L4", "22.06", "l4"),
        ("NVIDIA_A10G", "22.06", "a10g"),
        ("NVIDIA_H200", "139.81", "h200-sxm"),
        ("AMD_Instinct_MI300X", "191.69", "mi300x"),
        ("Tesla_T4", "14.56", "t4"),
    ],
)
def test_names_of_drivers(name: str, total: str, gpu: str) -> None:
    assert labels(vllm(total, name=name))[1] == gpu


def test_a_name_that_does_not_fit_the_memory_is_not_matched() -> None:
    said = refusal(vllm("22.06", name="NVIDIA_GeForce_RTX_2080_Ti"))
    assert "--gpu: give the catalog id of the GPU with 22.06 GiB (line 2), NVIDIA GeForce RTX 2080 Ti" in said


def test_methods_that_hold_several_formats_are_asked_for() -> None:
    log = vllm(quantization="compressed-tensors")
    said = refusal(log)
    assert "--weight-dtype: compressed-tensors (line 1) is not one format of weights; give one of" in said
    assert labels(log, weight_dtype="fp8")[2] == "fp8"
    assert labels(vllm(quantization="gptq_marlin"))[2] == "int4"


@pytest.mark.parametrize(
    ("printed", "spec"),
    [("0.23.1rc1.dev550+g58d6a6e60.d20260629", "vllm@0.23.1"), ("0.13.0+faa43dbf.nv26.01", "vllm@0.13.0")],
)
def test_versions_as_builds_print_them(printed: str, spec: str) -> None:
    assert labels(vllm(version=printed))[3] == spec


def test_sglang_prints_the_type_it_computes_in_not_that_of_the_checkpoint() -> None:
    assert labels(sglang("Qwen/Qwen3-8B"), gpu="rtx-3090", engine="sglang@0.4")[2] == "bf16"
    said = refusal(sglang("Qwen/Qwen3-8B-AWQ"), gpu="rtx-3090", engine="sglang@0.4")
    assert "the log prints no quantisation, but the name of the model says AWQ; give one of" in said
    assert labels(sglang("Qwen/Qwen3-8B-FP8", more=" quant=fp8,"), gpu="rtx-3090", engine="sglang@0.4")[2] == "fp8"


def test_free_memory_is_a_little_less_than_the_total() -> None:
    assert labels(sglang("Qwen/Qwen3-8B", free="22.96"), gpu="rtx-3090", engine="sglang@0.4")[1] == "rtx-3090"
    assert (
        labels(sglang("Qwen/Qwen3-8B", free="14.20"), gpu="rtx-3090", engine="sglang@0.4")[1] == "rtx-3090"
    )  # others use it too
    assert "another GPU" in refusal(sglang("Qwen/Qwen3-8B", free="30.58"), gpu="rtx-3090", engine="sglang@0.4")


def test_cards_of_one_size_are_told_apart_by_a_person() -> None:
    assert "the log prints no name; it may be a40, l40, l40s" in refusal(vllm("44.39"))


def test_everything_that_is_missing_is_said_at_once() -> None:
    said = refusal(logs_of("INFO Available KV cache memory: 8.64 GiB")[0])
    assert [line.split(": ")[1] for line in said.splitlines()] == ["--model", "--gpu", "--weight-dtype", "--engine"]
