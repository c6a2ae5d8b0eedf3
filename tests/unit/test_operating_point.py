"""The operating point of one replica: numbers worked out by hand, labels, shapes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from gridplan.formulas import operating_point
from gridplan.formulas.replica.mixture import Mixture

# Llama-3.1-70B FP8 on four H100 SXM at 75% of 3.35 TB/s and 50% of 1,979 TFLOP/s: weights, KV and prefill per step.
STEP, TOKEN, PREFILL = 70.55e9 / 4 / (3.35e12 * 0.75), 327_680 / 4 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)


def plan(rate: Any, **changes: Any) -> Any:
    """Chat load of the 70B plan: prompts of 2,000 tokens, answers of 300."""
    inputs: dict[str, Any] = {
        "arrival_rate": rate,
        "class_weights": [1.0],
        "prompt_tokens": [2000],
        "uncached_tokens": [2000],
        "output_tokens": [300],
        "step_weights_s": STEP,
        "step_per_context_token_s": TOKEN,
        "prefill_per_token_s": PREFILL,
    }
    return operating_point(**(inputs | changes))


def small(rate: Any, **changes: Any) -> Any:
    """Round numbers: t_w 10 ms, k 1 us, p 10 us, prompts of 1,000 and answers of 101 tokens, a budget never reached."""
    round_numbers = {
        "prompt_tokens": [1000],
        "uncached_tokens": [1000],
        "output_tokens": [101],
        "token_budget": 100_000,
    }
    steps = {"step_weights_s": 0.010, "step_per_context_token_s": 1e-6, "prefill_per_token_s": 1e-5}
    return plan(rate, **(round_numbers | steps | changes))


def test_tpot_by_hand() -> None:
    # c = 1e-6 (1000 + 101/2) = 1.0505 ms, s = 10 ms, D = 100 c = 105.05 ms; at 2/s rp = 0.02, rd = 0.2101, g = 0.98^-2
    clustering = 1.0 / 0.98**2
    shared = (0.2101 * 0.010 + 0.2101 * 0.0010505 + 0.0010505 * 0.98 * (clustering - 1.0)) / (1.0 - 0.2301)
    tpot = (0.010 + 0.0010505 + shared) / 0.98 + 0.02 * 0.010 / (0.98 * 100)
    point = small(2.0)
    assert point.tpot_mean_s == pytest.approx(tpot, rel=1e-12)
    assert point.batch_mean == pytest.approx(2.0 * 100 * tpot, rel=1e-12)
    assert point.busy == pytest.approx(0.2301)


def test_a_sequence_costs_its_share_of_each_step() -> None:
    # t_seq of 0.2 ms is as good as 200 more resident tokens at 1 us.
    longer = small(2.0, prompt_tokens=[1200], uncached_tokens=[1000])
    assert small(2.0, step_per_sequence_s=2e-4).tpot_mean_s == pytest.approx(longer.tpot_mean_s, rel=1e-12)


def test_without_load_nothing_waits() -> None:
    point = small(0.0)
    assert point.batch_mean == 0.0
    assert point.busy == 0.0
    assert point.tpot_mean_s == pytest.approx(0.0110505, rel=1e-12)
    assert point.ttft_s == pytest.approx(0.020, rel=1e-12)
    # One prefill step of 20 ms and 100 decode steps of 11.0505 ms.
    assert point.e2e_s == pytest.approx(0.020 + 1.10505, rel=1e-12)
    assert point.step_mean_s == pytest.approx((0.020 + 1.10505) / 101, rel=1e-12)
    for q in (0.01, 0.5, 0.99):
        assert point.ttft_quantile(q) == pytest.approx(0.020, rel=1e-6)
        assert point.e2e_quantile(q) == pytest.approx(1.12505, rel=1e-6)


def test_prefill_time_by_class_takes_the_place_of_tokens() -> None:
    slow = plan(4.0, prefill_s=[0.1426])
    assert slow.busy > plan(4.0).busy
    same = plan(4.0, prefill_s=[2000 * PREFILL], prefill_per_token_s=1.0)
    assert same.ttft_s == pytest.approx(plan(4.0).ttft_s, rel=1e-12)


def test_gaps_of_the_70b_plan() -> None:
    """The simulator's ITL p95 is 80.6 ms at a budget of 2,048 and 26.8 ms at 512 (200 req/s on 34 replicas)."""
    assert plan(200 / 34).itl_quantile(0.95) == pytest.approx(0.0806, rel=0.02)
    assert plan(200 / 34, token_budget=512).itl_quantile(0.95) == pytest.approx(0.0268, rel=0.05)
    assert plan(200 / 34).tpot_quantile(0.95) == pytest.approx(0.0217, rel=0.03)


def test_the_mean_gap_is_the_mean_tpot() -> None:
    point = plan(200 / 34)
    law = point._gap_law.mixture
    assert law.weight.sum() == pytest.approx(1.0)
    assert (law.weight * law.mean).sum() == pytest.approx(float(point.tpot_mean_s), rel=0.01)


def test_goodput_of_the_70b_plan() -> None:
    """The simulator: 95.0% within 1 s, 50 ms and 20 s at 8.42 req/s and 256 slots, 99% at 8.05."""
    for rate, share in ((8.42, 0.950), (8.05, 0.990)):
        bound, estimate = plan(rate).goodput(1.0, 0.050, 20.0)
        assert estimate == pytest.approx(share, abs=0.01)
        assert 0.0 < bound <= estimate


def test_goodput_of_one_limit_is_its_percentile() -> None:
    point = plan(6.0, class_weights=[0.3, 0.7], output_tokens=[100, 400])
    for name in ("ttft", "tpot", "e2e"):
        limit = getattr(point, f"{name}_quantile")(0.9)
        bound, estimate = point.goodput(**{f"{name}_slo_s": limit})
        assert bound == pytest.approx(0.9, abs=0.002)
        assert estimate == pytest.approx(0.9, abs=0.002)


def test_goodput_limits_by_class() -> None:
    point = plan(6.0, class_weights=[0.3, 0.7], output_tokens=[100, 400])
    loose = point.goodput(e2e_slo_s=[100.0, 100.0])[1]
    assert loose == pytest.approx(1.0)
    # Nobody of the second class, all of the first.
    assert point.goodput(e2e_slo_s=[100.0, 1e-3])[1] == pytest.approx(0.3)
    assert point.goodput()[0] == 1.0
    with pytest.raises(ValueError, match="ttft_slo_s of shape"):
        point.goodput(ttft_slo_s=[1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="tpot_slo_s must be above 0"):
        point.goodput(tpot_slo_s=0.0)


def test_no_gap_above_a_limit_is_rarer_than_few() -> None:
    point = plan(200 / 34)
    shares = [float(point.goodput(itl_slo_s=limit)[1]) for limit in (0.005, 0.030, 0.080, 0.085, 0.2)]
    assert shares == sorted(shares)
    assert shares[0] == 0.0  # below the weight read
    assert shares[1] < 0.01  # 9.6% of 299 gaps carry a prompt
    assert shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"arrival_rate": 12.0}, "time"),
        ({"arrival_rate": 9.0, "token_budget": 128}, "token_budget"),
        ({"arrival_rate": 6.0, "slots": 20}, "slots"),
    ],
)
def test_three_limits_of_stability(changes: dict[str, Any], limit: str) -> None:
    point = plan(**({"rate": changes.pop("arrival_rate")} | changes))
    assert point.limit == limit
    assert not point.stable
    assert point.valid_reason == "unstable"
    for value in (point.tpot_s, point.batch_mean, point.ttft_s, point.e2e_s, point.wait_s, point.itl_quantile(0.5)):
        assert np.isnan(value).all()
    assert np.isnan(point.goodput(1.0)[1])


def test_reasons() -> None:
    assert plan(4.0).valid_reason == ""
    assert plan(9.6, token_budget=8192).valid_reason == "busy"
    assert plan(7.0, token_budget=340).valid_reason == "token_budget"
    assert plan(6.0, slots=34).valid_reason == "slots"
    assert plan(4.0, arrival_scv=2.0).valid_reason == "arrival_scv"
    assert plan(np.nan).valid_reason == "unknown"
    burst = plan(4.0, arrival_scv=2.0)
    assert np.isnan(burst.ttft_quantile(0.95))
    assert burst.ttft_quantile(0.95, rough=True) > plan(4.0).ttft_quantile(0.95)
    assert np.isnan(burst.ttft_s)
    assert burst.tpot_mean_s > plan(4.0).tpot_mean_s


def test_short_answers_to_long_prompts_carry_no_number() -> None:
    """The shape of the Azure code trace of 2023, 2,048 tokens in and 28 out, at half of its capacity."""
    busy = 28 * TOKEN * 2062 + 2048 * PREFILL
    point = plan(0.5 / busy, prompt_tokens=[2048], uncached_tokens=[2048], output_tokens=[28])
    assert point.stable
    assert point.valid_reason == "short_output"
    assert not point.tpot_valid
    assert not point.ttft_valid
    for value in (point.tpot_mean_s, point.batch_mean, point.ttft_s, point.e2e_s, point.step_mean_s):
        assert np.isnan(value)


def test_answers_of_one_token_have_no_tpot() -> None:
    both = plan(3.0, class_weights=[0.2, 0.8], output_tokens=[1, 300])
    assert np.isnan(both.tpot_s[0])
    assert both.tpot_mean_s == both.tpot_s[1]
    assert both.e2e_by_class_s[0] == both.ttft_by_class_s[0]
    assert both.tpot_quantile(0.95) > both.tpot_s[1]
    assert both.goodput(tpot_slo_s=1e-4)[1] == pytest.approx(0.2)
    alone = plan(3.0, output_tokens=[1])
    assert np.isnan(alone.tpot_mean_s)
    assert alone.valid_reason == "short_output"


def test_axes() -> None:
    rates, budgets = np.array([2.0, 4.0, 6.0]), np.array([[1024.0], [2048.0]])
    point = plan(rates, token_budget=budgets, class_weights=[0.5, 0.5], output_tokens=[100, 500])
    assert point.tpot_s.shape == (2, 3, 2)
    assert point.ttft_by_class_s.shape == (2, 3, 2)
    assert point.valid.shape == point.limit.shape == point.ttft_s.shape == point.ttft_quantile(0.9).shape == (2, 3)
    one = plan(4.0, token_budget=1024.0, class_weights=[0.5, 0.5], output_tokens=[100, 500])
    assert point.tpot_s[0, 1] == pytest.approx(one.tpot_s, rel=1e-14)
    for name in ("ttft", "tpot", "e2e", "itl"):
        quantile = f"{name}_quantile"
        assert getattr(point, quantile)(0.95)[0, 1] == pytest.approx(getattr(one, quantile)(0.95), rel=1e-8)
        assert getattr(one, quantile)([0.5, 0.95, 0.99]).shape == (3,)
    assert plan(4.0, class_weights=1.0, prompt_tokens=2000, uncached_tokens=2000, output_tokens=300).tpot_s.shape == (
        1,
    )


def test_unknown_cells_stay_alone() -> None:
    point = plan([np.nan, 4.0])
    assert np.isnan(point.ttft_s).tolist() == [True, False]
    assert point.ttft_s[1] == plan(4.0).ttft_s
    assert point.limit.tolist() == ["", ""]
    weights = plan(4.0, class_weights=[[np.nan, 0.5], [0.5, 0.5]], output_tokens=[300, 300])
    assert np.isnan(weights.tpot_mean_s).tolist() == [True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_weights": [0.5, 0.4]}, "class_weights must sum to 1"),
        ({"class_weights": [1.5, -0.5]}, "class_weights must be at least 0"),
        ({"output_tokens": [0.5]}, "output_tokens must be at least 1"),
        ({"uncached_tokens": [2001]}, "uncached_tokens must not exceed prompt_tokens"),
        ({"step_weights_s": -1.0}, "step_weights_s must be at least 0"),
        ({"step_weights_s": np.inf}, "step_weights_s must be finite"),
        ({"token_budget": 0}, "token_budget must be at least 1"),
        ({"slots": 0}, "slots must be at least 1"),
        ({"prompt_tokens": [2000, 3000, 4000], "class_weights": [0.5, 0.5]}, "class axis"),
        ({"prompt_tokens": ["many"]}, "prompt_tokens must be numbers"),
        ({"step_weights_s": [0.1, 0.2], "slots": [1, 2, 3]}, "do not broadcast"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(4.0, **changes)


def test_percentiles_outside_zero_and_one() -> None:
    for q in (0.0, 1.0, 95, np.nan):
        with pytest.raises(ValueError, match="q must be in"):
            plan(4.0).ttft_quantile(q)
    with pytest.raises(ValueError, match="method must be"):
        plan(4.0).ttft_quantile(0.5, method="slow")


def test_exact_quantiles_solve_the_mixture() -> None:
    """Against SciPy's distributions and Brent's method."""
    point = plan(
        6.0,
        class_weights=[0.3, 0.5, 0.2],
        prompt_tokens=[2000, 500, 4000],
        uncached_tokens=[1000, 500, 4000],
        output_tokens=[60, 300, 900],
    )
    for name, mixture in (("ttft", point._ttft_mixture), ("itl", point._gap_law.mixture)):
        for q in (0.05, 0.5, 0.95, 0.999):
            root = optimize.brentq(lambda x, m=mixture, q=q: share_below(m, x) - q, 1e-6, 100.0, xtol=1e-12)
            assert getattr(point, f"{name}_quantile")(q) == pytest.approx(root, rel=1e-6)


def share_below(mixture: Mixture, limit: float) -> float:
    """Distribution of a mixture by SciPy's gamma and uniform laws."""
    parts = (mixture.weight, mixture.mean, mixture.variance, mixture.shift)
    weight, mean, variance, shift = (np.broadcast_to(part, mixture.mean.shape).ravel() for part in parts)
    body = np.maximum(mean - shift, 1e-12 * mean)
    spread = np.maximum(variance, 1e-12 * body**2)
    half = np.sqrt(3 * np.maximum(variance, 1e-18 * mean**2))
    gamma = stats.gamma.cdf(limit, body**2 / spread, shift, spread / body)
    uniform = stats.uniform.cdf(limit, mean - half, 2 * half)
    last = mixture.mean.size - mixture.uniforms
    return float((weight * np.where(np.arange(weight.size) < last, gamma, uniform)).sum())


def test_fast_quantiles_are_near() -> None:
    point = plan(np.array([3.0, 5.0, 7.0]), class_weights=[0.4, 0.6], output_tokens=[100, 600])
    for name in ("ttft", "tpot", "e2e", "itl"):
        for q in (0.5, 0.95, 0.99):
            exact, fast = (getattr(point, f"{name}_quantile")(q, method) for method in ("exact", "fast"))
            assert fast == pytest.approx(exact, rel=0.02)


def test_slots_cap_tpot_and_make_wait() -> None:
    free, capped = plan(6.0), plan(6.0, slots=[60, 40, 1000])
    assert capped.slot_share[1] > capped.slot_share[0] > capped.slot_share[2] > 0
    assert free.slot_share == 0.0
    assert capped.tpot_mean_s[2] == pytest.approx(free.tpot_mean_s, rel=1e-12)
    assert capped.wait_s[2] == pytest.approx(0.0, abs=1e-12)
    late = capped.ttft_quantile(0.99, rough=True)
    assert late[1] > late[0] > late[2]


def test_the_cap_on_slots_is_the_step_at_the_cap() -> None:
    # x = lam (n (t_w + c L)/(1 - rp) + s)/L
    c, s = TOKEN * 2150, 2000 * PREFILL
    share = 6.0 * (299 * (STEP + c * 40) / (1 - 6.0 * s) + s) / 40
    assert plan(6.0, slots=40).slot_share == pytest.approx(share, rel=1e-12)


def test_a_wide_cap_and_budget_may_be_infinite() -> None:
    assert plan(6.0, slots=np.inf).ttft_s == pytest.approx(plan(6.0).ttft_s, rel=1e-9)
    assert plan(6.0, token_budget=np.inf).ttft_s == pytest.approx(plan(6.0, token_budget=1e9).ttft_s, rel=1e-6)


def test_the_rate_at_a_limit_where_slots_bind() -> None:
    """The simulator: TTFT p95 is 5 s at 0.167 req/s for 8,000 output tokens, at 0.532 for contexts of 32,000."""
    a100 = {"step_weights_s": 16.06e9 / 1550e9, "step_per_context_token_s": 131_072 / 1550e9}
    reasoning = {"prompt_tokens": [1000], "uncached_tokens": [1000], "output_tokens": [8000], "slots": 450_900 // 9008}
    documents = {
        "prompt_tokens": [32_000],
        "uncached_tokens": [4000],
        "output_tokens": [1000],
        "slots": 702_879 // 33_008,
    }
    for rate, changes in (
        (0.167, a100 | reasoning | {"prefill_per_token_s": 2 * 8.03e9 / 140e12}),
        (0.532, documents),
    ):
        rates = rate * np.linspace(0.9, 1.1, 201)
        point = plan(rates, **changes)
        assert not point.valid[100]
        found = rates[np.argmax(point.ttft_quantile(0.95, rough=True) > 5.0)]
        assert found == pytest.approx(rate, rel=0.05)


def mix(prompts: Any, outputs: Any, weights: Any) -> Any:
    return plan(2.0, prompt_tokens=prompts, uncached_tokens=prompts, output_tokens=outputs, class_weights=weights)


def test_a_class_cut_in_two_has_the_same_first_tokens() -> None:
    whole = mix([800, 3000], [300, 500], [0.7, 0.3])
    cut = mix([3000, 800, 800, 3000], [500, 300, 300, 500], [0.1, 0.3, 0.4, 0.2])
    for q in (0.5, 0.95, 0.99):
        assert cut.ttft_quantile(q) == pytest.approx(whole.ttft_quantile(q), rel=1e-9)
    limits = np.array([0.05, 0.1, 0.2, 0.3])
    met = cut.met_shares(ttft_slo_s=limits)[0]
    for index, (limit, kind) in enumerate(zip(limits, (1, 0, 0, 1), strict=True)):
        assert met[index] == pytest.approx(whole.met_shares(ttft_slo_s=limit)[0][kind], rel=1e-9)
    assert cut.goodput(0.2, 0.02, 8.0) == pytest.approx(whole.goodput(0.2, 0.02, 8.0), rel=1e-9)


def test_classes_alike_in_one_cell_stay_apart_in_the_other() -> None:
    both = mix([[800, 800], [800, 3000]], [300, 500], [0.7, 0.3])
    for cell, prompts in enumerate(([800, 800], [800, 3000])):
        alone = mix(prompts, [300, 500], [0.7, 0.3])
        assert both.ttft_quantile(0.95)[cell] == pytest.approx(alone.ttft_quantile(0.95), rel=1e-9)
        assert both.met_shares(0.1)[0][cell] == pytest.approx(alone.met_shares(0.1)[0], rel=1e-9)


def test_a_point_is_of_the_arrays_as_they_were() -> None:
    """Figures are worked out when they are asked for; a buffer that is filled again meanwhile is no part of them."""
    rate, output = np.array([1.0, 2.0]), np.array([300.0])
    point, due = plan(rate, output_tokens=output), plan([1.0, 2.0]).tpot_mean_s
    rate[:], output[:] = 5.0, 9.0
    assert point.tpot_mean_s.tolist() == due.tolist()
    with pytest.raises(AttributeError):
        point.tpot_s = due
    assert repr(point).startswith("OperatingPoint(tpot_s=array(")
