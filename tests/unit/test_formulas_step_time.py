"""Step times beside the roofline: experts that a step touches, overheads by layer, prompts with attention."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.formulas import (
    all_reduce_per_token_s,
    attended_pairs,
    attention_flop_per_pair,
    chunk_experts_s,
    chunk_overhead_s,
    experts_touched_share,
    prefill_chunks,
    prefill_uncached_s,
    step_experts_s,
    step_overheads_s,
    step_per_sequence_total_s,
    step_weights_at_batch_s,
)

NAN = math.nan


def test_expected_union_is_that_of_a_drawing() -> None:
    """Sixty tokens draw 2 of 32 experts each without replacement; the mean number touched over many rounds."""
    rng, rounds = random.Random(7), 4000
    for tokens in (1, 5, 60):
        touched = sum(len({e for _ in range(tokens) for e in rng.sample(range(32), 2)}) for _ in range(rounds))
        assert experts_touched_share(32, 2, tokens) == pytest.approx(touched / rounds / 32, abs=0.006)


def test_union_has_its_limits() -> None:
    tokens = np.array([0.0, 1.0, 2.0, 1e6])
    np.testing.assert_allclose(experts_touched_share(256.0, 8.0, tokens), [0, 1 / 32, 63 / 1024, 1], rtol=1e-12)
    assert experts_touched_share(8, 8, 0.0) == 0.0  # no token, no expert
    assert experts_touched_share(8, 8, 1.0) == 1.0
    assert math.isnan(experts_touched_share(8, 2, NAN))
    assert math.isnan(experts_touched_share(NAN, 2, 3))


@given(st.integers(1, 16), st.integers(1, 32), st.floats(0, 500), st.floats(0, 5000))
def test_a_chunk_and_its_batch_read_what_both_touch(chosen: int, times: int, batch: float, chunk: float) -> None:
    experts = chosen * times
    at = step_weights_at_batch_s(0.0, 1.0, experts, chosen, batch)
    both = step_weights_at_batch_s(0.0, 1.0, experts, chosen, batch + chunk)
    added = chunk_experts_s(1.0, experts, chosen, chunk, batch)
    assert 0.0 <= at <= both + 1e-12 <= 1.0 + 1e-9
    assert added == pytest.approx(both - at, abs=1e-12)


def test_a_dense_model_reads_its_weights_at_every_batch() -> None:
    batch = np.array([1.0, 8.0, 512.0])
    np.testing.assert_array_equal(step_weights_at_batch_s(0.004, 0.0, NAN, NAN, batch), [0.004] * 3)
    assert chunk_experts_s(0.0, NAN, NAN, 2048, 4) == 0.0


def test_experts_are_spread_over_all_ranks_that_hold_them() -> None:
    # 654 GB over 8 GPUs of 4.8 TB/s: 17.03 ms at full bandwidth, twice that at half of it
    assert step_experts_s(654e9, 8, 4.8e12, 1.0) == pytest.approx(0.0170312, rel=1e-5)
    assert step_experts_s(654e9, 8, 4.8e12, 0.5) == pytest.approx(2 * 0.0170312, rel=1e-5)


def test_overheads_add_up_over_layers() -> None:
    # 0.5 ms + 94 x (60 us + 2 x 8 us), and without all-reduces on one GPU
    degrees = np.array([1.0, 4.0])
    np.testing.assert_allclose(
        step_overheads_s(0.5e-3, 60e-6, 94.0, degrees, 8e-6), [0.5e-3 + 94 * 60e-6, 0.5e-3 + 94 * 76e-6], rtol=1e-12
    )
    assert chunk_overhead_s(20e-6, 32) == pytest.approx(640e-6)


def test_all_reduce_moves_a_ring_of_two_messages_a_layer() -> None:
    # 2 ranks: each of 2 reductions sends the message once in all: 32 layers x 2 x 2 x 4,096 bytes over 1 GB/s
    assert all_reduce_per_token_s(32, 4096, 2, 1e9) == pytest.approx(32 * 2 * 8192 / 1e9, rel=1e-12)
    assert all_reduce_per_token_s(32, 4096, 1, NAN) == 0.0
    assert math.isnan(all_reduce_per_token_s(32, 4096, 2, NAN))


def test_a_sequence_costs_its_own_share() -> None:
    assert step_per_sequence_total_s(8e-6, 5e-6) == pytest.approx(13e-6)
    assert step_per_sequence_total_s(8e-6, 5e-6, 4) == pytest.approx(7e-6)


@given(st.integers(1, 400), st.data())
def test_pairs_are_those_of_a_causal_mask(prompt: int, data: st.DataObject) -> None:
    """The integral stands for a sum: token t sees min(t, W) tokens, itself by half."""
    uncached = data.draw(st.integers(1, prompt))
    window = data.draw(st.integers(1, 500))
    seen = sum(min(t, window) - (0.5 if t <= window else 0.0) for t in range(prompt - uncached + 1, prompt + 1))
    assert attended_pairs(prompt, uncached, window) == pytest.approx(seen, rel=1e-9)


def test_attention_over_a_cached_prefix() -> None:
    # 131,072 tokens of which a tenth is new, 70B: 4 L heads d U (P - U/2) = 2.3 times 2 N U (design figure)
    prompt, new = 131072.0, 13107.2
    attention = attention_flop_per_pair(80, 64, 128, 128) * attended_pairs(prompt, new)
    assert attention / (2 * 70.55e9 * new) == pytest.approx(2.3, abs=0.05)
    assert attended_pairs(8192.0, 8192.0, np.inf) == 8192.0**2 / 2


def test_chunks_of_a_prompt() -> None:
    tokens = np.array([0.0, 1.0, 2048.0, 2048.5, 8192.0])
    np.testing.assert_array_equal(prefill_chunks(tokens, 2048.0), [0, 1, 1, 2, 4])
    np.testing.assert_array_equal(prefill_chunks(tokens, NAN), [0, 1, 1, 1, 1])


def test_a_short_prompt_is_bound_by_the_experts_it_touches() -> None:
    # 128 tokens multiply for 1.28 ms but read experts for 20 ms; 8,192 tokens in one chunk multiply for 81.92 ms
    tokens = np.array([128.0, 8192.0])
    took = prefill_uncached_s(1e-5, tokens, 0.0, NAN, 1.0, 0.020, 0.003)
    np.testing.assert_allclose(took, [0.023, 0.08492], rtol=1e-12)
    assert prefill_uncached_s(1e-5, 1000.0, 2e9, 1e12) == pytest.approx(0.012)
