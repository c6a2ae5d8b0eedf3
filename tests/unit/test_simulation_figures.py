"""Figures of simulations: the reference plan, honest errors, cells that know nothing of each other, unstable queues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridplan.simulation import (
    Simulation,
    measure,
    requests_after,
    requests_for,
    simulate,
    simulate_closed,
    simulate_figures,
    simulate_requests,
)

# Llama-3.1-70B FP16 on four H100 SXM at 75% of bandwidth and 50% of peak; 2,000 tokens in, 300 out.
T_W, K, P = 70.55e9 / 4 / (3.35e12 * 0.75), 327680 / 4 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)


def plan(arrival_rate: Any, **options: Any) -> Simulation:
    return simulate(arrival_rate, 1.0, 2000, None, 300, T_W, K, P, **options)


def test_gaps_of_the_reference_plan() -> None:
    # 200 requests/s over 34 replicas: TPOT hides that 10% of the gaps carry a prompt. Values from another simulator.
    found = plan([200 / 34] * 20, token_budget=[2048] * 10 + [512] * 10, requests=2000)
    itl, ttft = found.quantile("itl", 0.95).reshape(2, 10), found.quantile("ttft", 0.95).reshape(2, 10)
    np.testing.assert_allclose(itl[0], 80.6e-3, rtol=0.01)
    np.testing.assert_allclose(itl[1], 26.8e-3, rtol=0.01)
    assert found.quantile("tpot", 0.95)[:10].mean() == pytest.approx(21.7e-3, rel=0.06)
    assert 1.8 < ttft[1].mean() / ttft[0].mean() < 2.4


def test_goodput_of_the_reference_plan() -> None:
    # Within limits of 1 s, 50 ms and 20 s. Another simulator: 95.0% in its run, 93.2% to 95.2% in four runs of 200,000.
    found = plan([8.42] * 100, requests=2500, warm_up=2500)
    good = found.goodput(ttft_s=1.0, tpot_s=0.05, e2e_s=20.0)
    error = np.sqrt((found.goodput_error(1.0, 0.05, 20.0) ** 2).sum()) / 100
    assert error < 0.01
    assert good.mean() == pytest.approx(0.945, abs=0.005 + 3 * error)


def test_goodput_is_the_share_of_requests_in_all_limits() -> None:
    # One slot, prefill 1 ms a token, steps of 10 ms: TTFTs 20, 50 and 60 ms after the wait, TPOT 10 ms or none.
    found = simulate_requests(
        [[0.0, 1.0, 2.0, 3.0]], [[0, 1, 2, 2]], [10, 40, 50], None, [5, 3, 1], 0.01, 0.0, 1e-3, max_num_seqs=1
    )
    np.testing.assert_allclose(found.ttft_s[0], [0.02, 0.05, 0.06, 0.06])
    np.testing.assert_allclose(found.e2e_s[0], [0.06, 0.07, 0.06, 0.06])
    assert found.goodput()[0] == 1.0
    assert found.goodput(ttft_s=0.055)[0] == 0.5
    assert found.goodput(tpot_s=0.009)[0] == 0.5
    assert found.goodput(e2e_s=0.065)[0] == 0.75
    assert found.goodput(ttft_s=0.055, e2e_s=0.065)[0] == 0.25
    # TPOT is not known for outputs of one token, which figures leave out.
    assert found.mean("tpot")[0] == pytest.approx(0.01)
    assert found.quantile("tpot", 1.0)[0] == pytest.approx(0.01)
    assert found.quantile("ttft", 0.5)[0] == pytest.approx(0.055)


def test_errors_are_as_large_as_the_runs_differ() -> None:
    found = plan([5.0] * 120, requests=2000)
    for figure, error in (
        (found.mean("ttft"), found.mean_error("ttft")),
        (found.mean("e2e"), found.mean_error("e2e")),
        (found.quantile("ttft", 0.95), found.quantile_error("ttft", 0.95)),
        (found.quantile("tpot", 0.95), found.quantile_error("tpot", 0.95)),
        (found.goodput(tpot_s=0.02), found.goodput_error(tpot_s=0.02)),
    ):
        assert np.sqrt((error**2).mean()) / figure.std(ddof=1) == pytest.approx(1.0, abs=0.35)


def test_length_of_runs() -> None:
    n = requests_for(0.95, relative_error=0.1)
    found = plan([3.0] * 40, requests=n)
    assert found.quantile("ttft", 0.95).std(ddof=1) < 0.1 * found.quantile("ttft", 0.95).mean()
    assert requests_after(1000, [1.0, 1.0, np.nan], [0.1, 0.01, 0.1], 0.05).tolist()[:2] == [4000.0, 1000.0]
    with pytest.raises(ValueError, match="between 0 and 1"):
        requests_for(1.0)
    with pytest.raises(ValueError, match="relative_error"):
        requests_for(0.9, relative_error=0.0)


def test_a_cell_knows_nothing_of_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    rates, outputs = np.linspace(0.5, 9.0, 12), np.array([[20], [300], [900], [5]] * 3)
    slots = np.array([10, 400, 30] * 4)  # some cells are unstable, some near their limit
    options: dict[str, Any] = {"requests": 75, "seed": 5}
    together = simulate(rates, 1.0, 2000, None, outputs, T_W, K, P, max_num_seqs=slots, **options)
    assert 0 < together.stable.sum() < 12
    for cell in range(12):
        replica = {"max_num_seqs": slots[cell], "keys": cell}
        alone = simulate(rates[cell], 1.0, 2000, None, outputs[cell], T_W, K, P, **replica, **options)
        np.testing.assert_array_equal(alone.ttft_s[0], together.ttft_s[cell])
        np.testing.assert_array_equal(alone.e2e_s[0], together.e2e_s[cell])
        np.testing.assert_array_equal(alone.mean("itl")[0], together.mean("itl")[cell])
        np.testing.assert_array_equal(alone.quantile("itl", 0.9)[0], together.quantile("itl", 0.9)[cell])
        assert alone.stable[0] == together.stable[cell]
    monkeypatch.setattr(measure, "_GROUP_BYTES", 2**20)
    monkeypatch.setattr(measure, "_KEPT_BYTES", 2**18)
    figures = {"p95": lambda found: found.quantile("e2e", 0.95), "stable": lambda found: found.stable}
    apart = simulate_figures(figures, rates, 1.0, 2000, None, outputs, T_W, K, P, max_num_seqs=slots, **options)
    np.testing.assert_array_equal(apart["p95"], together.quantile("e2e", 0.95))
    np.testing.assert_array_equal(apart["stable"], together.stable)


def test_seed_and_key_choose_the_requests() -> None:
    rates, weights = [2.0, 2.0, 4.0], [[0.5, 0.5]] * 3
    options: dict[str, Any] = {"token_budget": 64, "requests": 100, "warm_up": 0}
    arguments = (weights, [20, 30], None, [5, 9], 0.001, 0.0, 0.0)
    first, second = (
        simulate(rates, *arguments, keys=[7, 8, 7], **options),
        simulate(rates, *arguments, seed=1, **options),
    )
    np.testing.assert_allclose(first.arrival_s[0], 2 * first.arrival_s[2])
    np.testing.assert_array_equal(first.class_index[0], first.class_index[2])
    assert not np.array_equal(first.arrival_s[0], first.arrival_s[1])
    assert not np.array_equal(first.class_index[0], first.class_index[1])
    assert not np.array_equal(first.arrival_s[0], second.arrival_s[0])
    longer = simulate(rates, *arguments, keys=[7, 8, 7], **options | {"requests": 300})
    np.testing.assert_array_equal(first.arrival_s, longer.arrival_s[:, :100])
    np.testing.assert_array_equal(first.class_index, longer.class_index[:, :100])


def test_twice_the_times_at_half_the_rate() -> None:
    # A factor of two is exact in binary, so every time doubles to the last bit.
    one = simulate(6.0, [0.3, 0.7], [2000, 100], None, [300, 50], T_W, K, P, 1e-5, requests=500)
    two = simulate(3.0, [0.3, 0.7], [2000, 100], None, [300, 50], 2 * T_W, 2 * K, 2 * P, 2e-5, requests=500)
    np.testing.assert_array_equal(two.e2e_s, 2 * one.e2e_s)
    assert two.quantile("itl", 0.95)[0] == 2 * one.quantile("itl", 0.95)[0]


@pytest.mark.parametrize("bound", ["time", "slots", "pool", "budget", "one slot"])
def test_an_overloaded_cell_has_no_figures(bound: str) -> None:
    n, b, s = 299, K * 2150, P * 2000
    limits: dict[str, tuple[float, dict[str, Any]]] = {
        "time": (1 / (s + n * b), {"token_budget": 8192}),
        "slots": (30 / (n * (T_W + 30 * b) + 30 * s), {"max_num_seqs": 30}),
        "pool": (30 / (n * (T_W + 30 * b) + 30 * s), {"pool_tokens": 30 * 2300}),
        "one slot": (1 / (n * (T_W + b) + T_W + s), {"max_num_seqs": 1}),
        "budget": (0.0, {"token_budget": 128}),
    }
    limit, caps = limits[bound]
    if bound == "budget":
        # Every step is full: lam U t = C - B with B = lam n t and t = t_w + b B + p (C - B).
        step = T_W / (1 - limit)
        limit = 128 / (step * 2299)
        for _ in range(200):
            batch = limit * n * step
            step = T_W + b * batch + P * (128 - batch)
            limit = 128 / (step * 2299)
    share = np.array([0.8, 0.9, 1.01, 1.05, 1.5])
    # A small budget lets few in at once, so half as many requests fill it; twice the runs make as many in all.
    length = {"requests": 500, "runs": 6} if bound == "budget" else {"requests": 1000, "runs": 3}
    found = plan(limit * share, **length, **caps)
    np.testing.assert_array_equal(found.stable, share < 1.0)
    for metric in ("ttft", "tpot", "e2e", "itl"):
        np.testing.assert_array_equal(np.isnan(found.quantile(metric, 0.5)), share > 1.0)
        np.testing.assert_array_equal(np.isnan(found.mean(metric)), share > 1.0)
    np.testing.assert_array_equal(np.isnan(found.goodput(1.0)), share > 1.0)
    np.testing.assert_allclose(found.throughput, limit * np.minimum(share, 1.0), rtol=0.1)


def test_a_run_too_short_for_its_queue_is_made_longer() -> None:
    # 6,000 steps of some 10 ms at 10 requests/s: 600 in the system, more than the 100 requests that are measured.
    found = simulate([10.0] * 6, 1.0, 10, None, 6000, 0.01, 0.0, 0.0, requests=100)
    assert found.stable.all()
    np.testing.assert_allclose(found.mean("tpot"), 0.01)
    assert found.batch_mean.mean() == pytest.approx(10.0 * 5999 * 0.01, rel=0.05)
    # Six times as many in the system are beyond the longest run.
    assert not simulate(100.0, 1.0, 10, None, 60_000, 0.01, 0.0, 0.0, requests=40).stable[0]


def test_gaps_beyond_the_histogram_are_not_known() -> None:
    found = simulate(20.0, 1.0, 1000, None, 9, 1e-6, 0.0, 1e-5, requests=100)
    assert np.isfinite(found.quantile("itl", 0.5)[0])
    assert np.isnan(found.quantile("itl", 0.9999)[0])
    assert np.isnan(found.mean("itl")[0])


def test_outputs_of_one_token_have_neither_tpot_nor_gaps() -> None:
    found = simulate([5.0], 1.0, 100, None, 1, 0.01, 0.0, 1e-5, requests=100)
    for value in (found.mean("tpot"), found.quantile("tpot", 0.9), found.mean("itl"), found.quantile("itl", 0.9)):
        assert np.isnan(value).all()
    assert found.goodput(tpot_s=0.0)[0] == 1.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arrival_rate": 0.0}, "arrival_rate: a positive rate"),
        ({"arrival_rate": [1.0, np.nan]}, "arrival_rate: a finite number"),
        ({"arrival_rate": np.inf}, "arrival_rate: a finite number"),
        ({"arrival_rate": [[1.0]]}, "arrival_rate: a number or one value per cell"),
        ({"step_weights_s": -1.0}, "step_weights_s: negative"),
        ({"prompt_tokens": 10.5}, "prompt_tokens: a whole number"),
        ({"output_tokens": 2.5}, "output_tokens: a whole number"),
        ({"output_tokens": 0}, "output_tokens: below 1"),
        ({"uncached_tokens": 0}, "uncached_tokens: below 1"),
        ({"uncached_tokens": 101}, "uncached_tokens: more than prompt_tokens"),
        ({"class_weights": [0.0, 0.0]}, "class_weights: all zero"),
        ({"class_weights": [[[1.0]]]}, "class_weights: .classes,. or"),
        ({"class_weights": [1.0, 1.0], "prompt_tokens": [100, 100, 100]}, "shapes do not fit"),
        ({"arrival_rate": [1.0, 2.0], "token_budget": [1, 2, 3]}, "shapes do not fit"),
        ({"token_budget": 0}, "token_budget: below 1"),
        ({"max_num_seqs": 0}, "max_num_seqs: below 1"),
        ({"pool_tokens": 104}, "pool_tokens: smaller than prompt and output"),
        ({"step_weights_s": 0.0}, "step_weights_s: a decode step without"),
        ({"requests": 5}, "requests: at least"),
        ({"warm_up": -1}, "warm_up: negative"),
        ({"seed": -1}, "seed: negative"),
        ({"keys": -1}, "keys: whole numbers"),
        ({"keys": 0.5}, "keys: whole numbers"),
    ],
)
def test_what_no_replica_has_is_refused(wrong: dict[str, Any], message: str) -> None:
    right = {
        "arrival_rate": 1.0,
        "class_weights": 1.0,
        "prompt_tokens": 100,
        "uncached_tokens": None,
        "output_tokens": 5,
        "step_weights_s": 0.01,
        "step_per_context_token_s": 0.0,
        "prefill_per_token_s": 0.0,
        "requests": 20,
    }
    with pytest.raises(ValueError, match=message):
        simulate(**right | wrong)


def test_a_drawn_request_that_no_pool_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="a request that was drawn"):
        simulate(1.0, 1.0, 10, None, 50, 0.01, 0.0, 0.0, pool_tokens=70, geometric_outputs=True, requests=100)


def test_given_requests_are_checked() -> None:
    replica = (10, None, 5, 0.01, 0.0, 0.0)
    for arrival, kind, message in (
        ([0.0, 1.0], [0, 0], "expected, found"),
        ([[1.0, 0.5]], [[0, 0]], "ascending"),
        ([[0.0, np.nan]], [[0, 0]], "ascending"),
        ([[0.0, 1.0]], [[0, 1]], "whole numbers from 0 to 0"),
        ([[0.0, 1.0]], [[0.0, 0.0]], "whole numbers from 0 to 0"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate_requests(arrival, kind, *replica)
    with pytest.raises(ValueError, match="request_output_tokens"):
        simulate_requests([[0.0]], [[0]], *replica, request_output_tokens=[[0]])
    with pytest.raises(ValueError, match="pool_tokens"):
        simulate_requests([[0.0]], [[0]], *replica, request_output_tokens=[[90]], pool_tokens=99)
    with pytest.raises(ValueError, match="1 cells, the other arguments 2"):
        simulate_requests([[0.0]], [[0]], *replica, token_budget=[5, 5])
    with pytest.raises(ValueError, match="concurrency: below 1"):
        simulate_closed(0, 1.0, *replica)
    with pytest.raises(ValueError, match="ttft, tpot or e2e"):
        simulate_closed(1, 1.0, *replica, requests=20).mean_error("itl")


def test_runs_of_a_cell_are_joined() -> None:
    joined, single = plan([3.0, 5.0], requests=200, runs=5), plan([3.0, 5.0], requests=200)
    assert joined.ttft_s.shape == (2, 1000)
    np.testing.assert_array_equal(joined.ttft_s[:, :200], single.ttft_s)
    assert not np.array_equal(joined.ttft_s[:, 200:400], single.ttft_s)
    np.testing.assert_allclose(joined.throughput, [3.0, 5.0], rtol=0.15)
    np.testing.assert_allclose(joined.batch_mean, joined.throughput * joined.decode_s.mean(axis=1), rtol=0.05)
    weight = joined.records.gap_weight.sum(axis=1)
    np.testing.assert_allclose(weight, 1000 * 299, rtol=0.05)
    with pytest.raises(ValueError, match="runs: below 1"):
        plan(1.0, runs=0)
