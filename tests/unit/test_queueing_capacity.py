"""Capacity model `queueing` in a cube: percentiles as limits, what binds, what no rate holds, and limits of classes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.formulas import sustained_rate
from gridplan.formulas.replica.root import SCAN, largest_rate

STEPS = {"step_weights_s": 7.02e-3, "step_per_context_token_s": 32.605e-9, "prefill_per_token_s": 35.649e-6}


def plan(
    slo: str = "tpot: {limit: 25 ms, percentile: 95}",
    workload: str = "prompt_tokens: 2000, output_tokens: 300",
    model: str = "queueing",
    deployment: str = "kv_pool_tokens_given: 702879, max_num_seqs: 256, max_num_batched_tokens: 2048",
    axes: str = "",
    outputs: tuple[str, ...] = ("default",),
) -> xr.Dataset:
    """Step times of the published 70B example, whatever the rest."""
    steps = ", ".join(f"{name}: {value!r}" for name, value in STEPS.items())
    capacity = "" if "capacity_model" in axes else f"capacity: {{capacity_model: {model}}}"
    return gridplan.evaluate(
        gridplan.loads_grid(f"""schema: 1
workload: {{{workload}, arrival_rate: 200}}
slo: {{{slo}}}
deployment: {{{steps}, kv_block_tokens: 1, {deployment}}}
{capacity}
policy: {{rho_target: 1.0}}
{axes}
"""),
        list(outputs),
    )


def test_roots_are_found_whatever_the_shape() -> None:
    """Edges known by hand: of a line, a jump and a curve, of what never or always holds, of what is not known."""

    def margin(rate: np.ndarray, rows: np.ndarray) -> np.ndarray:
        jump = np.where(rate < math.e, 30.0, -1.0)
        curve = np.log(2.0 / np.maximum(rate, 1e-300))
        never, always, unknown = -1.0 - rate, 1.0 + rate, np.full(rate.shape, np.nan)
        return np.choose(rows, [1.0 - rate / 3.0, jump, curve, never, always, unknown])

    found = largest_rate(margin, np.full(6, 10.0))
    assert found[:3] == pytest.approx([3.0, math.e, 2.0], rel=1e-10)
    assert (found[3], found[4], math.isnan(found[5])) == (0.0, 10.0, True)


def test_the_rate_is_where_the_percentile_reaches_its_limit() -> None:
    """At the rate found the TPOT p95 is the limit; one more replica than needed holds it, one fewer breaks it."""
    cube = plan(outputs=("default", "tpot_p95_s", "slo_held", "slo_held_one_fewer"))
    rate = float(cube.lambda_instance)
    point = gridplan.formulas.operating_point(rate, [1.0], [2000], [2000], [300], **STEPS, slots=256)
    assert float(point.tpot_quantile(0.95)) == pytest.approx(0.025, rel=1e-8)
    assert float(cube.replicas_active) == math.ceil(200 / rate)
    assert (float(cube.slo_held), float(cube.slo_held_one_fewer)) == (1.0, 0.0)
    assert float(cube.tpot_p95_s) <= 0.025
    assert [str(cube[name].values) for name in ("binding_constraint", "lambda_basis", "slo_basis")] == [
        *("tpot", "percentile_model", "percentile")
    ]


def test_a_limit_on_the_mean_has_a_closed_form() -> None:
    """TPOT = (a + b g)/(1 - busy) + rp s/((1 - rp) n): b = k (P + O/2), and g = 1/(1 - rp)^2 for requests that leave
    prefill together; the last term is what arrives during a request's own prompt.
    """
    cube = plan("tpot: {limit: 20 ms, percentile: mean}")
    own, prefill = STEPS["step_per_context_token_s"] * 2150, STEPS["prefill_per_token_s"] * 2000
    rate = float(cube.lambda_instance)
    share, busy = rate * prefill, rate * (prefill + 299 * own)
    mean = (STEPS["step_weights_s"] + own / (1 - share) ** 2) / (1 - busy) + share * prefill / ((1 - share) * 299)
    assert mean == pytest.approx(0.020, rel=1e-6)
    assert [str(cube[name].values) for name in ("lambda_basis", "slo_basis")] == ["mean_model", "mean"]


def test_all_four_models_are_one_axis() -> None:
    axes = """capacity: {lambda_instance_given: 8.0, applies_to: any, e2e_latency_s: 9.0}
axes: {capacity_model: [littles_law, replica_seconds, queueing, measured]}"""
    cube = plan(axes=axes)
    rates = cube.lambda_instance.to_series()
    assert rates["littles_law"] == pytest.approx(256 / 9.0)
    assert rates["replica_seconds"] == pytest.approx((1 - 7.02 / 25) / (18.466 / 200), rel=1e-3)
    assert rates["queueing"] == pytest.approx(float(plan().lambda_instance), rel=1e-12)
    assert rates["measured"] == 8.0
    assert cube.lambda_basis.to_series().tolist() == ["slots", "mean_tpot", "percentile_model", "percentile_measured"]
    assert cube.binding_constraint.to_series()["queueing"] == "tpot"


@pytest.mark.parametrize(
    ("slo", "reason", "best"),
    [
        ("tpot: {limit: 7 ms, percentile: 95}", "tpot_unreachable", 7.02e-3 + 32.605e-9 * 2150),
        ("ttft: {limit: 70 ms, percentile: 95}", "ttft_unreachable", 7.02e-3 + 35.649e-6 * 2000),
        ("e2e: {limit: 2 s, percentile: 99}", "e2e_unreachable", 0.078318 + 299 * (7.02e-3 + 32.605e-9 * 2150)),
        ("itl: {limit: 7 ms, percentile: 95}", "itl_unreachable", 7.02e-3 + 32.605e-9 * 2150),
    ],
)
def test_what_no_rate_holds_says_the_best_possible(slo: str, reason: str, best: float) -> None:
    """By hand: weights and own cache a step; a step with the prompt in it; both."""
    cube = plan(slo)
    assert (str(cube.status.values), str(cube.infeasible_reason.values)) == ("infeasible", reason)
    assert float(cube.best_possible_s) == pytest.approx(best, rel=1e-6)
    assert math.isnan(cube.lambda_instance)


def test_the_best_possible_of_other_models() -> None:
    cube = plan("e2e: {limit: 2 s, percentile: mean}", model="replica_seconds")
    assert str(cube.infeasible_reason.values) == "e2e_unreachable"
    assert float(cube.best_possible_s) == pytest.approx(35.649e-6 * 2000 + 300 * 7.02e-3, rel=1e-6)
    assert math.isnan(plan(model="replica_seconds").best_possible_s)


def test_slots_bind_where_more_of_them_help_most() -> None:
    """A pool for 20 sequences: TTFT breaks because requests wait for a slot, and the pool is what binds."""
    cube = plan(
        "ttft: {limit: 2 s, percentile: 95}",
        deployment="kv_pool_tokens_given: 46000, max_num_seqs: 256, max_num_batched_tokens: 2048",
    )
    free = plan("ttft: {limit: 2 s, percentile: 95}")
    names = [str(cube[name].values) for name in ("binding_constraint", "binding_next")]
    assert names == ["memory", "ttft"]
    lifted = float(cube.lambda_instance) * (1.0 + float(cube.margin_to_next))
    assert lifted == pytest.approx(float(free.lambda_instance), rel=1e-6)
    few = plan(
        "ttft: {limit: 2 s, percentile: 95}",
        deployment="kv_pool_tokens_given: 702879, max_num_seqs: 20, max_num_batched_tokens: 2048",
    )
    assert (str(few.binding_constraint.values), str(few.binding_ties.values)) == ("scheduler", "scheduler")
    # A cap of the scheduler is credited with short steps as well, one of the pool is not.
    assert float(few.lambda_instance) == pytest.approx(float(cube.lambda_instance), rel=1e-3)


def test_prefill_binds_at_low_occupancy_of_the_cache() -> None:
    """Prompts of 1,000, answers of 250 and a small budget: the pool is a sixth full, prompts are what binds."""
    cube = plan(
        "ttft: {limit: 2 s, percentile: 95}",
        "prompt_tokens: 1000, output_tokens: 250",
        deployment="kv_pool_tokens_given: 702879, max_num_seqs: 512, max_num_batched_tokens: 256",
        outputs=("default", "slo_held"),
    )
    assert str(cube.binding_constraint.values) == "prefill"
    # At most 2 s until the first token in 95 of 100, then 250 steps of at most what the slots at the edge would take.
    half = gridplan.formulas.operating_point(
        0.5 * float(cube.lambda_instance), [1.0], [1000], [1000], [250], **STEPS, token_budget=256
    )
    assert float(half.batch_mean) * 1250 / 702879 < 0.162
    without = plan("", "prompt_tokens: 1000, output_tokens: 250", deployment="max_num_batched_tokens: 256")
    assert (str(without.binding_constraint.values), str(without.lambda_basis.values)) == ("prefill", "saturation")
    assert math.isnan(without.slo_held_after_loss)


TWO = """classes: [
  {name: chat, weight: 0.9, prompt_tokens: 500, output_tokens: 300%s},
  {name: doc, weight: 0.1, prompt_tokens: 6000, output_tokens: 300%s}]"""


def test_a_limit_of_a_class_is_judged_by_its_own_requests() -> None:
    """TTFT p95 of 0.25 s: over all requests the documents may miss it half of the time; alone they cannot hold it."""
    common = "ttft: {limit: 0.25 s, percentile: 85}"
    together = plan(common, TWO % ("", ""))
    assert str(together.status.values) == "ok"
    own = plan("", TWO % (", ttft: {limit: 0.25 s, percentile: 85}", ", ttft: {limit: 2 s, percentile: 95}"))
    assert str(own.status.values) == "ok"
    tight = plan("", TWO % ("", ", ttft: {limit: 0.2 s, percentile: 85}"))
    assert str(tight.infeasible_reason.values) == "ttft_unreachable"
    assert float(tight.best_possible_s) == pytest.approx(3 * 7.02e-3 + 6000 * 35.649e-6, rel=1e-6)


def test_a_class_under_the_common_limit_is_judged_with_the_others() -> None:
    """Classes that are alike in all but their names: one limit for both is that of one class."""
    alike = "classes: [{name: a, weight: 0.5, %s}, {name: b, weight: 0.5, %s}]"
    lengths = "prompt_tokens: 2000, output_tokens: 300"
    one, two = plan(), plan(workload=alike % (lengths, lengths))
    assert float(two.lambda_instance) == pytest.approx(float(one.lambda_instance), rel=1e-9)


def test_rates_beyond_validity_carry_a_flag() -> None:
    """A TTFT limit that one overlapping prompt breaks; short answers to long prompts."""
    tight = plan("ttft: {limit: 100 ms, percentile: 95}")
    assert str(tight.capacity_flag.values) == "tight_limit"
    short = plan("ttft: {limit: 2 s, percentile: 95}", "prompt_tokens: 4000, output_tokens: 10")
    assert str(short.capacity_flag.values) == "short_output"
    assert plan().capacity_flag.values.item() is None


def test_rho_equivalent_compares_a_plan_on_means_with_percentiles() -> None:
    cube = plan(model="replica_seconds", outputs=("default", "rho_equivalent"))
    planned = 200 / float(cube.replicas_active)
    assert float(cube.rho_equivalent) == pytest.approx(planned / float(plan().lambda_instance), rel=1e-9)


def test_the_function_and_the_cube_agree() -> None:
    alone = sustained_rate([1.0], [2000], [2000], [300], **STEPS, slots=256, tpot_slo_s=0.025)
    assert float(plan().lambda_instance) == pytest.approx(float(alone.lambda_instance), rel=1e-9)


def test_the_function_takes_arrays_and_refuses_what_is_wrong() -> None:
    load = ([1.0], [2000], [2000], [300])
    found = sustained_rate(
        *load, **STEPS, tpot_slo_s=np.array([0.006, 0.02, 0.05]), ttft_slo_s=np.array([[1.0], [0.05]])
    )
    assert found.lambda_instance.shape == (2, 3)
    assert found.unreachable.tolist() == [["tpot", "", ""], ["tpot", "ttft", "ttft"]]
    with pytest.raises(ValueError, match="tpot_slo_s must be above 0"):
        sustained_rate(*load, **STEPS, tpot_slo_s=0.0)
    with pytest.raises(ValueError, match="percentile of ttft"):
        sustained_rate(*load, **STEPS, ttft_slo_s=1.0, percentiles={"ttft": 100.0})
    with pytest.raises(ValueError, match="not tpott"):
        sustained_rate(*load, **STEPS, ttft_slo_s=1.0, percentiles={"tpott": 95.0})


def test_the_opening_of_the_lesson_is_out_of_reach_by_percentiles_too() -> None:
    """500 tokens at 15.96 GB of weights and 1,550 GB/s are 5.2 s: no rate holds an E2E of 2 s."""
    path = Path(__file__).parents[2] / "grids" / "lesson-opening.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "capacity_model: littles_law, e2e_latency_s: 2.0", "capacity_model: queueing"
    )
    text = text.replace("  given_1000_tok_s: {decode_tokens_per_s: 1000, decode_tokens_at_concurrency: 4}\n", "")
    for grid in (gridplan.load_grid(path), gridplan.loads_grid(text)):
        cube = gridplan.evaluate(grid)
        first = cube.sel(scenario="first_principles") if "scenario" in cube.dims else cube
        assert set(np.ravel(first.infeasible_reason.values)) == {"e2e_unreachable"}
        assert np.round(np.ravel(first.best_possible_s.values), 1).tolist()[0] in (5.2, 5.3)


def test_a_margin_that_comes_back_is_cut_where_it_first_breaks() -> None:
    def margin(rate: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.where((rate > 2.0) & (rate < 9.5), -1.0, 1.0)

    top = np.array([10.0])
    assert largest_rate(margin, top).tolist() == [10.0]
    assert largest_rate(margin, top, SCAN) == pytest.approx([2.0], rel=1e-9)


def test_a_limit_on_gaps_binds_where_a_busier_replica_has_shorter_ones() -> None:
    """Full chunks shrink as the batch grows: ITL p95 is above 42 ms from 4 to 15 req/s, and within it near the edge."""
    steps = "step_weights_s: 0.014, step_per_context_token_s: 32e-9, prefill_per_token_s: 70e-6, max_num_seqs: 1000"
    cube = gridplan.evaluate(
        gridplan.loads_grid(f"""schema: 1
workload: {{prompt_tokens: 500, output_tokens: 300, arrival_rate: 100}}
slo: {{tpot: {{limit: 28 ms, percentile: 95}}, itl: {{limit: 42 ms, percentile: 95}}}}
deployment: {{{steps}, max_num_batched_tokens: 512}}
capacity: {{capacity_model: queueing}}
policy: {{rho_target: 1.0}}
"""),
        ["default", "slo_held", "itl_p95_s"],
    )
    assert (str(cube.binding_constraint.values), float(cube.slo_held)) == ("itl", 1.0)
    assert 2.0 < float(cube.lambda_instance) < 4.0
    assert float(cube.itl_p95_s) <= 0.042


@pytest.mark.parametrize("slo", ["ttft: {limit: 2 s, percentile: 95}, e2e: {limit: 5 s, percentile: 99}", ""])
@pytest.mark.parametrize("seqs", [5, 20])
def test_lifting_the_scheduler_gives_the_rate_without_it(slo: str, seqs: int) -> None:
    """The margin is what raising max_num_seqs really gives: longer steps come with more sequences."""
    deployment = "kv_pool_tokens_given: 702879, max_num_batched_tokens: 2048"
    capped = plan(slo, deployment=f"{deployment}, max_num_seqs: {seqs}")
    free = plan(slo, deployment=f"{deployment}, max_num_seqs: 100000")
    if str(capped.binding_constraint.values) == "scheduler":
        lifted = float(capped.lambda_instance) * (1.0 + float(capped.margin_to_next))
        assert lifted == pytest.approx(float(free.lambda_instance), rel=1e-6)
    assert str(plan(slo, deployment=f"{deployment}, max_num_seqs: 5").binding_constraint.values) == "scheduler"


def test_busy_experts_are_found() -> None:
    """Prompts beside hundreds of sequences read no expert for themselves: a rate that no idle replica could hold.

    31.5 req/s hold the limit even where every step reads all experts (49.4 ms) and half of the time is busy.
    """
    cube = gridplan.evaluate(
        gridplan.loads_grid("""schema: 1
workload: {prompt_tokens: 200, output_tokens: 100, arrival_rate: 1000}
slo: {tpot: {limit: 100 ms, percentile: 95}}
deployment:
  {model: deepseek-v3, gpu: h200-sxm, weight_dtype: fp8, tensor_parallel: 8, max_num_seqs: 1024,
   max_num_batched_tokens: 8192}
policy: {rho_target: 1.0, redundancy: 0}
axes: {capacity_model: [replica_seconds, queueing]}
""")
    )
    assert float(cube.lambda_instance.sel(capacity_model="queueing")) > 31.5
    assert cube.latency_flag.values.tolist() == [None, None]


def test_a_replica_without_work_that_grows_fills_its_slots() -> None:
    """64 slots held for 199 steps of 10 ms."""
    found = sustained_rate([1.0], [1000], [1000], [200], 0.01, 0.0, 0.0, slots=64)
    assert float(found.lambda_instance) == pytest.approx(64 / 1.99, rel=1e-9)
    assert str(found.binding_constraint) == "slots"
