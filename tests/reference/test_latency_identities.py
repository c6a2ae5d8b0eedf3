"""Thirty-one identities of queues that a replica must obey: the simulator and the formulas against exact results.

Sources: Little 1961; Pollaczek and Khinchine; Erlang 1917; Cosmetatos 1975; Jagerman 1974; Halfin and Whitt 1981;
Janssen, van Leeuwaarden and Zwart 2011 (doi:10.1287/opre.1110.0991). Numbers by hand unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from gridplan.formulas import allen_cunneen_wait_s, erlang_b, erlang_c, halfin_whitt_c, mmc_wait_s, operating_point
from gridplan.simulation import Simulation, simulate, simulate_closed

A100 = {"step_weights_s": 16.06e9 / 1550e9, "step_per_context_token_s": 131_072 / 1550e9}
"""An 8B model in BF16 that reads 1,550 GB/s."""

H100X4 = {"step_weights_s": 70.55e9 / 4 / (3.35e12 * 0.75), "step_per_context_token_s": 327_680 / 4 / (3.35e12 * 0.75)}
"""A 70B model in FP8 on four GPUs at 75% of their bandwidth."""

CASES: Mapping[str, dict[str, Any]] = {
    "chat 8B": {
        **A100,
        "prefill_per_token_s": 2 * 8.03e9 / 140e12,
        "arrival_rate": 35.0,
        "class_weights": [0.7, 0.2, 0.1],
        "prompt_tokens": [32, 128, 512],
        "uncached_tokens": [32, 128, 512],
        "output_tokens": [64, 256, 256],
    },
    "chat 70B": {
        **H100X4,
        "prefill_per_token_s": 2 * 70.55e9 / (4 * 1979e12 * 0.5),
        "arrival_rate": 6.0,
        "class_weights": [1.0],
        "prompt_tokens": [2000],
        "uncached_tokens": [2000],
        "output_tokens": [300],
    },
    "documents 70B": {
        **H100X4,
        "prefill_per_token_s": 2 * 70.55e9 / (4 * 1979e12 * 0.5),
        "arrival_rate": 0.4,
        "class_weights": [1.0],
        "prompt_tokens": [32_000],
        "uncached_tokens": [4000],
        "output_tokens": [1000],
    },
}

POOLS = {"chat 8B": 450_900, "chat 70B": 702_879, "documents 70B": 702_879}
"""Tokens of the KV pool: 21 documents, which is few; more of the others than ever run."""

WIDE = 10**6
"""A token budget that no step reaches."""


def near(found: Any, exact: Any, within: float, error: Any = None) -> None:
    """Equal within a relative error; a standard error, where there is one, must be small enough to tell."""
    if error is not None:
        assert 2 * error < within * exact
    assert found == pytest.approx(exact, rel=within)


# ------------------------------------------------------------------------------------------------- 1 to 4: plain queues


def one_by_one(weights: list[float], tokens: list[int], load: float, runs: int) -> tuple[Simulation, float, float]:
    """One request at a time, answers of one token: the simulation, and E[S] and E[S^2] of 10 ms and prefill."""
    service = 0.01 + 1e-4 * np.array(tokens)
    mean, square = float(np.dot(weights, service)), float(np.dot(weights, service**2))
    found = simulate(
        load / mean,
        weights,
        tokens,
        tokens,
        1,
        0.01,
        0.0,
        1e-4,
        token_budget=WIDE,
        max_num_seqs=1,
        requests=2000,
        runs=runs,
    )
    return found, mean, square


def test_01_m_d_1() -> None:
    found, s, _ = one_by_one([1.0], [900], 0.7, runs=150)
    near(found.mean("ttft")[0], s + 0.7 * s / (2 * 0.3), 0.02, found.mean_error("ttft")[0])
    near(s + allen_cunneen_wait_s(0.7 / s, 1, s, 1.0, 0.0), s + 0.7 * s / (2 * 0.3), 1e-12)


def test_02_m_g_1() -> None:
    found, s, square = one_by_one([0.8, 0.2], [200, 2000], 0.6, runs=150)
    exact = s + 0.6 / s * square / (2 * 0.4)
    near(found.mean("ttft")[0], exact, 0.03, found.mean_error("ttft")[0])
    near(s + allen_cunneen_wait_s(0.6 / s, 1, s, 1.0, square / s**2 - 1.0), exact, 1e-12)


@cache
def slots_of_eight(geometric: bool) -> tuple[float, float]:
    """Mean wait for one of eight slots, each held for 500 steps of 1 ms on average, and its standard error [s].

    Runs go side by side and cost little: many of them, and none longer than it takes to forget the empty start.
    """
    found = simulate(
        *(12.8, 1.0, 1, 1, 500, 1e-3, 0.0, 0.0),
        **{"max_num_seqs": 8, "requests": 1000, "warm_up": 500, "runs": 900, "geometric_outputs": geometric},
    )
    # An arrival sits out half a step before it is seen, and the step of its own prompt.
    return float(found.mean("ttft")[0] - 1.5e-3), float(found.mean_error("ttft")[0])


def test_03_m_m_c() -> None:
    wait, error = slots_of_eight(True)
    near(wait, mmc_wait_s(12.8, 8, 0.5), 0.04, error)


def test_04_fixed_services_wait_half_as_long() -> None:
    wait, error = slots_of_eight(False)
    exponential = mmc_wait_s(12.8, 8, 0.5)
    near(wait / exponential, 0.5, 0.12, error / exponential)


# ------------------------------------------------------------------------------- 5, 6: processor sharing, p -> 0


@pytest.mark.parametrize("geometric", [False, True], ids=["05_fixed", "06_geometric"])
def test_batch_is_negative_binomial(geometric: bool) -> None:
    """Mean (t_w/b + 1) q/(1 - q), q the time share of KV reads, whatever the law of lengths."""
    step, token, prompt, n = 0.010, 1e-6, 1800, 500
    # Tokens read over an answer: n P + E[n (n + 1)/2], where E[n^2] = 2 n^2 + n of a geometric length.
    read = n * prompt + (n * n + n if geometric else n * (n + 1) / 2)
    rate, own = 0.6 / (token * read), token * read / n
    found = simulate(
        rate,
        1.0,
        prompt,
        prompt,
        n + 1,
        step,
        token,
        0.0,
        token_budget=WIDE,
        requests=1500,
        runs=150,
        geometric_outputs=geometric,
    )
    exact = (step / own + 1.0) * 0.6 / 0.4
    near(found.batch_mean[0], exact, 0.03)
    # A fixed length that reads as much a step stands for the geometric one.
    equal = [read / n - (n + 1) / 2]
    point = operating_point(rate, [1.0], equal, [0], [n + 1], step, token, 0.0, token_budget=WIDE)
    near(point.batch_mean, exact, 1e-9)


# ------------------------------------------------------------------------------------- 7 to 12: nothing gets lost


@cache
def run_of(case: str) -> Simulation:
    return simulate(**CASES[case], token_budget=2048, max_num_seqs=256, pool_tokens=POOLS[case], requests=2500, runs=20)


@pytest.mark.parametrize("case", CASES, ids=["07", "08", "09"])
def test_busy_time_is_work_and_steps(case: str) -> None:
    """busy = lam E[p U + k sum over steps of P + j] + t_w steps/s."""
    inputs, found = CASES[case], run_of(case)
    n, prompt = np.array(inputs["output_tokens"]) - 1, np.array(inputs["prompt_tokens"])
    work = inputs["prefill_per_token_s"] * np.array(inputs["uncached_tokens"])
    work = work + inputs["step_per_context_token_s"] * (n * prompt + n * (n + 1) / 2)
    grows = inputs["arrival_rate"] * np.dot(inputs["class_weights"], work)
    near(found.busy_share[0], grows + inputs["step_weights_s"] * found.step_rate[0], 0.01)
    near(operating_point(**inputs).busy, grows, 1e-12)


@pytest.mark.parametrize("case", CASES, ids=["10", "11", "12"])
def test_littles_law(case: str) -> None:
    """Decoding sequences are the rate times the time from first to last token."""
    inputs, found = CASES[case], run_of(case)
    near(found.batch_mean[0], inputs["arrival_rate"] * found.decode_s.mean(), 0.02)
    near(found.throughput[0], inputs["arrival_rate"], 0.02)
    point, n = operating_point(**inputs), np.array(inputs["output_tokens"]) - 1
    near(point.batch_mean, inputs["arrival_rate"] * np.dot(inputs["class_weights"], n * point.tpot_s), 1e-12)


def test_13_the_rate_at_a_full_pool() -> None:
    """lam_max = L/(n (t_w + k L context) + L s): 50 sequences of 9,000 tokens, which the pool reserves whole."""
    prefill = CASES["chat 8B"]["prefill_per_token_s"]
    slots, n = 450_900 // 9000, 7999
    found = simulate_closed(
        70,
        1.0,
        1000,
        None,
        8000,
        **A100,
        prefill_per_token_s=prefill,
        max_num_seqs=256,
        pool_tokens=450_900,
        requests=500,
        runs=8,
    )
    step = A100["step_weights_s"] + A100["step_per_context_token_s"] * slots * (1000 + 8000 / 2)
    limit = slots / (n * step + slots * 1000 * prefill)
    near(found.throughput[0], limit, 1e-3)
    point = operating_point(limit, [1.0], [1000], [1000], [8000], **A100, prefill_per_token_s=prefill, slots=slots)
    near(point.slot_share, 1.0, 1e-3)


# ------------------------------------------------------------------------------- 14, 15: prompts alone, k -> 0


@cache
def gated() -> tuple[Simulation, Any]:
    """Prompts of 2 ms that the next step takes up whole, steps of 20 ms that nobody's KV makes longer."""
    inputs = (300.0, [1.0], [200], [200], [60], 0.020, 0.0, 1e-5)
    found = simulate(*inputs, token_budget=10**7, requests=3000, runs=80)
    return found, operating_point(*inputs, token_budget=10**7)


def test_14_mean_ttft_of_gated_prompts() -> None:
    found, point = gated()
    near(found.mean("ttft")[0], float(point.ttft_s), 0.01, found.mean_error("ttft")[0])


def test_15_variance_of_ttft_of_gated_prompts() -> None:
    found, point = gated()
    near(found.ttft_s.var(), float(point._ttft_variance[0]), 0.03)


# ---------------------------------------------------------------------------------------------- 16 to 21: Erlang


def test_16_one_server_is_busy_with_probability_rho() -> None:
    rho = np.array([1e-6, 0.01, 0.37, 0.9, 0.999])
    np.testing.assert_allclose(erlang_c(1, rho), rho, rtol=1e-12)


def test_17_two_servers_by_the_recurrence() -> None:
    # 1/B_2 = 1 + (2/a)(1 + (1/a)), from 1/B_0 = 1
    near(erlang_b(2, 1.6), 1.0 / (1.0 + 2.0 / 1.6 * (1.0 + 1.0 / 1.6)), 1e-12)


def test_18_pooled_servers_wait_less_than_split_ones() -> None:
    servers, rho = np.array([1, 2, 10, 100, 1000.0]), np.array([[0.3], [0.8], [0.98]])
    split, pooled = mmc_wait_s(rho * servers, servers, 1.0), mmc_wait_s(2 * rho * servers, 2 * servers, 1.0)
    assert np.all((pooled < split) | (split < 1e-300))


def test_19_waiting_from_blocking() -> None:
    servers, rho = np.array([2, 50, 1000.0]), 0.9
    blocked = erlang_b(servers, rho * servers)
    np.testing.assert_allclose(erlang_c(servers, rho * servers), blocked / (1 - rho * (1 - blocked)), rtol=1e-9)


def test_20_halfin_and_whitt() -> None:
    # (1 + Phi(1)/phi(1))^-1 with Phi(1) = 0.841344746069, phi(1) = 0.241970724519
    limit = 1.0 / (1.0 + 0.841344746069 / 0.241970724519)
    near(erlang_c(1e6, 1e6 - 1e3), limit, 2e-3)
    near(halfin_whitt_c(1e6, 1e6 - 1e3), limit, 1e-9)


def test_21_slots_are_servers_without_kv_and_prefill() -> None:
    """Long answers, so that the step of the prompt is nothing: P(wait) is Erlang C of 40 servers at load 30."""
    n = 10**6
    point = operating_point(30 / (n * 0.01), [1.0], [1], [0], [n + 1], 0.01, 1e-20, 0.0, token_budget=WIDE, slots=40)
    near(float(point._wait.probability), erlang_c(40, 30.0), 2e-3)


# ------------------------------------------------------------------------- 22 to 31: laws over 4,000 random replicas

REPLICAS = 4000


@cache
def replicas() -> dict[str, Any]:
    """Single classes; the rate is such that 5 to 80% of time goes to work that grows with traffic."""
    rng = np.random.default_rng(8)

    def even(low: float, high: float) -> Any:
        return np.exp(rng.uniform(np.log(low), np.log(high), REPLICAS))

    step, token, prefill = even(3e-3, 3e-2), even(1e-8, 2e-7), even(5e-6, 1.5e-4)
    prompt, output = even(30, 6000), even(20, 1500)
    work = prefill * prompt + token * (output - 1) * (prompt + output / 2)
    return {
        "arrival_rate": rng.uniform(0.05, 0.8, REPLICAS) / work,
        "class_weights": [1.0],
        "prompt_tokens": prompt[:, None],
        "uncached_tokens": prompt[:, None],
        "output_tokens": output[:, None],
        "step_weights_s": step,
        "step_per_context_token_s": token,
        "prefill_per_token_s": prefill,
        "token_budget": 4096,
    }


def change_of_tpot(*names: str) -> Any:
    """Relative change of TPOT when these inputs grow by 2%."""
    inputs = replicas()
    # The law itself, also where it is not shown for being outside of what simulations confirm.
    before, after = (
        operating_point(**given)._state.tpot[0] for given in (inputs, inputs | {n: inputs[n] * 1.02 for n in names})
    )
    assert np.isfinite(before).all()
    assert np.isfinite(after).all()
    return after / before - 1.0


@pytest.mark.parametrize(
    "names",
    [
        ("arrival_rate",),
        ("step_weights_s",),
        ("step_per_context_token_s",),
        ("prefill_per_token_s",),
        ("prompt_tokens", "uncached_tokens"),
    ],
    ids=["22_rate", "23_step", "24_context", "25_prefill", "26_prompt"],
)
def test_tpot_does_not_fall_with(names: tuple[str, ...]) -> None:
    change = change_of_tpot(*names)
    assert change.min() > -1e-12
    assert change.max() > 1e-3


def test_27_tpot_may_fall_with_longer_answers() -> None:
    """In about one of eight replicas, 476 of 4,000: more tokens share the prefill that comes with the request's own."""
    change = change_of_tpot("output_tokens")
    falls = int((change < -1e-12).sum())
    assert 300 < falls < 600, falls


@cache
def scaled() -> tuple[Any, Any]:
    """The replicas, and the same with all times longer by 7.3 and rates lower by it."""
    inputs = replicas()
    times = ("step_weights_s", "step_per_context_token_s", "prefill_per_token_s")
    slower = {name: inputs[name] * 7.3 for name in times} | {"arrival_rate": inputs["arrival_rate"] / 7.3}
    return operating_point(**inputs), operating_point(**(inputs | slower))


def test_28_tpot_scales_with_time() -> None:
    before, after = scaled()
    np.testing.assert_allclose(after._state.tpot, 7.3 * before._state.tpot, rtol=1e-12)
    np.testing.assert_array_equal(after.tpot_valid, before.tpot_valid)


def test_29_batch_does_not_depend_on_the_unit_of_time() -> None:
    before, after = scaled()
    np.testing.assert_allclose(after._state.batch, before._state.batch, rtol=1e-12)


def test_30_variance_of_ttft_scales_with_time_squared() -> None:
    before, after = scaled()
    assert before.stable.mean() > 0.8
    np.testing.assert_allclose(
        after._ttft_variance[0][before.stable], 7.3**2 * before._ttft_variance[0][before.stable], rtol=1e-9
    )


def test_31_two_halves_of_a_class_are_the_class() -> None:
    inputs = replicas()
    lengths = ("prompt_tokens", "uncached_tokens", "output_tokens")
    split = {name: np.repeat(inputs[name], 2, axis=1) for name in lengths} | {"class_weights": [0.3, 0.7]}
    halves, whole = operating_point(**(inputs | split)), operating_point(**inputs)
    np.testing.assert_allclose(halves._state.batch, whole._state.batch, rtol=1e-12)
    np.testing.assert_allclose(halves.ttft_s, whole.ttft_s, rtol=1e-12)
