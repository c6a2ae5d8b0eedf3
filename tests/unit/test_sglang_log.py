"""SGLang's start-up logs with the figures of public ones; it prints GB and means GiB."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gridplan.measured import EngineLog, last_complete, logs_of
from gridplan.measured.check_log import check_log
from gridplan.measured.log_checks import Check

GIB = 2**30


def read(lines: Sequence[str]) -> EngineLog:
    return last_complete(logs_of("\n".join(lines), "sglang.log"))


def check(log: EngineLog, name: str) -> Check:
    return next(item for item in check_log(log) if item.id == name)


def value(log: EngineLog, name: str) -> float:
    reading = getattr(log, name)
    assert reading is not None
    return float(reading.value)


PLAIN = [
    "[2025-02-04 10:00:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', "
    "tokenizer_path='x', dtype='auto', kv_cache_dtype='auto', quantization=None, context_length=None, "
    "mem_fraction_static=0.88, max_total_tokens=None, tp_size=1, dp_size=1, disable_cuda_graph=False, "
    "enable_dp_attention=False)",
    "[2025-02-04 10:00:10 TP0] Load weight begin. avail mem=22.76 GB",
    "[2025-02-04 10:00:20 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.37 GB",
    "[2025-02-04 10:00:20 TP0] KV Cache is allocated. K size: 2.82 GB, V size: 2.82 GB.",
    "[2025-02-04 10:00:20 TP0] Memory pool end. avail mem=1.68 GB",
    "[2025-02-04 10:00:28 TP0] Capture cuda graph end. Time elapsed: 7.23 s. avail mem=0.53 GB. mem usage=0.93 GB.",
    "[2025-02-04 10:00:29 TP0] max_total_num_tokens=105531, chunked_prefill_size=2048, max_prefill_tokens=16384, "
    "max_running_requests=2049, context_len=131072",
]
"""https://github.com/jerryzsj/my-deepseek-r1: DeepSeek-R1-Distill-Qwen-7B on an RTX 3090."""


def test_a_plain_model() -> None:
    log = read(PLAIN)
    assert (log.engine, log.generation) == ("sglang", None)
    assert value(log, "kv_pool_bytes") == pytest.approx(5.64 * GIB)
    assert (value(log, "kv_tokens"), value(log, "max_num_seqs"), value(log, "max_model_len")) == (105531, 2049, 131072)
    assert value(log, "cuda_graphs_bytes") == pytest.approx(0.93 * GIB)
    assert (log.logged_on and log.logged_on.value) == "2025-02-04"
    assert log.kv_pool_bytes is not None
    assert (log.kv_pool_bytes.line, log.kv_pool_bytes.rank) == (4, "TP0")
    budget = check(log, "budget")  # 8.37 - 0.12 x 22.76
    assert budget.severity == "info"
    assert abs(budget.numbers["difference_bytes"]) < 0.01 * GIB
    assert round(check(log, "bytes_per_token").numbers["bytes_per_token"]) == 57385  # 57,344 and rounding


def test_multi_head_latent_attention_on_every_rank() -> None:
    """A public log of Kimi-K2.5 on eight GPUs of 288 GB: 70,272 bytes a token on every one of them."""
    free = {0: 209.98, 5: 210.02, 6: 210.1}
    lines = [
        "[2026-02-26 16:30:00] server_args=ServerArgs(model_path='moonshotai/Kimi-K2.5', tp_size=8, "
        "mem_fraction_static=0.826, kv_cache_dtype='auto', dp_size=1)"
    ]
    lines += [
        f"[2026-02-26 16:31:00 TP{rank}] Load weight begin. avail mem={left + 73.58:.2f} GB"
        for rank, left in free.items()
    ]
    for rank, left in free.items():
        head = f"[2026-02-26 16:41:18 TP{rank}]"
        lines += [
            f"{head} Load weight end. elapsed=606.46 s, type=KimiK25ForConditionalGeneration, dtype=torch.bfloat16, "
            f"avail mem={left:.2f} GB, mem usage=73.58 GB.",
            f"{head} Using KV cache dtype: torch.bfloat16",
            f"{head} KV Cache is allocated. #tokens: 2454421, KV size: 160.63 GB",
            f"{head} Memory pool end. avail mem=45.25 GB",
        ]
    log = read(lines)
    assert value(log, "tensor_parallel") == 8
    assert value(log, "weights_bytes") == pytest.approx(73.58 * GIB)
    assert value(log, "free_after_load_bytes") == pytest.approx(209.98 * GIB)
    assert check(log, "budget").severity == "info"
    assert round(check(log, "bytes_per_token").numbers["bytes_per_token"]) == 70271
    assert check(log, "ranks").severity == "info"


def test_sliding_windows_have_a_pool_of_their_own() -> None:
    """A public log of diffusiongemma-26B on a DGX Spark: 0.55 of 111.53 GiB free before loading."""
    log = read(
        [
            "[2026-06-12 10:00:00] server_args=ServerArgs(model_path='google/diffusiongemma-26B-A4B-it', tp_size=1, "
            "mem_fraction_static=0.55, kv_cache_dtype='auto')",
            "[2026-06-12 10:00:01] Load weight begin. avail mem=111.53 GB",
            "[2026-06-12 10:05:01] Load weight end. elapsed=300.00 s, type=X, avail mem=62.35 GB, mem usage=49.18 GB.",
            "[2026-06-12 10:05:02] Use sliding window memory pool. full_layer_tokens=70656, swa_layer_tokens=56320",
            "[2026-06-12 10:05:02] KV Cache is allocated. #tokens: 56320, K size: 5.40 GB, V size: 5.40 GB",
            "[2026-06-12 10:05:02] KV Cache is allocated. #tokens: 70656, K size: 0.68 GB, V size: 0.68 GB",
            "[2026-06-12 10:05:02] Memory pool end. avail mem=50.02 GB",
        ]
    )
    assert value(log, "kv_pool_bytes") == pytest.approx(12.16 * GIB)
    assert (value(log, "kv_tokens"), value(log, "sliding_tokens")) == (70656, 56320)
    assert check(log, "budget").severity == "info"


def test_a_limit_by_hand_is_no_contradiction() -> None:
    """A public log of Qwen2.5-0.5B whose pool was limited to 20,480 tokens."""
    log = read(
        [
            "[2026-02-04 11:30:00] server_args=ServerArgs(model_path='qwen/qwen2.5-0.5b-instruct', tp_size=1, "
            "mem_fraction_static=0.841, max_total_tokens=20480)",
            "[2026-02-04 11:30:29] Load weight begin. avail mem=78.43 GB",
            "[2026-02-04 11:30:29] Load weight end. elapsed=0.38 s, type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail "
            "mem=77.45 GB, mem usage=0.98 GB.",
            "[2026-02-04 11:30:29] KV Cache is allocated. #tokens: 20480, K size: 0.12 GB, V size: 0.12 GB",
            "[2026-02-04 11:30:29] Memory pool end. avail mem=77.12 GB",
        ]
    )
    assert check(log, "budget").severity == "info"
    assert "limited to 20,480 tokens by hand" in check(log, "budget").sentence


def test_a_pool_that_does_not_follow_from_its_terms_is_an_error() -> None:
    log = read([line.replace("2.82 GB", "2.52 GB") for line in PLAIN])
    assert check(log, "budget").severity == "error"


def test_recurrent_states_are_taken_from_the_pool() -> None:
    log = read(
        [
            "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='x', mem_fraction_static=0.8)",
            "[2026-01-01 00:00:00] Load weight begin. avail mem=80.00 GB",
            "[2026-01-01 00:01:00] Load weight end. elapsed=60 s, type=HybridModel, quant=fp8, avail mem=60.00 GB, mem "
            "usage=20.00 GB.",
            "[2026-01-01 00:01:01] Mamba Cache is allocated. max_mamba_cache_size: 22, conv_state size: "
            "0.06GB, ssm_state size: 3.23GB",
            "[2026-01-01 00:01:02] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 300000, K size: "
            "20.35 GB, V size: 20.36 GB",
            "[2026-01-01 00:01:03] Memory pool end. avail mem=16.00 GB",
        ]
    )
    assert value(log, "state_bytes") == pytest.approx(3.29 * GIB)
    assert (log.quantization and log.quantization.value) == "fp8"
    assert check(log, "budget").severity == "info"


def test_a_draft_model_is_left_out_and_said() -> None:
    draft = [
        "[2025-02-04 10:00:30 TP0] Load weight begin. avail mem=1.00 GB",
        "[2025-02-04 10:00:31 TP0] Load weight end. type=Eagle, dtype=torch.bfloat16, avail mem=0.50 GB, mem "
        "usage=0.5 GB.",
        "[2025-02-04 10:00:32 TP0] KV Cache is allocated. #tokens: 105531, K size: 0.10 GB, V size: 0.10 GB",
    ]
    log = read([*PLAIN, *draft])
    assert value(log, "kv_pool_bytes") == pytest.approx(5.64 * GIB)
    assert log.notes == ("line 8 on: a draft model with weights and a pool of its own, which are left out",)


def test_data_parallel_attention_divides_the_tensor_ranks() -> None:
    log = read(
        [
            "[2025-11-04 05:20:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-R1', tp_size=16, "
            "dp_size=16, ep_size=16, enable_dp_attention=True, mem_fraction_static=0.8, max_total_tokens=524288)",
            "[2025-11-04 05:27:13 DP0 TP0 EP0] Load weight end. type=DeepseekV3ForCausalLM, "
            "dtype=torch.bfloat16, avail mem=75.11 GB, mem usage=107.07 GB.",
            "[2025-11-04 05:27:13 DP0 TP0 EP0] KV Cache is allocated. #tokens: 524288, KV size: 17.16 GB",
        ]
    )
    assert (value(log, "tensor_parallel"), value(log, "data_parallel")) == (1, 16)
    assert (log.expert_parallel and log.expert_parallel.value) is True
    assert (log.kv_pool_bytes and log.kv_pool_bytes.rank) == "DP0 TP0 EP0"
    assert round(check(log, "bytes_per_token").numbers["bytes_per_token"]) == 35144


def test_replicas_of_sglang_are_no_part_of_one() -> None:
    log = read([line.replace("dp_size=1", "dp_size=4") for line in PLAIN])
    assert log.data_parallel is None
    assert log.notes == ("line 1: dp_size 4 are replicas of their own; one is read",)
