"""Charges of layer groups as public start-up logs print them."""

from __future__ import annotations

import math

import pytest

import gridplan

GIB = 2**30

PLAN = """
schema: 1
workload: {{prompt_tokens: 1000, output_tokens: 1, arrival_rate: 1}}
deployment: {{gpu: b300, capacity_model: littles_law, e2e_latency_s: 9, {stated}}}
policy: {{rho_target: 0.6}}
"""


def measured(name: str, stated: str) -> float:
    return float(gridplan.evaluate(gridplan.loads_grid(PLAN.format(stated=stated)))[name])


@pytest.mark.parametrize(
    ("stated", "printed"),
    [
        # Public start-up logs: ../shared/truth/memory_logs.csv
        ("engine: vllm@0.23, model: gemma-3-4b, kv_pool_bytes_given: 162.84 GiB, max_model_len: 8192", 148.63),
        (
            "engine: vllm@0.11, model: qwen3-next-80b-a3b, tensor_parallel: 2, kv_pool_bytes_given: 44.59 GiB, "
            "max_model_len: 262144",
            14.77,
        ),
        (
            "engine: vllm@0.20, model: gemma-4-26b-a4b, kv_dtype: fp8, kv_pool_bytes_given: 51.62 GiB, "
            "max_model_len: 131072, max_num_batched_tokens: 2048",
            33.42,
        ),
        (
            "engine: vllm@0.20, model: qwen3.5-122b-a10b, kv_dtype: fp8, kv_pool_bytes_given: 24.05 GiB, "
            "max_model_len: 262144, state_blocks: 2, num_speculative_tokens: 1, draft_layers: 1",
            6.42,
        ),
        (
            "engine: vllm@0.26, model: gemma-4-e2b, kv_pool_bytes_given: 155.04 GiB, max_model_len: 32768, "
            "max_num_batched_tokens: 16384",
            275.45,
        ),
        # MLA rows of old vLLM take 640 elements.
        (
            "engine: vllm@0.7, model: deepseek-v3, tensor_parallel: 8, kv_pool_bytes_given: 21.43 GiB, "
            "max_model_len: 128000",
            2.30,
        ),
    ],
)
def test_concurrency_as_logs_print_it(stated: str, printed: float) -> None:
    assert measured("concurrency_at_limit", stated) == pytest.approx(printed, abs=0.0051)


@pytest.mark.parametrize(
    ("stated", "tokens", "groups", "block", "page", "printed"),
    [
        # Two logs that no rule was made from; old lines print the blocks of one group, so the pool is known to a
        # few blocks. ovg-project/kvcached#215: gemma-3-4b-it, vLLM 0.11, A100; 5 + 29 layers, seven bundles.
        ("engine: vllm@0.11, model: gemma-3-4b, max_model_len: 3072", 317136, 7, 16, 5 * 16 * 4096, 102.78),
        # vllm-project/vllm#40691: Qwen3.5-27B, vLLM 0.19, 16,384 batched tokens; 16 + 48 layers, four bundles.
        ("engine: vllm@0.19, model: qwen3.5-27b, max_model_len: 32768, max_num_batched_tokens: 16384",
         290864, 4, 784, 16 * 784 * 4096, 33.04),
    ],
)  # fmt: skip
def test_logs_that_no_rule_was_made_from(
    stated: str, tokens: int, groups: int, block: int, page: int, printed: float
) -> None:
    assert tokens % block == 0
    fewest = tokens // block * groups
    found = [
        measured("concurrency_at_limit", f"{stated}, kv_pool_bytes_given: {blocks * page}")
        for blocks in range(fewest, fewest + groups)
    ]
    assert min(found) - 0.005 <= printed <= max(found) + 0.005
    assert any(abs(item - printed) <= 0.005 for item in found)


def test_tokens_of_gemma_4_31b() -> None:
    stated = ("engine: vllm@0.25, model: gemma-4-31b, kv_pool_bytes_given: 64.68 GiB, max_model_len: 262144, "
              "max_num_batched_tokens: 8192, in_flight_steps: 1")  # fmt: skip
    assert measured("kv_pool_tokens", stated) == 626949


def test_no_single_figure_per_token_of_gpt_oss() -> None:
    def each(length: int, more: str = "") -> float:
        stated = (
            f"engine: vllm@0.20, model: gpt-oss-120b, kv_pool_bytes_given: 9 GiB, max_num_batched_tokens: 8192{more}"
        )
        return measured("kv_bytes_per_token_per_gpu", f"{stated}, max_model_len: {length}")

    assert each(131072) == 39208.5
    assert each(8192) == 73800
    # Old lines print two groups of one size as if each token lay in both.
    assert each(8192, ", sliding_policy: full") == 73728
    # Two steps in flight: 127 + 16,384 tokens make 1,032 blocks and one more.
    assert each(131072, ", in_flight_steps: 2") == 18 * 2048 * 16 * (8192 + 1033) / 131072


@pytest.mark.parametrize(
    ("model", "kv", "expected"),
    [
        ("deepseek-v3.2", "fp8", 61 * (656 + 132)),
        ("deepseek-v3.2", "bf16", 61 * (1152 + 132)),  # keys of the indexer stay FP8
        ("glm-5", "fp8", 78 * (656 + 132)),
        ("deepseek-v3", "bf16", 70272),
        ("deepseek-v3", "fp8", 35136),
    ],
)
def test_latent_caches_are_whole_on_every_rank(model: str, kv: str, expected: int) -> None:
    for tp in (1, 2, 8):
        stated = f"engine: vllm@0.20, model: {model}, kv_dtype: {kv}, kv_pool_bytes_given: 9 GiB, tensor_parallel: {tp}"
        assert measured("kv_bytes_per_token_per_gpu", stated) == expected
        assert measured("kv_bytes_per_token", stated) == expected


def test_data_and_context_parallelism_share_a_latent_cache() -> None:
    base = "engine: vllm@0.20, model: deepseek-v3, kv_pool_bytes_given: 10 GiB, max_model_len: 32768"
    one, eight = (measured("kv_pool_tokens", f"{base}, {more}") for more in ("tensor_parallel: 8", "data_parallel: 8"))
    assert eight == 8 * one == 8 * (10 * GIB // (70272 * 16) * 16)
    shared = f"{base}, tensor_parallel: 8, decode_context_parallel: 8"
    assert measured("kv_bytes_per_token_per_gpu", shared) == 8784
    assert measured("kv_pool_tokens", shared) == 8 * one


def test_sglang_keeps_four_fifths_of_the_tokens_for_windows() -> None:
    # Start-up log: full 66,235 and sliding 52,988 tokens of gemma-4-26B in FP8 take 5.685 GiB together.
    full, sliding = 5 * 2 * 1024, 25 * 8 * 512
    assert math.floor(66235 * 0.8) == 52988
    assert (66235 * full + 52988 * sliding) / GIB == pytest.approx(5.685, abs=0.0005)
    stated = "engine: sglang@0.5.3, model: gemma-4-26b-a4b, kv_dtype: fp8, max_model_len: 65536"
    assert measured("kv_bytes_per_token_per_gpu", f"{stated}, kv_pool_bytes_given: 9 GiB") == full + 0.8 * sliding
    assert measured("kv_pool_tokens", f"{stated}, kv_pool_bytes_given: 5.685 GiB") == pytest.approx(66235, abs=5)


def test_a_figure_per_token_holds_for_a_model_of_states_alone() -> None:
    # Nothing of such a model grows with the length, so nothing says how a given figure is sharded: evenly.
    layers = "{kind: state, layers: 24, recurrent_elements: 1000, conv_elements: 100, recurrent_bits: 32}"
    model = (
        "params_total: 2e9, num_layers: 24, hidden_size: 2048, attention_heads: 16, kv_heads: 8, head_dim: 128, "
        f"vocab_size: 1000, intermediate_size: 8192, max_position_embeddings: 9000, layer_groups: [{layers}]"
    )
    stated = (
        "engine: vllm@0.25, model: m, tensor_parallel: 2, kv_pool_bytes_given: 9 GiB, kv_bytes_per_token_given: 1e5"
    )
    text = PLAN.format(stated=stated) + f"catalog: {{models: {{m: {{{model}}}}}}}\n"
    assert float(gridplan.evaluate(gridplan.loads_grid(text))["kv_bytes_per_token_per_gpu"]) == 50000
