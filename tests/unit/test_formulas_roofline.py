"""Step and prefill times, and the batches at which bandwidth, FLOP/s or a limit bind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import (
    batch_from_decode_rate,
    compute_ceiling,
    concurrency_compute_with_kv,
    decode_bytes,
    decode_step_s,
    machine_intensity,
    prefill_per_token_s,
    prefill_s,
    step_per_context_token_s,
    step_weights_s,
    tpot_batch_bandwidth,
    tpot_batch_compute,
)


def test_parallelism_divides_times_as_the_model_says() -> None:
    assert step_weights_s(8.0, 2, 2.0, 0.5) == 4.0
    assert prefill_per_token_s(6.0, 3, 2.0, 0.5) == 4.0
    assert prefill_per_token_s(6.0, 3, 2.0, 0.5, 2) == 2.0  # data-parallel ranks take prompts side by side
    # stages read in turn: halving a rank's bytes over two stages changes nothing
    assert step_per_context_token_s(50.0, 2, 10.0, 0.5) == step_per_context_token_s(100.0, 1, 10.0, 0.5) == 20.0
    assert step_per_context_token_s(100.0, 1, 10.0, 0.5, 4) == 5.0


def test_step_time_is_the_bytes_over_the_bandwidth() -> None:
    weights, kappa, bandwidth = 16.06e9, 131072, 1550e9
    batch, context = np.array([1.0, 32.0, 256.0]), np.array([[220.8], [8000.0]])
    moved = decode_bytes(weights, batch, context, kappa)
    step = decode_step_s(weights / bandwidth, kappa / bandwidth, batch, context)
    np.testing.assert_allclose(step, moved / bandwidth, rtol=1e-14)
    assert decode_step_s(1.0, 2.0, 3.0, 4.0, 5.0) == 1 + 3 * (8 + 5)


def test_prefill_time_times_peak_is_its_flop() -> None:
    p = prefill_per_token_s(8.03e9, 1, 312e12, 0.45)
    assert prefill_s(p, 512) * 312e12 * 0.45 == pytest.approx(2 * 8.03e9 * 512, rel=1e-14)


def test_compute_ceiling_follows_the_weight_format() -> None:
    # I = 300: B = 300 in 16 bit, 150 in 8 bit, 75 in 4 bit
    assert compute_ceiling(300, np.array([2.0, 1.0, 0.5])).tolist() == [300.0, 150.0, 75.0]
    assert machine_intensity(312e12, 2.039e12) == pytest.approx(153.02, abs=0.01)


def test_compute_ceiling_with_cache_balances_time_of_flop_and_bytes() -> None:
    n, weights, peak, bandwidth, context, kappa = 8.03e9, 16.06e9, 312e12, 2.039e12, 266.1, 131072
    batch = concurrency_compute_with_kv(n, weights, peak / bandwidth, context, kappa)
    assert 2 * n * batch / peak == pytest.approx((weights + batch * context * kappa) / bandwidth, rel=1e-12)
    assert batch > compute_ceiling(peak / bandwidth, 2)  # the cache adds bytes, so the knee lies higher


def test_compute_ceiling_with_cache_is_infinite_where_bytes_outweigh_flop() -> None:
    knee = 2 * 8.03e9 / 153.0 / 131072
    contexts = np.array([0.5 * knee, 2 * knee, 1e6, np.nan])
    result = concurrency_compute_with_kv(8.03e9, 16.06e9, 153.0, contexts, 131072)
    assert np.isfinite(result).tolist() == [True, False, False, False]
    assert np.isinf(result).tolist() == [False, True, True, False]


def test_batch_at_the_tpot_limit_takes_exactly_the_limit() -> None:
    batch = tpot_batch_bandwidth(0.010, 1e-7, 1000, 0.025)
    assert decode_step_s(0.010, 1e-7, batch, 1000) == pytest.approx(0.025, rel=1e-14)
    assert tpot_batch_bandwidth(0.030, 1e-7, 1000, 0.025) == 0.0
    assert tpot_batch_bandwidth(0.010, 1e-7, 1000, math.inf) == math.inf
    assert tpot_batch_compute(1e9, 2e12, 0.01) * 2 * 1e9 / 2e12 == pytest.approx(0.01)


def test_batch_from_a_measured_rate_takes_the_tighter_limit() -> None:
    # 1,000 tok/s a GPU; E2E 2 s for 500 tokens asks 250 tok/s, TPOT 2 ms asks 500
    assert batch_from_decode_rate(1000, 1, 500, 2.0, math.inf) == 4.0
    assert batch_from_decode_rate(1000, 1, 500, 2.0, 0.002) == 2.0
    assert batch_from_decode_rate(1000, 4, 500, math.inf, 0.002) == 8.0
    assert batch_from_decode_rate(1000, 1, 500, math.inf, math.inf) == math.inf
    assert math.isnan(batch_from_decode_rate(math.nan, 1, 500, 2.0, 0.002))
