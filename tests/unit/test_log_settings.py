"""Which settings of a log become inputs of a contract."""

from __future__ import annotations

import pytest

from gridplan.catalog import load_catalog
from gridplan.measured import EngineLog, logs_of
from gridplan.report.log_cache import eight_bit_note
from gridplan.report.log_settings import plain, settings_of, stated_fraction


def vllm(*said: str, more: str = "") -> EngineLog:
    head = "INFO Initializing a V1 LLM engine (v0.24.0) with config: model='x', "
    return logs_of("\n".join([head + ", ".join(said), more]))[0]


def test_parallelism_then_limits() -> None:
    log = vllm(
        "tensor_parallel_size=4",
        "data_parallel_size=2",
        "decode_context_parallel_size=1",
        more="INFO non-default args: {'enable_expert_parallel': True, 'max_num_seqs': 64, 'max_model_len': 8192, "
        "'gpu_memory_utilization': 0.85}",
    )
    assert list(plain(settings_of(log, None)).items()) == [
        ("tensor_parallel", 4),
        ("data_parallel", 2),
        ("expert_parallel", 8),
        ("decode_context_parallel", 1),
        ("max_model_len", 8192),
        ("max_num_seqs", 64),
        ("gpu_memory_utilization", 0.85),
    ]


@pytest.mark.parametrize(
    ("model", "cached", "states"),
    [
        ("qwen3.6-35b-a3b", "True", 2),
        ("qwen3.6-35b-a3b", "False", 1),
        ("qwen3.6-35b-a3b", "None", None),
        ("llama-3.1-8b", "True", None),
    ],
)
def test_states_of_cached_prefixes(model: str, cached: str, states: int | None) -> None:
    log = vllm(f"enable_prefix_caching={cached}")
    assert plain(settings_of(log, load_catalog().model(model))).get("state_blocks") == states


def test_speculative_tokens() -> None:
    log = vllm("speculative_config=SpeculativeConfig(method='mtp', model='y', num_spec_tokens=3)")
    assert plain(settings_of(log, None)) == {"num_speculative_tokens": 3}


def test_two_decimals_of_a_fraction_are_read_beside_their_product() -> None:
    """A public log of phi-4: 0.70 stands for 0.696."""
    line = "INFO the current vLLM instance can use total_gpu_memory ({}GiB) x gpu_memory_utilization ({}) = {}GiB"
    for total, printed, product, fraction in (("79.15", "0.70", "55.09", 0.696), ("22.06", "0.90", "19.85", 0.9)):
        found = stated_fraction(vllm(more=line.format(total, printed, product)))
        assert (found and found.value) == fraction


def test_a_16_bit_cache_is_not_doubted() -> None:
    log = vllm(
        "kv_cache_dtype=auto",
        more="INFO Available KV cache memory: 19.25 GiB\nINFO GPU KV cache size: 157,648 tokens",
    )
    model = load_catalog().model("llama-3.1-8b")
    assert eight_bit_note(log, model, None) is None
    large = load_catalog().model("llama-3.3-70b")
    said = eight_bit_note(log, large, None)
    assert said is not None
    assert said.endswith("the KV cache must be 8-bit, give --kv-dtype fp8")
    assert eight_bit_note(log, large, "fp8") is None
