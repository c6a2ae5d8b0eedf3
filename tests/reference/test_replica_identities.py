"""Exact results of queueing theory that the formulas of one replica contain, each computed another way here."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from gridplan.formulas import erlang_c, operating_point
from gridplan.formulas.replica.decode_spread import amplification
from gridplan.formulas.replica.first_token import first_token_variance
from gridplan.formulas.replica.gate import prompts_in_a_step


@pytest.mark.parametrize("load", [0.2, 0.6, 0.8])
def test_batch_without_prefill_is_negative_binomial(load: float) -> None:
    """A birth-death chain that leaves state N at rate N / (n (a + c N)); processor sharing does not ask for more."""
    step, n, context = 0.010, 500, 1e-6 * (1800 + 501 / 2)
    rate = load / (n * context)
    point = operating_point(rate, [1.0], [1800], [0], [501], step, 1e-6, 0.0, token_budget=10**6)
    states = np.arange(1, 5000)
    chain = np.concatenate([[0.0], np.cumsum(np.log(rate * n * (step + context * states) / states))])
    weights = np.exp(chain - chain.max())
    exact = weights @ np.arange(5000) / weights.sum()
    assert exact == pytest.approx((step / context + 1.0) * load / (1.0 - load), rel=1e-9)
    assert point.batch_mean == pytest.approx(exact, rel=1e-9)
    assert point._state.batch * (1.0 / (1.0 - load)) == pytest.approx(  # Fano factor 1/(1 - q)
        weights @ (np.arange(5000) - exact) ** 2 / weights.sum(), rel=1e-6
    )


@pytest.mark.parametrize(("slots", "load"), [(40, 30.0), (8, 6.4), (200, 190.0)])
def test_slots_are_servers_where_sequences_do_not_slow_each_other(slots: int, load: float) -> None:
    """Without KV reads and prefill a slot is a server of M/G/c."""
    step, n = 0.010, 100
    rate = load / (n * step)
    point = operating_point(rate, [1.0], [1], [0], [n + 1], step, 1e-13, 0.0, token_budget=10**6, slots=slots)
    # A request also holds its slot in the step of its prompt: n + 1 steps.
    offered = load * (n + 1) / n
    assert point._wait.probability == pytest.approx(erlang_c(slots, offered), rel=0.12)
    slow = operating_point(rate / 50, [1.0], [1], [0], [50 * n + 1], step, 1e-13, 0.0, token_budget=10**6, slots=slots)
    assert slow._wait.probability == pytest.approx(erlang_c(slots, load * (50 * n + 1) / (50 * n)), rel=0.02)


@cache
def gate(rate: float, plain: float, work: float, cycles: int = 150_000) -> tuple[np.ndarray, np.ndarray]:
    """Step lengths of a gate that opens once a step, and the time to first token of every prompt."""
    rng = np.random.default_rng(5)
    length, waited = np.empty(cycles), []
    now = plain
    for i in range(cycles):
        length[i] = now
        prompts = rng.poisson(rate * now)
        after = plain + work * prompts
        waited.append(now * rng.random(prompts) + after)
        now = after
    return length, np.concatenate(waited)


def test_gated_ttft() -> None:
    """Mean, variance and percentiles of TTFT where the token budget never binds: 20 ms a step, 2 ms a prompt."""
    _, waited = gate(300.0, 0.020, 0.002)
    point = operating_point(300.0, [1.0], [200], [200], [60], 0.020, 0.0, 1e-5, token_budget=10**7)
    assert point.ttft_s == pytest.approx(waited.mean(), rel=0.005)
    variance = first_token_variance(point._load, point._levels[0], point._firsts[0])
    assert variance[0] == pytest.approx(waited.var(), rel=0.02)
    for q in (0.05, 0.5, 0.95, 0.99):
        assert point.ttft_quantile(q) == pytest.approx(np.quantile(waited, q), rel=0.04)


@pytest.mark.parametrize(("rate", "work"), [(300.0, 0.002), (20.0, 0.010), (5.0, 0.080)])
def test_prompts_of_a_step(rate: float, work: float) -> None:
    length, _ = gate(rate, 0.020, work)
    carried = prompts_in_a_step(np.array([rate]), np.array([work]), np.array(0.020 / (1.0 - rate * work)))
    prompts = np.rint((length - 0.020) / work)
    assert carried.none == pytest.approx(np.mean(prompts == 0), abs=0.005)
    assert carried.one[0] == pytest.approx(np.mean(prompts == 1), abs=0.005)
    many = prompts[prompts > 1] * work
    assert carried.mean == pytest.approx(many.mean(), rel=0.02)
    assert carried.square == pytest.approx((many**2).mean(), rel=0.04)


def test_long_prompts_one_by_one_are_m_d_1() -> None:
    """Steps that take no time but for prompts, in chunks of a hundredth: the sojourn of Pollaczek and Khinchine."""
    work, load = 0.5, 0.6
    point = operating_point(load / work, [1.0], [10_000], [10_000], [300], 1e-9, 0.0, work / 10_000, token_budget=100)
    assert point._firsts[0].mean == pytest.approx(work + load * work / (2.0 * (1.0 - load)), rel=0.01)
    assert first_token_variance(point._load, point._levels[0], point._firsts[0])[0] == pytest.approx(
        (load * work / (2.0 * (1.0 - load))) ** 2 + load * work**2 / (3.0 * (1.0 - load)), rel=0.02
    )


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.04, 0.06, 0.5, 0.9])
@pytest.mark.parametrize("prefill", [0.0, 1e-4, 0.3])
def test_amplification_in_many_digits(prefill: float, share: float) -> None:
    with mp.workdps(50):
        rp, q = mp.mpf(prefill), mp.mpf(share)
        rd = q * (1 - rp)
        exact = 1 / ((1 - rp) * (1 - rp - rd)) - 2 * (mp.exp(q) - 1) / (q * (1 - rp)) + 1
    assert float(amplification(np.float64(prefill), np.float64(share))) == pytest.approx(float(exact), rel=1e-8)
