"""The simulator against queues whose answer is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridplan.formulas import mmc_wait_s
from gridplan.simulation import simulate, simulate_closed, simulate_requests

# Llama-3.1-70B FP16 on four H100 SXM at 75% of bandwidth and 50% of peak; 2,000 tokens in, 300 out.
T_W, K, P = 70.55e9 / 4 / (3.35e12 * 0.75), 327680 / 4 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)


def pooled(times: Any) -> tuple[float, float]:
    """Mean over all cells as independent runs, and its standard error."""
    means = times.mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(means.size))


def agrees(found: tuple[float, float], exact: float, within: float) -> None:
    """Equal within four standard errors, which are themselves small enough to tell."""
    mean, error = found
    assert 4 * error < within * exact
    assert mean == pytest.approx(exact, abs=4 * error + 0.002 * exact)


def test_md1_waits_as_pollaczek_and_khinchine_say() -> None:
    s, loads = 0.01, (0.3, 0.7, 0.85)
    found = simulate(np.repeat(loads, 250) / s, 1.0, 100, 100, 1, 0.0, 0.0, 1e-4, max_num_seqs=1, requests=1000)
    for rho, cells in zip(loads, np.split(np.arange(750), 3), strict=True):
        agrees(pooled(found.ttft_s[cells] - s), rho * s / (2 * (1 - rho)), within=0.1)
        assert found.records.busy_s[cells].sum() / found.records.span_s[cells].sum() == pytest.approx(rho, rel=0.01)


def test_mg1_waits_as_pollaczek_and_khinchine_say() -> None:
    tokens, weights = np.array([50.0, 100.0, 400.0]), np.array([0.5, 0.3, 0.2])
    seconds = 0.005 + tokens * 1e-4
    mean, square = weights @ seconds, weights @ seconds**2
    rate = 0.7 / mean
    cells = np.full(250, rate)
    found = simulate(cells, weights, tokens, None, 1, 0.005, 0.0, 1e-4, max_num_seqs=1, requests=2000)
    wait = found.ttft_s - seconds[found.class_index]
    agrees(pooled(wait), rate * square / (2 * 0.3), within=0.1)


def test_gamma_arrivals_have_their_rate_and_variance() -> None:
    for scv in (0.25, 4.0):
        found = simulate([2.0] * 50, 1.0, 1, 1, 1, 0.0, 0.0, 0.0, arrival_scv=scv, requests=2000)
        gaps = np.diff(found.arrival_s, axis=1)
        assert gaps.mean() == pytest.approx(0.5, rel=0.03)
        assert gaps.var() / gaps.mean() ** 2 == pytest.approx(scv, rel=0.06)
    steady = simulate(2.0, 1.0, 1, 1, 1, 0.0, 0.0, 0.0, arrival_scv=0.0, requests=100)
    np.testing.assert_allclose(np.diff(steady.arrival_s), 0.5, rtol=1e-9)


@pytest.mark.parametrize(("servers", "rho"), [(10, 0.8)])
def test_slots_with_geometric_outputs_wait_as_erlang_c_says(servers: int, rho: float) -> None:
    # A service is O steps of t_w, exponential for large O; an arrival sits out half a step before it is seen.
    steps, rate = 200, rho * servers
    cells = np.full(320, rate)
    random = simulate(
        cells, 1.0, 1, 1, steps, 1 / steps, 0.0, 0.0, max_num_seqs=servers, requests=1000, geometric_outputs=True
    )
    exact = float(mmc_wait_s(rate, servers, 1.0))
    agrees(pooled(random.ttft_s - 1.5 / steps), exact, within=0.15)
    fixed = simulate(cells, 1.0, 1, 1, steps, 1 / steps, 0.0, 0.0, max_num_seqs=servers, requests=1000)
    # Fixed services wait half as long and some percent more (Cosmetatos 1975).
    more = 1.0 + (1.0 - rho) * (servers - 1) * (np.sqrt(4.0 + 5.0 * servers) - 2.0) / (16.0 * rho * servers)
    shorter = pooled(fixed.ttft_s - 1.5 / steps)
    agrees(shorter, 0.5 * more * exact, within=0.1)
    assert 0.5 < shorter[0] / exact < 0.6


@pytest.mark.parametrize("geometric", [False, True])
def test_batch_without_prefill_is_negative_binomial(geometric: bool) -> None:
    # A step of t_w + b n served by processor sharing: mean (t_w / b + 1) q / (1 - q), whatever the law of lengths.
    t_w, k, prompt, output = 0.01, 1e-6, 1000, 200
    n = output - 1
    # Resident tokens read by a request: n P + E[n (n + 1) / 2], with E[n^2] = 2 n^2 + n for geometric outputs.
    read = n * prompt + (n * n + n if geometric else n * (n + 1) / 2)
    b, shares = k * read / n, np.array([0.3, 0.6, 0.75])
    rates = np.repeat(shares, 80) / (k * read)
    found = simulate(
        rates, 1.0, prompt, prompt, output, t_w, k, 0.0, token_budget=8192, requests=1500, geometric_outputs=geometric
    )
    batch = (found.records.sequence_s / found.records.span_s).reshape(3, 80)
    for q, runs in zip(shares, batch, strict=True):
        agrees((runs.mean(), runs.std(ddof=1) / np.sqrt(80)), (t_w / b + 1) * q / (1 - q), within=0.08)


def test_time_is_conserved_and_little_holds() -> None:
    prompt, uncached, output = np.array([2000, 500, 6000]), np.array([2000, 100, 3000]), np.array([300, 800, 20])
    weights = np.array([0.5, 0.3, 0.2])
    rates = np.linspace(1.0, 6.0, 30)
    found = simulate(rates, weights, prompt, uncached, output, T_W, K, P, 1e-5, token_budget=1024, requests=750, runs=8)
    records = found.records
    length = output[found.class_index] - 1
    # lam work + t_w steps = busy time, with the measured requests as the work of the span.
    read = K * (length * prompt[found.class_index] + length * (length + 1) / 2) + 1e-5 * length
    work = (P * uncached[found.class_index] + read).sum(axis=1)
    np.testing.assert_allclose(work + T_W * records.steps, records.busy_s, rtol=0.01)
    np.testing.assert_allclose(records.sequence_s, (length * found.tpot_s).sum(axis=1), rtol=0.02)
    assert found.stable.all()
    np.testing.assert_allclose(found.throughput, rates, rtol=0.05)


@pytest.mark.parametrize("geometric", [False, True])
def test_full_pool_serves_at_its_limit(geometric: bool) -> None:
    # lam_max = L / (n (t_w + b L) + L s) with every slot taken; geometric lengths are bound by slots here.
    slots, prompt, output = 40, 2000, 301
    cap = {"max_num_seqs": slots} if geometric else {"pool_tokens": slots * (prompt + output) + 5}
    found = simulate_closed(
        [45, 90], 1.0, prompt, None, output, T_W, K, P, geometric_outputs=geometric, requests=2000, runs=4, **cap
    )
    n = output - 1
    read = n * prompt + (n * n + n if geometric else n * (n + 1) / 2)
    limit = slots / (n * T_W + slots * (K * read + P * prompt))
    np.testing.assert_allclose(found.throughput, limit, rtol=0.04 if geometric else 0.005)


def test_a_closed_loop_is_the_open_loop_of_its_own_arrivals() -> None:
    prompt, output = np.array([700, 90, 30]), np.array([90, 11, 200])
    for concurrency in (1, 7, 64):
        found = simulate_closed(
            concurrency,
            [0.2, 0.5, 0.3],
            prompt,
            None,
            output,
            T_W,
            K,
            P,
            1e-5,
            token_budget=256,
            requests=1500,
            warm_up=0,
        )
        # An arrival at the very end of a step is seen by the next one, also where the sums round differently.
        arrival = np.maximum(found.arrival_s - 1e-7, 0.0)
        again = simulate_requests(arrival, found.class_index, prompt, None, output, T_W, K, P, 1e-5, token_budget=256)
        compared = slice(0, 1500 - 2 * concurrency)
        np.testing.assert_allclose(again.ttft_s[:, compared], found.ttft_s[:, compared], atol=1e-6)
        in_flight = found.throughput * found.e2e_s.mean(axis=1)
        np.testing.assert_allclose(in_flight, concurrency, rtol=0.06)


def test_a_request_alone_is_arithmetic() -> None:
    # Budget 1,024: 2,000 tokens take two steps; then 299 steps that read 2,001 to 2,299 tokens.
    found = simulate(1e-6, 1.0, 2000, None, 300, T_W, K, P, token_budget=1024, requests=20, warm_up=0)
    ttft = 2 * T_W + 2000 * P
    decode = 299 * T_W + K * sum(range(2001, 2300))
    # The clock stands at some 1e7 s, so that differences of times are good to some 1e-9.
    np.testing.assert_allclose(found.ttft_s, ttft, atol=1e-7)
    np.testing.assert_allclose(found.decode_s, decode, atol=1e-7)
    assert found.mean("tpot")[0] == pytest.approx(decode / 299, abs=1e-9)
    assert found.quantile("itl", 0.5)[0] == pytest.approx(T_W + K * 2150, rel=0.004)
