"""Which values of a log become inputs of a contract, and the text of the block."""

from __future__ import annotations

import pytest

from gridplan.catalog import load_catalog
from gridplan.errors import LogError
from gridplan.measured import EngineLog, logs_of
from gridplan.report.log_labels import Options
from gridplan.report.log_override import override_text
from gridplan.report.log_values import override_values

GIB = 2**30


def v0(non_torch: str = "0.05", tensor_parallel: int = 1, model: str = "m\x07odel", graphs: str = "") -> EngineLog:
    """Qwen2.5-Math-1.5B on 24 GB, a public log."""
    lines = [
        f"INFO Initializing an LLM engine (v0.7.3) with config: model='{model}', "
        f"tensor_parallel_size={tensor_parallel}",
        "INFO the current vLLM instance can use total_gpu_memory (22.06GiB) x gpu_memory_utilization (0.90) = 19.85GiB",
        f"INFO model weights take 2.88GiB; non_torch_memory takes {non_torch}GiB; PyTorch activation peak memory takes "
        "1.40GiB; the rest of the memory reserved for KV Cache is 15.52GiB.",
        "INFO # CUDA blocks: 36332, # CPU blocks: 9362",
        graphs,
    ]
    return logs_of("\n".join(lines), "a log\n.txt")[0]


def test_terms_of_the_budget_in_whole_bytes() -> None:
    values, remarks = override_values(v0())
    assert remarks == ()
    assert {name: (reading.value, reading.line) for name, reading in values.items()} == {
        "gpu_memory_bytes": (round(22.06 * GIB), 2),
        "weights_bytes": (round(2.88 * GIB), 3),
        "non_torch_bytes": (round(0.05 * GIB), 3),
        "activation_bytes": (round(1.4 * GIB), 3),
        "cuda_graphs_bytes": (0, 3),
        "kv_pool_tokens_given": (581312, 4),
    }


def test_a_share_of_the_weights_is_not_all_of_them() -> None:
    values, remarks = override_values(v0(tensor_parallel=2))
    assert "weights_bytes" not in values
    assert remarks == (
        "weights_bytes is left out: 2.88 GiB (line 3) are one rank's, and a contract states the whole model's",
    )


def test_graphs_outside_the_budget_count_nothing() -> None:
    values, _ = override_values(v0(graphs="INFO Graph capturing finished in 9 secs, took 0.27 GiB"))
    assert values["cuda_graphs_bytes"].value == 0


def test_graphs_that_the_pool_leaves_room_for_are_written() -> None:
    lines = [
        "INFO [core.py:1] Initializing a V1 LLM engine (v0.21.0) with config: model='x', tensor_parallel_size=1",
        "INFO [gpu_model_runner.py:1] Estimated CUDA graph memory: 0.36 GiB total",
        "INFO [gpu_worker.py:1] Available KV cache memory: 9.64 GiB",
        "INFO [gpu_worker.py:1] Free memory on device (23.0/24.0 GiB) on startup. Desired GPU memory utilization is "
        "(0.9, 21.6 GiB). Actual usage is 10.0 GiB for weight, 1.5 GiB for peak activation, 0.1 GiB for non-torch "
        "memory, and 0.3 GiB for CUDAGraph memory.",
    ]
    values, _ = override_values(logs_of("\n".join(lines))[0])
    assert values["cuda_graphs_bytes"].value == round(0.36 * GIB)
    total = sum(
        values[name].value
        for name in ("weights_bytes", "non_torch_bytes", "activation_bytes", "cuda_graphs_bytes", "kv_pool_bytes_given")
    )
    assert total == pytest.approx(0.9 * values["gpu_memory_bytes"].value, abs=5)


def test_a_pool_set_by_hand_stands_alone() -> None:
    lines = [
        "INFO [gpu_worker.py:361] Initial free memory 77.91 GiB, reserved 5.32 GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling.",
        "INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB and 3.2 seconds",
    ]
    values, remarks = override_values(logs_of("\n".join(lines))[0])
    assert list(values) == ["weights_bytes", "kv_pool_bytes_given"]
    assert remarks == ("the pool was set by hand: what lies beside it is left out",)


HYBRID = [
    "INFO Available KV cache memory: 44.59 GiB",
    "INFO GPU KV cache size: 973,760 tokens",
    "INFO Maximum concurrency for 262,144 tokens per request: 14.77x",
]


@pytest.mark.parametrize(("lines", "pool"), [(HYBRID, "kv_pool_bytes_given"), (HYBRID[1:], "kv_pool_tokens_given")])
def test_tokens_of_several_layer_groups_only_without_bytes(lines: list[str], pool: str) -> None:
    for model in (None, load_catalog().model("qwen3-next-80b-a3b")):
        values, _ = override_values(logs_of("\n".join(lines))[0], model)
        assert [name for name in values if name.startswith("kv_pool")] == [pool]


def test_the_block_names_settings_and_says_what_is_missing() -> None:
    text = override_text(v0(model="Qwen/Qwen2.5-Math-1.5B"), "2026-11-30", Options(model="qwen2.5-1.5b"))
    assert text.splitlines()[:6] == [
        "# Measured by vllm 0.7.3, lines 1 to 4 of the log.",
        "# Put these keys under `deployment:` of your contract; where a key is there already, keep one.",
        "# An instance of your contract has its own GPU: leave gpu out beside it.",
        "# the log does not say gpu, weight_dtype: state yours, or give it as an option",
        "deployment:",
        "  model: qwen2.5-1.5b",
    ]
    assert '{value: 581312, class: measurement, source: "a log .txt line 4", as_of: 2026-11-30}' in text


def test_names_are_written_in_one_line_that_yaml_can_hold() -> None:
    assert "# model m?odel is not one of the catalog: state yours" in override_text(v0(), "2026-11-30")


def test_a_log_without_a_pool_gives_nothing() -> None:
    log = logs_of("INFO Model loading took 14.9889 GiB and 3.2 seconds", "engine.log")[0]
    with pytest.raises(LogError, match=r"engine\.log: not written: the log has no KV pool above 0"):
        override_values(log)
