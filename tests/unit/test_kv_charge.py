"""The charge of a sequence in layer groups, worked by hand, and vLLM's rules for pages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import kv_charge_bytes, kv_charge_bytes_unrounded
from gridplan.formulas.kv_pages import attention_block_tokens, block_tokens_in_page, bundle_size

INF = math.inf


def charge(tokens: float, *rows: tuple[float, float, float, float]) -> float:
    return float(kv_charge_bytes(tokens, *(list(column) for column in zip(*rows, strict=True))))


def smooth(tokens: float, *rows: tuple[float, float, float, float]) -> float:
    return float(kv_charge_bytes_unrounded(tokens, *(list(column) for column in zip(*rows, strict=True))))


def test_full_attention_rounds_up_to_blocks() -> None:
    row = (1600.0, 16, INF, 0)
    assert [charge(n, row) for n in (1, 16, 17, 32, 33)] == [1600, 1600, 3200, 3200, 4800]
    assert [smooth(n, row) for n in (1, 16, 17)] == [100, 1600, 1700]


def test_a_window_stops_growing_and_keeps_one_block_more() -> None:
    # Window of 128 with 8,192 batched tokens: at most 8,319 tokens, 520 blocks of 16, and one more.
    row = (1.0, 16, 127 + 8192, 1)
    assert [charge(n, row) for n in (1, 8192, 8319, 8320, 8321, 131072)] == [2, 513, 521, 521, 521, 521]


def test_a_state_has_one_size_whatever_the_length() -> None:
    row = (1000.0, 1, 0, 2)
    assert [charge(n, row) for n in (1, 1e6)] == [2000, 2000]
    assert smooth(5.5, row) == 2000


def test_a_state_is_known_where_the_length_is_not() -> None:
    assert charge(math.nan, (1000.0, 1, 0, 2)) == 2000
    assert math.isnan(charge(math.nan, (1000.0, 1, 0, 2), (16.0, 16, INF, 0)))


def test_a_padding_row_costs_nothing() -> None:
    row, empty = (1600.0, 16, INF, 0), (0.0, 1, 0, 0)
    assert charge(100, row, empty) == charge(100, row) == 7 * 1600


def test_groups_add_up() -> None:
    # gpt-oss-120b: 18 + 18 layers of 2,048 B a token; 131,072 tokens are 8,192 blocks and 521 for the windows.
    full, sliding = (589824.0, 16, INF, 0), (589824.0, 16, 8319, 1)
    assert charge(131072, full, sliding) == 589824 * (8192 + 521) == 39208.5 * 131072
    assert charge(8192, full, sliding) == 589824 * (512 + 513) == 73800 * 8192


def test_lengths_and_rows_broadcast() -> None:
    rows = np.array([[[160.0, 16, INF, 0]], [[320.0, 16, INF, 0]]])
    lengths = np.array([[1.0], [17.0], [32.0]])[:, np.newaxis]
    found = kv_charge_bytes(lengths[..., 0], *(rows[:, 0, i][:, np.newaxis] for i in range(4)))
    assert np.asarray(found).tolist() == [[160, 320], [320, 640], [320, 640]]


def test_a_length_that_is_whole_but_for_float_arithmetic_takes_no_further_block() -> None:
    assert 0.1 * 3 * 160 > 48
    assert charge(0.1 * 3 * 160, (1.0, 16, INF, 0)) == 3


@pytest.mark.parametrize(
    ("layers", "size"),
    [
        ([5, 29], 5),  # Gemma-3-4B: 1 + 6 bundles, one layer of padding
        ([10, 50], 10),  # Gemma-4-31B
        ([5, 25], 5),  # gemma-4-26B
        ([18, 18], 18),  # gpt-oss-120b
        ([13, 12], 13),  # gpt-oss-20b with one draft layer: within a quarter
        ([4, 5], 4),  # exactly a quarter apart is not within it
        ([12, 36], 12),
        ([7], 7),
    ],
)
def test_bundles(layers: list[int], size: int) -> None:
    assert bundle_size(layers) == size


@pytest.mark.parametrize(
    ("state", "token", "tokens"),
    [
        # Qwen3-Next-80B on two GPUs: (524,288 + 24,576) x 2 B / 2 beside 1 head x 512 x 2 B: 536 tokens, so 544.
        (548864, 1024, 544),
        # Qwen3.5-122B, FP8 KV, one speculative token: 4 x 1,048,576 + 2 x 36,864 x 4/3 beside 1,024 B.
        (4292608, 1024, 4192),
        # Qwen3.5-27B: 4 x 786,432 + 2 x 30,720 beside 4,096 B a token.
        (3207168, 4096, 784),
        (16 * 1024, 1024, 16),
        (16 * 1024 + 1, 1024, 32),
        (1, 1024, 16),
    ],
)
def test_attention_blocks_grow_to_hold_a_state(state: int, token: int, tokens: int) -> None:
    assert attention_block_tokens(state, token, 16) == tokens


def test_a_page_holds_more_tokens_of_narrower_layers() -> None:
    assert block_tokens_in_page(16 * 8192, 4096) == 32
    assert block_tokens_in_page(16 * 8192, 8192) == 16
    assert block_tokens_in_page(100, 33) == 3
