"""Memory: KV geometry, the pool, sequences that fit, activation peaks, legal tensor parallelism."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import (
    activation_forward_bytes,
    activation_peak_bytes,
    activation_peak_kept_bytes,
    activation_sampler_bytes,
    blocks_for_tokens,
    concurrency_ceiling,
    concurrency_memory,
    concurrency_memory_tokens,
    concurrency_memory_worst,
    hidden_states_bytes,
    kv_bytes_per_token_attention,
    kv_bytes_per_token_mla,
    kv_bytes_per_token_per_gpu_attention,
    kv_bytes_per_token_per_gpu_mla,
    kv_pool_bytes_per_gpu,
    kv_pool_bytes_raw,
    kv_pool_tokens,
    memory_magnitude_bytes,
    memory_shortfall_bytes_per_gpu,
    requests_filling_pool,
    tensor_parallel_legal,
    weights_bytes,
    weights_bytes_per_gpu,
)
from gridplan.rounding import floor_exact

GIB = 2**30


@pytest.mark.parametrize(
    ("layers", "heads", "head_dim", "element", "expected"),
    [
        (32, 32, 128, 2, 524288),  # Llama-2-7B, multi-head
        (32, 8, 128, 2, 131072),  # Llama-3-8B, grouped
        (32, 8, 128, 1, 65536),  # the same in FP8
        (80, 8, 128, 2, 327680),  # Llama-3.3-70B
    ],
)
def test_kv_bytes_per_token(layers: int, heads: int, head_dim: int, element: int, expected: int) -> None:
    assert kv_bytes_per_token_attention(layers, heads, head_dim, element) == expected


def test_kv_bytes_per_rank_shard_heads_then_replicate_them() -> None:
    per_rank = kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, np.array([1, 2, 3, 4, 8, 16]), 1)
    assert (per_rank / (2 * 80 * 128 * 2)).tolist() == [8, 4, 3, 2, 1, 1]


def test_kv_bytes_per_rank_of_uneven_stages_is_the_fullest_ones() -> None:
    # 80 layers over 3 stages: 27, 27, 26
    assert kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, 1, 3) == 27 * 2 * 8 * 128 * 2
    assert kv_bytes_per_token_per_gpu_mla(61, 512, 64, 2, 2) == 31 * 576 * 2


def test_latent_cache_is_whole_on_every_rank() -> None:
    # DeepSeek-V3 config: 61 layers, kv_lora_rank 512, qk_rope_head_dim 64; 16-bit and FP8
    assert kv_bytes_per_token_mla(61, 512, 64, 2) == kv_bytes_per_token_per_gpu_mla(61, 512, 64, 2, 1) == 70272
    assert kv_bytes_per_token_mla(61, 512, 64, 1) == 35136


def test_weights_of_mixed_precision() -> None:
    assert weights_bytes(8.03e9, 16) == 16.06e9
    assert weights_bytes(10.0, 4, 2.0) == 8 * 0.5 + 2 * 2
    assert weights_bytes(100.0, 16, 30.0) == weights_bytes(100.0, 16)
    assert weights_bytes_per_gpu(80.0, 4, 2) == 10.0


def test_pool_of_total_and_of_free_differ() -> None:
    total, weights, workspace = 80.0, 20.0, 10.0
    assert kv_pool_bytes_raw(total, 0.9, weights, workspace) == 72 - 30
    assert kv_pool_bytes_raw(total, 0.9, weights, workspace, True) == 45.0
    both = kv_pool_bytes_raw(total, np.array([[0.9], [0.5]]), weights, workspace, np.array([False, True]))
    np.testing.assert_allclose(both, [[42.0, 45.0], [10.0, 25.0]])


def test_pool_and_shortfall_are_two_sides_of_one_number() -> None:
    raw = np.array([-3.0, 0.0, 5.0, np.nan])
    np.testing.assert_array_equal(kv_pool_bytes_per_gpu(raw), [0.0, 0.0, 5.0, np.nan])
    np.testing.assert_array_equal(memory_shortfall_bytes_per_gpu(raw), [3.0, 0.0, 0.0, np.nan])
    assert not np.signbit(memory_shortfall_bytes_per_gpu(raw)[:3]).any()


def test_pool_tokens_come_in_whole_blocks_per_rank() -> None:
    assert kv_pool_tokens(1000.0, 10.0, 16, 0.0) == 96  # 100 tokens are 6 blocks
    assert kv_pool_tokens(1000.0, 10.0, 16, 0.0, 3) == 288
    assert kv_pool_tokens(0.0, 10.0, 16, 0.0) == 0
    assert blocks_for_tokens(np.array([0, 1, 16, 17]), 16).tolist() == [0, 1, 1, 2]


def test_pool_tokens_survive_cancellation() -> None:
    # 512.3 - 512.2 - 0.05 leaves 0.05, which is 50 tokens of 0.001; float64 leaves 0.04999999999990905.
    raw = kv_pool_bytes_raw(512.3, 1.0, 512.2, 0.05)
    magnitude = memory_magnitude_bytes(512.3, 1.0, 512.2, 0.05)
    assert magnitude == pytest.approx(1024.55)
    assert floor_exact(raw / 0.001) == 49
    assert kv_pool_tokens(raw, 0.001, 1, magnitude) == 50
    assert concurrency_memory(raw, 0.001, 1.0, magnitude) == 50


def test_sequences_never_straddle_data_parallel_ranks() -> None:
    assert concurrency_memory(100.0, 30.0, 1.0, 0.0) == 3
    assert concurrency_memory(100.0, 30.0, 1.0, 0.0, 2) == 6
    assert concurrency_memory_tokens(200, 30, 1.0, 2) == 6  # 100 tokens a rank
    assert concurrency_memory_tokens(200, 30, 1.0) == 6
    assert concurrency_memory_tokens(160, 50, 1.0, 2) == 2  # 80 a rank holds one of 50
    assert concurrency_memory_worst(160, 50, 2) == 2
    assert concurrency_memory_worst(160, 50) == 3


def test_reference_ceiling_edges() -> None:
    assert concurrency_ceiling(5.0, 1.0) == 5
    assert concurrency_ceiling(-5.0, 1.0) == 0  # weights that do not fit leave no sequences, not minus five
    assert concurrency_ceiling(1.0, 2.0) == 0
    assert concurrency_ceiling(1.0, 0.0) == math.inf
    assert requests_filling_pool(100, 300) == 3


@pytest.mark.parametrize(
    ("tokens", "logged_gib"),
    # vLLM start-up logs of Llama-3.1-8B-Instruct on an RTX 3090, 2024-12-02: context 20,000 and 29,000
    [(20000, 2.07), (29000, 2.99)],
)
def test_forward_peak_matches_start_up_logs(tokens: int, logged_gib: float) -> None:
    assert activation_forward_bytes(4096, 14336, 1, tokens) / GIB == pytest.approx(logged_gib, rel=0.01)


def test_sampler_peak_matches_a_start_up_log() -> None:
    # Llama-3.3-70B FP8 on an H100 with 1,024 sequences: 4.84 GiB, the hidden states of 8,192 tokens among them
    peak = activation_sampler_bytes(1024, 128256) + hidden_states_bytes(8192, 8192)
    assert peak / GIB == pytest.approx(4.84, rel=0.01)


def test_activation_peak_is_the_larger_one() -> None:
    tokens = np.array([2048.0, 40000.0])
    sampler, hidden = activation_sampler_bytes(256, 128256), hidden_states_bytes(4096, tokens)
    forward = activation_forward_bytes(4096, 14336, 1, tokens)
    peak = activation_peak_bytes(sampler, forward, hidden)
    assert peak.tolist() == [sampler + hidden[0], forward[1]]
    assert activation_peak_kept_bytes(sampler, forward, hidden).tolist() == [
        sampler + hidden[0],
        forward[1] + hidden[1],
    ]


def test_tensor_parallel_legality() -> None:
    tp = np.array([1, 2, 3, 4, 8, 16, 32, 64])
    # Llama-3-8B: 32 heads, 8 KV heads (replicated from 16 on), 14,336 channels
    assert tp[tensor_parallel_legal(32, 8, 14336, tp)].tolist() == [1, 2, 4, 8, 16, 32]
    # Qwen2.5-0.5B: 14 heads, 2 KV heads, 4,864 channels (public case B04)
    assert tp[tensor_parallel_legal(14, 2, 4864, tp)].tolist() == [1, 2]
    # 6 KV heads at tp 4 neither divide nor are divided
    assert tensor_parallel_legal(12, 6, 48, 4) is False
    # latent attention and unknown widths are not checked
    assert tensor_parallel_legal(32, math.nan, math.nan, 32) is True
    assert tensor_parallel_legal(32, math.nan, math.nan, 3) is False
