"""Bytes that one layer keeps, worked by hand from the published shapes."""

from __future__ import annotations

import pytest

from gridplan.formulas import (
    layer_bytes_per_token_attention,
    layer_bytes_per_token_indexer,
    layer_bytes_per_token_latent,
    layer_bytes_per_token_latent_fp8,
    layer_state_bytes,
)


@pytest.mark.parametrize(
    ("heads", "key", "value", "element", "tp", "expected"),
    [
        (8, 128, 128, 2, 1, 4096),
        (8, 128, 128, 2, 8, 512),
        (8, 128, 128, 2, 16, 512),  # a copy of a head on two ranks
        (8, 128, 128, 1, 1, 2048),
        (8, 128, 128, 0.5625, 1, 1152),  # NVFP4: 4.5 bits
        (4, 512, 0, 2, 1, 4096),  # one vector serves as key and value
        (1, 192, 128, 2, 1, 640),  # keys and values of different size
        (5, 64, 64, 2, 2, 768),  # three of five heads on the fuller rank
    ],
)
def test_keys_and_values(heads: int, key: int, value: int, element: float, tp: int, expected: float) -> None:
    assert layer_bytes_per_token_attention(heads, key, value, element, tp) == expected


def test_a_latent_vector_is_one_vector() -> None:
    # DeepSeek-V3: 61 layers of 576 elements make 70,272 B in BF16 and 35,136 in FP8.
    assert 61 * layer_bytes_per_token_latent(512, 64, 2) == 70272
    assert 61 * layer_bytes_per_token_latent(512, 64, 1) == 35136


def test_sparse_attention_in_fp8() -> None:
    # 512 FP8 + 4 scales of 4 B + 64 rotary elements of 2 B, and 128 FP8 + one scale for the indexer.
    assert layer_bytes_per_token_latent_fp8(512, 64) == 512 + 16 + 128
    assert layer_bytes_per_token_indexer(128) == 128 + 4
    assert layer_bytes_per_token_indexer(64) == 64 + 4
    assert 61 * (layer_bytes_per_token_latent_fp8(512, 64) + layer_bytes_per_token_indexer(128)) == 48068


@pytest.mark.parametrize(
    ("recurrent", "conv", "bits", "tp", "speculative", "expected"),
    [
        (524288, 24576, 16, 1, 0, 1097728),  # Qwen3-Next-80B
        (524288, 24576, 16, 2, 0, 548864),
        (786432, 30720, 32, 1, 0, 3207168),  # Qwen3.5-27B
        (1048576, 36864, 32, 1, 1, 4292608),  # Qwen3.5-122B: four conv tokens in place of three
        (1048576, 36864, 32, 1, 3, 4341760),  # six
        (524288, 18432, 32, 4, 0, 533504),  # Nemotron-3-Nano over four GPUs
    ],
)
def test_a_state_by_hand(recurrent: int, conv: int, bits: int, tp: int, speculative: int, expected: int) -> None:
    assert layer_state_bytes(recurrent, conv, bits, tp, speculative) == expected
