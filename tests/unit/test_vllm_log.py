"""vLLM's start-up logs, in the sentences of each generation and with the figures of public logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.errors import LogError
from gridplan.measured import EngineLog, last_complete, logs_of
from gridplan.measured.check_log import check_log, pool_tokens

GIB = 2**30


def read(*lines: str) -> EngineLog:
    """The last complete start-up of a log of these lines."""
    return last_complete(logs_of("\n".join(lines) + "\n", "engine.log"))


def v0(total: float, fraction: float, usable: float, weights: float, rest: tuple[float, float, float]) -> list[str]:
    """The budget of V0 from 0.6.4.post1 on; `rest` is non-torch, activation and pool."""
    non_torch, activation, pool = rest
    head = "INFO 03-01 10:30:57 worker.py:267] "
    return [
        f"{head}Memory profiling takes 1.48 seconds",
        f"{head}the current vLLM instance can use total_gpu_memory ({total:.2f}GiB) x gpu_memory_utilization "
        f"({fraction:.2f}) = {usable:.2f}GiB",
        f"{head}model weights take {weights:.2f}GiB; non_torch_memory takes {non_torch:.2f}GiB; PyTorch activation "
        f"peak memory takes {activation:.2f}GiB; the rest of the memory reserved for KV Cache is {pool:.2f}GiB.",
    ]


def gib_of(log: EngineLog, name: str) -> float:
    reading = getattr(log, name)
    assert reading is not None
    return round(reading.value / GIB, 4)


V0_ROWS = {
    # https://github.com/vllm-project/vllm/pull/12126
    "llama-3.2-11b-vision": (v0(79.22, 0.90, 71.30, 19.86, (0.16, 36.63, 14.65)), 6001, 65536, 1.47, 96016),
    # https://github.com/vllm-project/vllm/pull/14447: two decimals of a fraction of 0.99
    "deepseek-r1-awq": (v0(23.58, 0.99, 23.34, 21.21, (0.20, 0.37, 1.57)), None, None, None, None),
    # a public log of Qwen2.5-Math-1.5B
    "qwen2.5-math-1.5b": (v0(22.06, 0.90, 19.85, 2.88, (0.05, 1.40, 15.52)), 36332, 4096, 141.92, 581312),
    # a public log of DeepSeek-R1 on eight H200
    "deepseek-r1-fp8": (v0(139.81, 0.85, 118.84, 83.88, (7.16, 6.37, 21.43)), 18418, 128000, 2.30, 294688),
    # a public log of phi-4: 0.70 stands for 0.696
    "phi-4": (v0(79.15, 0.70, 55.09, 8.63, (0.09, 1.16, 45.21)), 14815, 512, 462.97, 237040),
}


@pytest.mark.parametrize("row", V0_ROWS.values(), ids=V0_ROWS)
def test_the_budget_of_v0(row: tuple[list[str], int | None, int | None, float | None, int | None]) -> None:
    lines, blocks, length, concurrency, tokens = row
    more = []
    if blocks is not None:
        head = "INFO 03-01 10:30:57 executor_base.py:110] "
        more = [
            f"{head}# CUDA blocks: {blocks}, # CPU blocks: 9362",
            f"{head}Maximum concurrency for {length} tokens per request: {concurrency}x",
        ]
    log = read(*lines, *more)
    assert (log.engine, log.generation) == ("vllm", "V0")
    assert log.kv_pool_bytes is not None
    assert log.kv_pool_bytes.line == 3
    assert [check.severity for check in check_log(log) if check.severity != "info"] == []
    if tokens is not None:
        found = pool_tokens(log)
        assert found is not None
        assert (found.value, found.line) == (tokens, 4)


def test_a_pool_below_zero_is_read_and_said() -> None:
    """https://github.com/vllm-project/vllm/issues/13882: 5.20 + 0.03 + 1.42 GiB do not fit 0.7 of 8 GiB."""
    refusal = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"
    log = read(
        *v0(8.00, 0.70, 5.60, 5.20, (0.03, 1.42, -1.05)),
        "INFO 02-26 10:00:00 executor_base.py:111] # cuda blocks: 0, # CPU blocks: 4681",
        "INFO 02-26 10:00:00 executor_base.py:116] Maximum concurrency for 4096 tokens per request: 0.00x",
        refusal,
    )
    assert gib_of(log, "kv_pool_bytes") == -1.05
    assert log.refusal is not None
    assert log.refusal.line == 6
    assert {check.id: check.severity for check in check_log(log)}.items() >= {
        "refused": "warning",
        "negative_pool": "warning",
        "budget": "info",
    }.items()


def test_v0_before_0_6_4_post1_and_its_refusal() -> None:
    """https://github.com/vllm-project/vllm/issues/10517: activation is the peak of torch less the weights."""
    log = read(
        "INFO 12-02 01:49:33 llm_engine.py:249] Initializing an LLM engine (v0.6.4) with config: "
        "model='meta-llama/Llama-3.1-8B-Instruct', speculative_config=None, dtype=torch.bfloat16, max_seq_len=29000, "
        "tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto",
        "INFO 12-02 01:49:40 model_runner.py:1077] Loading model weights took 14.9888 GB",
        "INFO 12-02 01:49:44 worker.py:232] Memory profiling results: total_gpu_memory=23.58GiB "
        "initial_memory_usage=15.46GiB peak_torch_memory=17.98GiB memory_usage_post_profile=15.47GiB "
        "non_torch_memory=0.35GiB kv_cache_size=2.89GiB gpu_memory_utilization=0.90",
        "INFO 12-02 01:49:44 gpu_executor.py:113] # GPU blocks: 1478, # CPU blocks: 2048",
        "INFO 12-02 01:49:44 gpu_executor.py:117] Maximum concurrency for 29000 tokens per request: 0.82x",
        "ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in "
        "KV cache (23648). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.",
    )
    assert (log.engine_version and log.engine_version.value) == "0.6.4"
    assert gib_of(log, "activation_bytes") == 2.9912
    assert (log.memory_fraction and log.memory_fraction.value) == 0.9
    assert (log.weights_bytes and log.weights_bytes.line) == 2
    assert (log.kv_tokens and log.kv_tokens.value) == 23648
    assert log.refusal is not None
    found = {check.id: check for check in check_log(log)}
    assert found["blocks"].sentence.startswith("blocks and tokens agree: 1,478 blocks of 16 tokens")
    assert found["concurrency"].severity == "info"


def test_v1_with_separate_lines() -> None:
    """A public log of vLLM 0.10.1.1: Llama-3.1-8B with its default settings."""
    log = read(
        "INFO 08-27 10:00:00 [__init__.py:1711] Using max model len 131072",
        "INFO 08-27 10:00:00 [scheduler.py:222] Chunked prefill is enabled with max_num_batched_tokens=2048.",
        "\x1b[1;36m(EngineCore_0 pid=357)\x1b[0;0m INFO 08-27 10:00:09 [core.py:75] Initializing a V1 LLM engine "
        "(v0.10.1.1) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.float16, max_seq_len=131072, "
        "tensor_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda",
        "(EngineCore_0 pid=357) INFO 08-27 10:00:20 [model_runner.py:1] Model loading took 14.9889 GiB and 3.2 s",
        "(EngineCore_0 pid=357) INFO 08-27 10:00:40 [gpu_worker.py:276] Available KV cache memory: 19.25 GiB",
        "(EngineCore_0 pid=357) INFO 08-27 10:00:41 [kv_cache_utils.py:849] GPU KV cache size: 157,648 tokens",
        "(EngineCore_0 pid=357) INFO 08-27 10:00:41 [kv_cache_utils.py:853] Maximum concurrency for 131,072 tokens per "
        "request: 1.20x",
        "(EngineCore_0 pid=357) INFO 08-27 10:00:50 [model_runner.py:9] Graph capturing finished in 20 secs, took "
        "0.52 GiB",
    )
    assert (log.engine, log.generation, log.first_line, log.last_line) == ("vllm", "V1", 1, 8)
    texts = (log.engine_version, log.model, log.dtype, log.kv_cache_dtype)
    assert [text and text.value for text in texts] == [
        "0.10.1.1",
        "meta-llama/Llama-3.1-8B-Instruct",
        "float16",
        "auto",
    ]
    assert log.quantization is None
    assert (log.max_num_batched_tokens and log.max_num_batched_tokens.value) == 2048
    assert (gib_of(log, "weights_bytes"), gib_of(log, "kv_pool_bytes"), gib_of(log, "cuda_graphs_bytes")) == (
        14.9889,
        19.25,
        0.52,
    )
    assert (log.kv_pool_bytes and log.kv_pool_bytes.rank) == "EngineCore_0 pid=357"
    found = {check.id: check for check in check_log(log)}
    assert found["budget"].sentence == (
        "the budget is not checked: the log does not print non-torch, activation, total memory and fraction"
    )
    assert round(found["bytes_per_token"].numbers["bytes_per_token"]) == 131112  # 131,072 and what a block leaves over


HYBRID = [
    "(EngineCore_DP0 pid=9) INFO 10-23 15:10:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: "
    "model='Qwen/Qwen3-Next-80B-A3B-Instruct', dtype=torch.bfloat16, max_seq_len=262144, tensor_parallel_size=2, "
    "pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto",
    "(EngineCore_DP0 pid=9) INFO 10-23 15:14:20 [config.py:1] Setting attention block size to 544 tokens",
    "(Worker_TP1 pid=12) INFO 10-23 15:14:29 [gpu_worker.py:298] Available KV cache memory: 44.59 GiB",
    "(Worker_TP0 pid=11) INFO 10-23 15:14:29 [gpu_worker.py:298] Available KV cache memory: 44.61 GiB",
    "(EngineCore_DP0 pid=9) INFO 10-23 15:14:30 [kv_cache_utils.py:1028] GPU KV cache size: 973,760 tokens",
    "(EngineCore_DP0 pid=9) INFO 10-23 15:14:30 [kv_cache_utils.py:1032] Maximum concurrency for 262,144 tokens per "
    "request: 14.77x",
    "(Worker_TP1 pid=12) INFO 10-23 15:14:56 [gpu_worker.py:391] Free memory on device (139.21/139.81 GiB) on startup. "
    "Desired GPU memory utilization is (0.9, 125.83 GiB). Actual usage is 74.28 GiB for weight, 5.58 GiB for peak "
    "activation, 1.38 GiB for non-torch memory, and 2.37 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
    "config with `--kv-cache-memory=45175492096` to fit into requested memory, or "
    "`--kv-cache-memory=59540753920` to fully utilize gpu memory. Current kv cache memory in use is 47878721024 bytes.",
    "(Worker_TP0 pid=11) INFO 10-23 15:14:56 [gpu_worker.py:391] Free memory on device (139.21/139.81 GiB) on startup. "
    "Desired GPU memory utilization is (0.9, 125.83 GiB). Actual usage is 74.26 GiB for weight, 5.58 GiB for peak "
    "activation, 1.38 GiB for non-torch memory, and 2.37 GiB for CUDAGraph memory. Current kv cache memory in use is "
    "47900196864 bytes.",
    "INFO 10-23 15:15:00 [loggers.py:111] vllm cache_config_info with initialization after num_gpu_blocks is: 7162",
]
"""Qwen3-Next-80B on two H200 with vLLM 0.11.0, a public log; rank 0 is made a little roomier here."""


def test_v1_of_several_ranks_and_layer_groups() -> None:
    log = read(*HYBRID)
    assert (log.kv_pool_bytes and log.kv_pool_bytes.value) == 47878721024  # rank 1's, exact
    assert gib_of(log, "weights_bytes") == 74.28
    assert [reading.rank for reading in log.ranks["kv_pool_bytes"]] == ["Worker_TP1 pid=12", "Worker_TP0 pid=11"]
    found = {check.id: check for check in check_log(log)}
    assert found["budget"].severity == "info"
    assert found["blocks"].severity == "warning"
    assert "one of 4 layer groups" in found["blocks"].sentence
    assert round(found["concurrency"].numbers["ratio"], 2) == 3.98
    assert found["ranks"].severity == "info"
    tokens = pool_tokens(log)
    assert tokens is not None
    assert tokens.value == pytest.approx(3871866, abs=1)


def consumed(*values: float) -> str:
    """The sentence of about 0.22 and later: consumed memory, and a peak that holds the estimate of the graphs."""
    free, total, fraction, usable, used, peak, graphs, pool = values
    return (
        f"(EngineCore pid=114) INFO 09-25 02:25:51 [gpu_worker.py:860] Free memory on device ({free}/{total} GiB) on "
        f"startup. Desired GPU memory utilization is ({fraction}, {usable} GiB). Actual usage is {used} GiB for "
        f"consumed memory (weights + non-torch), {peak} GiB for peak activation, and {graphs} GiB for CUDAGraph "
        f"memory. Replace gpu_memory_utilization config with `--kv-cache-memory=2358995846` (2.2 GiB) to fit "
        f"into requested memory. Current kv cache memory in use is {pool} GiB."
    )


@pytest.mark.parametrize(
    ("values", "tokens"),
    [
        ((78.84, 79.25, 0.92, 72.91, 15.26, 1.44, 0.23, 56.21), 460496),  # Llama-3.1-8B on 80 GB
        ((94.05, 95.01, 0.9, 85.51, 56.89, 0.76, 0.32, 27.85), 621392),  # Qwen3-235B FP8 on four RTX PRO 6000
        ((191.36, 191.69, 0.9, 172.52, 11.88, 5.59, 3.9, 155.04), 9026017),  # gemma-4-E2B on MI300X
        ((94.41, 94.97, 0.97, 92.12, 81.7, 1.78, 0.28, 8.64), 315039),  # a hybrid on RTX PRO 6000
        ((23.05, 23.56, 0.972, 22.9, 14.73, 1.09, 0.71, 7.08), 222822),  # a hybrid with FP8 KV on RTX 3090
    ],
)
def test_v1_with_consumed_memory(values: tuple[float, ...], tokens: int) -> None:
    log = read(
        consumed(*values),
        f"(EngineCore pid=114) INFO 09-25 02:25:49 [kv_cache_utils.py:2032] GPU KV cache size: {tokens:,} tokens",
    )
    assert gib_of(log, "consumed_bytes") == values[4]
    budget = next(check for check in check_log(log) if check.id == "budget")
    assert budget.severity == "info"
    assert abs(budget.numbers["difference_bytes"]) < 0.02 * GIB


def test_graphs_are_inside_the_budget_since_0_21() -> None:
    """The estimate is subtracted beside the terms where the peak does not hold it, but not by an older engine."""
    lines = [
        "(EngineCore pid=1) INFO 06-01 10:00:00 [core.py:1] Initializing a V1 LLM engine ({}) with config: model='x'",
        "(EngineCore pid=1) INFO 06-01 10:00:01 [gpu_model_runner.py:1] Estimated CUDA graph memory: 0.36 GiB total",
        "(EngineCore pid=1) INFO 06-01 10:00:02 [gpu_worker.py:1] Available KV cache memory: 9.64 GiB",
        "(EngineCore pid=1) INFO 06-01 10:00:03 [gpu_worker.py:1] Free memory on device (23.0/24.0 GiB) on startup. "
        "Desired GPU memory utilization is (0.9, 21.6 GiB). Actual usage is 10.0 GiB for weight, 1.5 GiB for peak "
        "activation, 0.1 GiB for non-torch memory, and 0.3 GiB for CUDAGraph memory.",
    ]
    for version, severity in (("v0.21.0", "info"), ("v0.18.0", "error")):
        log = read(lines[0].format(version), *lines[1:])
        budget = next(check for check in check_log(log) if check.id == "budget")
        assert budget.severity == severity
    assert budget.sentence.endswith(
        "the difference is the printed CUDA-graph memory (0.36 GiB, line 2): this version subtracts it"
    )
    roomier = [line.replace("9.64", "10.36") for line in lines]
    budget = next(
        check for check in check_log(read(roomier[0].format("v0.21.0"), *roomier[1:])) if check.id == "budget"
    )
    assert budget.severity == "error"
    assert budget.sentence.endswith("(0.36 GiB, line 2): this version does not subtract it")


REFUSED = (
    "(EngineCore_3 pid=99) ERROR 08-04 10:00:00 [core.py:700] ValueError: To serve at least one request with the "
    "models's max seq len (262144), (62.00 GiB KV cache is needed, which is larger than the available KV cache "
    "memory ({} GiB). Based on the available memory, the estimated maximum model length is {}. Try increasing "
    "`gpu_memory_utilization`"
)


@pytest.mark.parametrize(("pool", "longest"), [("48.66", 205728), ("55.65", 235296)])
def test_a_refusal_says_pool_and_need(pool: str, longest: int) -> None:
    """https://github.com/vllm-project/recipes/pull/12: Qwen3-Coder-480B FP8 on eight H20, 253,952 bytes a token."""
    log = read(REFUSED.format(pool, longest))
    assert log.complete
    assert gib_of(log, "need_bytes") == 62.0
    assert (log.max_model_len and log.max_model_len.value) == 262144
    assert (log.estimated_max_model_len and log.estimated_max_model_len.value) == longest
    need = next(check for check in check_log(log) if check.id == "need")
    assert round(need.numbers["bytes_per_token"]) == 253952


def test_a_pool_that_was_set_by_hand_has_no_budget() -> None:
    log = read(
        "(EngineCore pid=9) INFO 09-30 16:07:24 [gpu_worker.py:361] Initial free memory 77.91 GiB, reserved 5.32 GiB "
        "memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.",
        "(EngineCore pid=9) INFO 09-30 16:07:24 [kv_cache_utils.py:1319] GPU KV cache size: 38,736 tokens",
    )
    assert gib_of(log, "kv_pool_bytes") == 5.32
    budget = next(check for check in check_log(log) if check.id == "budget")
    assert budget.sentence == "the pool of 5.32 GiB was set by hand"


@pytest.mark.parametrize(
    "prefix",
    [
        "Sep 18 22:23:41 host python[42623]: (EngineCore pid=42623) INFO 09-18 22:23:41 [gpu_worker.py:298] ",
        "2026-09-18T22:23:41.123456789Z stderr F \x1b[32mINFO\x1b[0m 09-18 22:23:41 [gpu_worker.py:298] ",
        '{"log":"INFO 09-18 22:23:41 [gpu_worker.py:298] ',
        "(RayWorkerWrapper pid=1206, ip=10.0.0.2) INFO 09-18 22:23:41 [gpu_worker.py:298] ",
        "vllm-1  | ",
        "",
    ],
)
def test_whatever_stands_before_a_sentence(prefix: str) -> None:
    log = read(f"{prefix}Available KV cache memory: 8.64 GiB")
    assert gib_of(log, "kv_pool_bytes") == 8.64


def test_a_sentence_that_was_wrapped_keeps_its_line_and_rank() -> None:
    log = read(
        "(Worker_PP1_EP0 pid=1749) INFO 09-04 10:06:12 [gpu_worker.py:804] Free memory on device",
        "(94.06/94.97 GiB) on startup. Desired GPU memory utilization is (0.92, 87.37 GiB). Actual usage",
        "is 52.92 GiB for consumed memory (weights + non-torch),",
        "2.32 GiB for peak activation, and 1.51 GiB for CUDAGraph memory. ",
        "Current kv cache memory in use is 32.13 GiB.",
    )
    assert log.kv_pool_bytes is not None
    assert (log.kv_pool_bytes.line, log.kv_pool_bytes.rank) == (5, "Worker_PP1_EP0 pid=1749")
    assert next(check.severity for check in check_log(log) if check.id == "budget") == "info"


def test_the_last_complete_start_up_is_taken() -> None:
    first = [line.replace("14.77x", "12.00x") for line in HYBRID]
    text = "\n".join([*first, *HYBRID, HYBRID[0]])
    logs = logs_of(text)
    assert [(log.first_line, log.last_line, log.complete) for log in logs] == [
        (1, 9, True),
        (10, 18, True),
        (19, 19, False),
    ]
    log = last_complete(logs)
    assert (log.start, log.starts, log.max_concurrency and log.max_concurrency.value) == (2, 3, 14.77)


def test_replicas_of_one_start_up_are_not_restarts() -> None:
    lines = [HYBRID[0].replace("DP0", f"DP{rank}").replace("pid=9", f"pid=9{rank}") for rank in range(4)]
    assert len(logs_of("\n".join(lines))) == 1


def test_arguments_fill_in_what_the_configuration_does_not_say() -> None:
    log = read(
        "(APIServer pid=1) INFO 06-14 04:56:37 [api_utils.py:273] non-default args: {'model_tag': 'Qwen/Qwen3-8B', "
        "'model': 'Qwen/Qwen3-8B', 'max_model_len': 40960, 'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.82, "
        "'enable_expert_parallel': True, 'max_num_batched_tokens': 2048, 'max_num_seqs': 1}",
        "INFO Using default MoE config. Config file not found at E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json",
    )
    assert (log.memory_fraction and log.memory_fraction.value) == 0.82
    assert (log.max_num_seqs and log.max_num_seqs.value) == 1
    assert (log.tensor_parallel and log.tensor_parallel.value) == 2
    assert (log.expert_parallel and log.expert_parallel.value) is True
    assert (log.gpu_name and log.gpu_name.value) == "NVIDIA H100 80GB HBM3"
    assert not log.complete


def test_a_log_of_neither_engine_is_refused() -> None:
    with pytest.raises(LogError, match=r"engine.log: is not a start-up log of vLLM or SGLang; looked for \"Init"):
        logs_of("llama_model_loader: loaded meta data\n", "engine.log")


_PIECES = st.sampled_from([*HYBRID, REFUSED, consumed(1, 2, 0.9, 1.8, 1, 0.1, 0.1, 0.7), "\n", "\r", "\0", "9" * 30])


@given(st.lists(st.one_of(_PIECES, st.text()), max_size=12), st.integers(0, 400))
def test_any_text_is_a_log_or_a_clean_error(pieces: list[str], cut: int) -> None:
    text = "\n".join(piece[cut % (len(piece) + 1) :] for piece in pieces)
    try:
        logs = logs_of(text)
    except LogError:
        return
    lines = text.replace("\r\n", "\n").count("\n") + 1
    for log in logs:
        assert 1 <= log.first_line <= log.last_line <= lines
        assert all(log.first_line <= reading.line <= log.last_line for reading in log.readings().values())
        for check in check_log(log):
            assert check.sentence


@pytest.mark.parametrize(
    ("printed", "damaged", "said"),
    [
        ("utilization is (0.92", "utilization is (1.92", "a memory fraction of 1.92 is not in 0 to 1"),
        ("size: 460,496", "size: 0", "a KV pool of 56.21 GiB is said to hold 0 tokens"),
        ("max_seq_len=131072", "max_seq_len=0", "a length of 0 tokens is none"),
    ],
)
def test_figures_that_no_engine_prints_are_errors(printed: str, damaged: str, said: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "vllm-startup.log").read_text()
    text = text.replace("for 131,072 tokens", "for 0 tokens") if "seq_len" in printed else text
    assert printed in text
    checks = check_log(last_complete(logs_of(text.replace(printed, damaged), "engine.log")))
    assert [check.sentence for check in checks if check.severity == "error"] == [said]
    assert not any("inf" in check.sentence.split() for check in checks)
