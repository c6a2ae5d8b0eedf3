"""What `measure log -o` writes, merged into a contract: its evaluation shows the log's pool and its concurrency."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

GIB = 2**30
V1 = [
    "(EngineCore_0 pid=9) INFO 10-06 15:10:00 [core.py:77] Initializing a V1 LLM engine (v0.30.0) with config: "
    "model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, "
    "quantization=None, enforce_eager=False, kv_cache_dtype=auto, enable_prefix_caching=True",
    "(EngineCore_0 pid=9) INFO 10-06 15:10:09 [gpu_model_runner.py:1] Model loading took 14.9889 GiB and 3.2 s",
    "(EngineCore_0 pid=9) INFO 10-06 15:10:09 [kv_cache_utils.py:1] GPU KV cache size: 460,496 tokens, Maximum "
    "concurrency for 131,072 tokens per request: 3.51x",
    "(EngineCore_0 pid=9) INFO 10-06 15:14:56 [gpu_worker.py:391] Free memory on device (78.84/79.25 GiB) on startup. "
    "Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory (weights + "
    "non-torch), 1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory. Current kv cache memory in use is "
    "56.21 GiB.",
]
"""A public log of Llama-3.1-8B on an 80 GB card."""

V0 = [
    "INFO 03-01 10:30:00 llm_engine.py:234] Initializing a V0 LLM engine (v0.9.1) with config: "
    "model='Qwen/Qwen2.5-Math-1.5B', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=None",
    "INFO 03-01 10:30:57 worker.py:267] the current vLLM instance can use total_gpu_memory (22.06GiB) x "
    "gpu_memory_utilization (0.90) = 19.85GiB",
    "INFO 03-01 10:30:57 worker.py:267] model weights take 2.88GiB; non_torch_memory takes 0.05GiB; PyTorch "
    "activation peak memory takes 1.40GiB; the rest of the memory reserved for KV Cache is 15.52GiB.",
    "INFO 03-01 10:30:57 executor_base.py:110] # cuda blocks: 36332, # CPU blocks: 9362",
    "INFO 03-01 10:30:57 executor_base.py:115] Maximum concurrency for 4096 tokens per request: 141.92x",
]
"""A public log of Qwen2.5-Math-1.5B on 24 GB."""

HYBRID = [
    "(APIServer pid=1) INFO 07-06 22:50:34 [api_utils.py:273] non-default args: {'model': '/m/qwen3.6-35b-a3b', "
    "'max_model_len': 131072, 'quantization': 'modelopt', 'kv_cache_dtype': 'fp8', 'enable_prefix_caching': True, "
    "'max_num_batched_tokens': 8192, 'max_num_seqs': 1}",
    "(EngineCore pid=107) INFO 07-06 22:50:46 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: "
    "model='/m/qwen3.6-35b-a3b', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1",
    "(EngineCore pid=107) INFO 07-06 22:52:09 [gpu_worker.py:508] Available KV cache memory: 5.98 GiB",
    "(EngineCore pid=107) INFO 07-06 22:52:09 [kv_cache_utils.py:2146] GPU KV cache size: 567,978 tokens",
    "(EngineCore pid=107) INFO 07-06 22:52:09 [kv_cache_utils.py:2147] Maximum concurrency for 131,072 tokens per "
    "request: 4.33x",
]
"""https://github.com/noonghunna/club-3090/issues/612: prefixes are cached, so a sequence keeps two states."""

MLA = [
    "INFO 02-20 10:00:00 llm_engine.py:234] Initializing a V0 LLM engine (v0.7.3) with config: "
    "model='deepseek-ai/DeepSeek-R1', dtype=torch.bfloat16, max_seq_len=128000, tensor_parallel_size=8, "
    "quantization=fp8",
    "INFO 02-20 10:05:00 worker.py:267] the current vLLM instance can use total_gpu_memory (139.81GiB) x "
    "gpu_memory_utilization (0.85) = 118.84GiB",
    "INFO 02-20 10:05:00 worker.py:267] model weights take 83.88GiB; non_torch_memory takes 7.16GiB; PyTorch "
    "activation peak memory takes 6.37GiB; the rest of the memory reserved for KV Cache is 21.43GiB.",
    "INFO 02-20 10:05:01 executor_base.py:110] # cuda blocks: 18418, # CPU blocks: 3000",
    "INFO 02-20 10:05:01 executor_base.py:115] Maximum concurrency for 128000 tokens per request: 2.30x",
]
"""A public log of DeepSeek-R1 on eight H200."""

SGLANG = [
    "[2025-02-04 10:00:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', "
    "kv_cache_dtype='auto', quantization=None, mem_fraction_static=0.88, tp_size=1, dp_size=1)",
    "[2025-02-04 10:00:10 TP0] Load weight begin. avail mem=22.76 GB",
    "[2025-02-04 10:00:20 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.37 GB",
    "[2025-02-04 10:00:20 TP0] KV Cache is allocated. K size: 2.82 GB, V size: 2.82 GB.",
    "[2025-02-04 10:00:20 TP0] Memory pool end. avail mem=1.68 GB",
    "[2025-02-04 10:00:29 TP0] max_total_num_tokens=105531, chunked_prefill_size=2048, max_prefill_tokens=16384, "
    "max_running_requests=2049, context_len=131072",
]
"""https://github.com/jerryzsj/my-deepseek-r1: DeepSeek-R1-Distill-Qwen-7B on an RTX 3090."""

CHUNKED = [
    "(EngineCore_DP0 pid=9) INFO 12-10 10:00:00 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: "
    "model='meta-llama/Llama-4-Scout-17B-16E-Instruct', dtype=torch.bfloat16, max_seq_len=5242880, "
    "tensor_parallel_size=8, quantization=None, kv_cache_dtype=auto",
    "(Worker_TP0 pid=11) INFO 12-10 10:01:00 [gpu_worker.py:298] Available KV cache memory: 89.71 GiB",
    "(EngineCore_DP0 pid=9) INFO 12-10 10:01:01 [kv_cache_utils.py:1028] Maximum concurrency for 5,242,880 tokens per "
    "request: 0.75x",
]
"""Llama-4 Scout on eight H200, whose windows the engine charged as full layers."""

CASES: dict[str, tuple[list[str], list[str], dict[str, float], float]] = {
    "plain V1": (V1, ["--gpu", "h100-sxm"], {"kv_pool_tokens": 460496}, 460496 / 131072),
    "V0": (V0, ["--model", "qwen2.5-1.5b", "--gpu", "a10g"], {"kv_pool_tokens": 581312}, 141.92),
    "hybrid": (
        HYBRID,
        ["--gpu", "rtx-5090", "--weight-dtype", "nvfp4"],
        {"kv_pool_bytes_per_gpu": round(5.98 * GIB), "kv_pool_tokens": 567978},
        4.33,
    ),
    "MLA": (MLA, ["--gpu", "h200-sxm"], {"kv_pool_tokens": 294688}, 294688 / 128000),
    "SGLang": (
        SGLANG,
        ["--gpu", "rtx-3090", "--engine", "sglang@0.4", "--model", "qwen2.5-7b"],
        {"kv_pool_tokens": 105531},
        105531 / 131072,
    ),
    "chunked": (CHUNKED, ["--gpu", "h200-sxm"], {"kv_pool_bytes_per_gpu": round(89.71 * GIB)}, 0.7476),
}


def block_of(cli: Any, folder: Path, lines: list[str], options: list[str]) -> tuple[str, dict[str, Any]]:
    """The text of the block, and what it states."""
    log, block = folder / "engine.log", folder / "measured.yaml"
    log.write_text("\n".join(lines) + "\n")
    outcome = cli("measure", "log", log, *options, "-o", block)
    assert outcome.code == 0, outcome.err
    text = block.read_text()
    return text, yaml.safe_load(text)["deployment"]


def explained(cli: Any, folder: Path, deployment: dict[str, Any]) -> dict[str, float]:
    """Measures that `gridplan explain` shows for a contract with this deployment."""
    contract = {
        "schema": 1,
        "name": "merged",
        "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 1},
        "deployment": deployment,
        "policy": {"rho_target": 0.7},
    }
    path = folder / "grid.yaml"
    path.write_text(yaml.safe_dump(contract))
    outcome = cli("explain", path, "--json")
    assert outcome.code == 0, outcome.err
    values: dict[str, float] = json.loads(outcome.out)["values"]
    return values


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_merged_contract_shows_the_log(
    cli: Any, tmp_path: Path, case: tuple[list[str], list[str], dict[str, float], float]
) -> None:
    lines, options, pools, concurrency = case
    _, deployment = block_of(cli, tmp_path, lines, options)
    shown = explained(cli, tmp_path, deployment)
    assert {name: shown[name] for name in pools} == pools
    assert shown["concurrency_at_limit"] == pytest.approx(concurrency, rel=0.005)


def test_the_printed_budget_adds_up(cli: Any, tmp_path: Path) -> None:
    """The column of explain leaves less unexplained than the printed digits."""
    for case in ("plain V1", "V0"):
        lines, options, _, _ = CASES[case]
        _, deployment = block_of(cli, tmp_path, lines, [*options, "--force"])
        explained(cli, tmp_path, deployment)
        column = json.loads(cli("explain", tmp_path / "grid.yaml", "--json").out)["memory_budget"]
        unexplained = {line["name"]: line["bytes"] for line in column}["not explained by the terms"]
        assert unexplained < 0.03 * GIB


def test_the_block_in_order(cli: Any, tmp_path: Path) -> None:
    text, deployment = block_of(cli, tmp_path, V1, ["--gpu", "h100-sxm"])
    assert list(deployment) == [
        *("model", "gpu", "engine", "weight_dtype", "tensor_parallel", "max_model_len", "gpu_memory_utilization"),
        *("gpu_memory_bytes", "weights_bytes", "non_torch_bytes", "activation_bytes", "cuda_graphs_bytes"),
        "kv_pool_tokens_given",
    ]
    assert deployment["engine"] == "vllm@0.30.0"
    assert deployment["gpu_memory_bytes"]["value"] == round(79.25 * GIB)
    assert deployment["cuda_graphs_bytes"]["value"] == 0  # the printed peak holds them
    assert "# Put these keys under `deployment:` of your contract" in text
    assert not re.search(r"value: \d+\.", text)


def test_states_of_a_cached_prefix(cli: Any, tmp_path: Path) -> None:
    """With one state it would be 4.53 sequences."""
    _, deployment = block_of(cli, tmp_path, HYBRID, ["--gpu", "rtx-5090", "--weight-dtype", "nvfp4"])
    assert (deployment["state_blocks"], deployment["kv_dtype"], deployment["max_num_seqs"]) == (2, "fp8", 1)
    one = explained(cli, tmp_path, {**deployment, "state_blocks": 1})
    assert one["concurrency_at_limit"] == pytest.approx(4.53, abs=0.005)
    found = json.loads(
        cli("measure", "log", tmp_path / "engine.log", "--gpu", "rtx-5090", "--weight-dtype", "nvfp4", "--json").out
    )
    (log,) = found["logs"]
    assert log["comparison"]["deployment"]["state_blocks"] == 2
    terms = {term["name"]: term for term in log["comparison"]["terms"]}
    token = terms["KV bytes of a token"]
    assert token["predicted"] == pytest.approx(token["printed"], rel=0.001)


def test_windows_that_the_engine_charges_whole_are_named(cli: Any, tmp_path: Path) -> None:
    """Composed: 507,904 bytes a token of Gemma-3-27B, as --disable-hybrid-kv-cache-manager has it."""
    lines = [
        "INFO 12-10 10:00:00 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: "
        "model='google/gemma-3-27b-it', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1",
        "INFO 12-10 10:01:00 [gpu_worker.py:298] Available KV cache memory: 16.00 GiB",
        "INFO 12-10 10:01:01 [kv_cache_utils.py:1028] GPU KV cache size: 33,824 tokens",
        "INFO 12-10 10:01:01 [kv_cache_utils.py:1032] Maximum concurrency for 131,072 tokens per request: 0.26x",
    ]
    _, deployment = block_of(cli, tmp_path, lines, ["--gpu", "h100-sxm"])
    assert deployment["sliding_policy"] == "full"
    assert explained(cli, tmp_path, deployment)["concurrency_at_limit"] == pytest.approx(33824 / 131072, rel=0.005)
    page = cli("measure", "log", tmp_path / "engine.log", "--gpu", "h100-sxm").out.splitlines()
    assert page[-1].startswith("maximum concurrency: the largest difference, ")
    assert "  note: the printed bytes of a token are those of full layers: state sliding_policy: full" in page
    assert any(line.startswith("  KV bytes of a token") for line in page)


def test_a_cache_that_must_be_8_bit_is_said(cli: Any, tmp_path: Path) -> None:
    """https://github.com/sgl-project/sglang/pull/11309: 48,072 bytes a token of DeepSeek-V3.2-Exp, format auto."""
    lines = [
        "[2025-10-07 23:15:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3.2-Exp', tp_size=8, "
        "dp_size=8, enable_dp_attention=True, kv_cache_dtype='auto', quantization=None)",
        "[2025-10-07 23:17:19 DP0 TP0] KV Cache is allocated. #tokens: 975424, KV size: 43.67 GB",
        "[2025-10-07 23:17:19 DP0 TP0] Memory pool end. avail mem=37.71 GB",
    ]
    log = tmp_path / "engine.log"
    log.write_text("\n".join(lines))
    options = ("--model", "deepseek-v3.2", "--gpu", "b200", "--weight-dtype", "fp8", "--engine", "sglang@0.5.3")
    auto = cli("measure", "log", log, *options)
    assert auto.code == 0, auto.err
    assert "16 bits would take" in auto.out
    assert "the KV cache must be 8-bit, give --kv-dtype fp8" in auto.out
    stated = cli("measure", "log", log, *options, "--kv-dtype", "fp8")
    assert "must be 8-bit" not in stated.out
    row = next(line.split() for line in stated.out.splitlines() if line.startswith("  KV bytes of a token"))
    assert [float(cell.replace(",", "")) for cell in row[5:7]] == pytest.approx([48072, 48068], rel=0.0001)
    assert cli("measure", "log", log, *options, "--kv-dtype", "fp9").code == 2


def test_a_refused_start_is_said_in_the_block(cli: Any, tmp_path: Path) -> None:
    refused = (
        "ValueError: To serve at least one request with the model's max seq len (262144), (62.00 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (48.66 GiB)."
    )
    text, _ = block_of(cli, tmp_path, [refused], [])
    assert "\n# The engine did not start: To serve at least one request with the model's max seq len\n" in text


def test_an_engine_without_a_version_is_named(cli: Any, tmp_path: Path) -> None:
    text, deployment = block_of(cli, tmp_path, SGLANG, [])
    assert deployment["engine"] == "sglang"
    assert "# the log does not print the version of sglang" in text
    assert (
        explained(cli, tmp_path, {**deployment, "model": "qwen2.5-7b", "gpu": "rtx-3090"})["kv_pool_tokens"] == 105531
    )


def test_a_rank_of_several_leaves_the_weights_out(cli: Any, tmp_path: Path) -> None:
    text, deployment = block_of(cli, tmp_path, MLA, ["--gpu", "h200-sxm"])
    assert "weights_bytes" not in deployment
    assert "# weights_bytes is left out: 83.88 GiB (line 3) are one rank's" in text
    assert deployment["tensor_parallel"] == 8
