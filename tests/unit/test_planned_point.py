"""Latencies at the planned point: the same as the formulas give, read from curves or not, simulated where asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridplan
from gridplan.engine.columns import plan_columns
from gridplan.engine.evaluate import arrays_of
from gridplan.engine.inputs import build_inputs
from gridplan.formulas import operating_point, tpot_at_concurrency

CHAINS = Path(__file__).parents[2] / "grids" / "chains-70b.yaml"
MILLI, MICRO = 1e-3, 1e-6

SHORT = """
schema: 1
name: short
workload: {prompt_tokens: 2048, output_tokens: 28, arrival_rate: 40}
slo: {ttft: {limit: 1 s, percentile: 95}, e2e: {limit: 3 s, percentile: 99}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b}
capacity: {capacity_model: replica_seconds}
policy: {redundancy: 1, rho_target: 0.5}
axes: {kv_dtype: [bf16, fp8]}
"""
"""Long prompts with short answers, as in the code trace of Azure (2,048 in, 28 out)."""

SWEEP = """
schema: 1
name: sweep
workload: {output_tokens: 256}
slo: {tpot: {limit: 60 ms, percentile: 95}}
deployment: {gpu: h100-sxm}
capacity: {capacity_model: replica_seconds}
policy: {redundancy: 1, rho_target: 0.9}
axes:
  model: [llama-3.1-8b, qwen3-30b-a3b]
  context_tokens: [1024, 16384]
  arrival_rate: {geomspace: [0.5, 300, 400]}
"""


def chains(text: str = "") -> Any:
    """The published example with latencies as requests see them."""
    stated = CHAINS.read_text(encoding="utf-8").replace("flop_params: total", f"flop_params: total{text}")
    return gridplan.loads_grid(stated.replace("capacity: {", "capacity: {latency_model: queueing, "))


def arrays(grid: Any, outputs: list[str], **changes: bool) -> dict[str, np.ndarray]:
    inputs = replace(build_inputs(grid), **changes)
    return arrays_of(inputs, plan_columns(inputs, outputs))


def test_the_planned_point_is_the_operating_point_at_the_rate_of_a_replica() -> None:
    names = [
        "tpot_s",
        "ttft_s",
        "e2e_s",
        "batch_mean",
        "decode_s",
        "ttft_p95_s",
        "tpot_p95_s",
        "e2e_p99_s",
        "itl_p95_s",
    ]
    cube = gridplan.evaluate(chains(), names)
    # Step times of the text "Inference system design chains": 7.020 ms, 32.60 ns, 35.649 us; 200 requests/s on 34.
    step, context, prompt = 70.55e9 / 4 / (3.35e12 * 0.75), 81920 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)
    point = operating_point(200 / 34, [1.0], [2000], [2000], [300], step, context, prompt, token_budget=8192, slots=256)
    assert float(cube.tpot_s) == pytest.approx(float(point.tpot_mean_s), rel=1e-9)
    assert float(cube.ttft_s) == pytest.approx(float(point.ttft_s), rel=1e-9)
    assert float(cube.e2e_s) == pytest.approx(float(point.e2e_s), rel=1e-9)
    assert float(cube.batch_mean) == pytest.approx(float(point.batch_mean), rel=1e-9)
    for name, quantile in (("ttft_p95_s", point.ttft_quantile), ("tpot_p95_s", point.tpot_quantile)):
        assert float(cube[name]) == pytest.approx(float(quantile(0.95)), rel=1e-9)
    assert float(cube.e2e_p99_s) == pytest.approx(float(point.e2e_quantile(0.99)), rel=1e-9)
    assert float(cube.itl_p95_s) == pytest.approx(float(point.itl_quantile(0.95)), rel=1e-9)


def test_counting_parameters_as_the_texts_do_takes_their_law_of_latency() -> None:
    cube = gridplan.evaluate(gridplan.load_grid(CHAINS), ["tpot_s", "batch_mean"])
    assert float(cube.tpot_s) == pytest.approx(15.36 * MILLI, abs=5 * MICRO)
    assert float(cube.batch_mean) == pytest.approx(27.1, abs=0.05)
    # A request sees more than the mean step: at this load about 5%, as the step-by-step simulation has it.
    assert 1.03 < float(gridplan.evaluate(chains(), ["tpot_s"]).tpot_s / cube.tpot_s) < 1.07


CURVED = ["tpot_s", "ttft_s", "e2e_s", "ttft_p95_s", "tpot_at_slo_percentile_s", "itl_p95_s", "e2e_one_fewer_s"]


@pytest.mark.parametrize("name", [*CURVED, "goodput"])
def test_reading_a_curve_is_within_half_a_percent_of_the_formula(name: str) -> None:
    grid = gridplan.loads_grid(SWEEP)
    assert build_inputs(grid).curves
    read, direct = (arrays(grid, [name], curves=curves)[name] for curves in (True, False))
    assert np.array_equal(np.isnan(read), np.isnan(direct))
    off = np.abs(read / direct - 1)[~np.isnan(direct)]
    assert off.size > 200
    assert np.quantile(off, 0.99) < 0.005
    assert off.max() < 0.04  # beside a jump of a percentile


def test_curves_flag_the_same_cells_as_the_formula() -> None:
    grid = gridplan.loads_grid(SWEEP.replace("output_tokens: 256", "output_tokens: 48"))
    read, direct = (arrays(grid, ["latency_flag"], curves=curves)["latency_flag"] for curves in (True, False))
    assert np.array_equal(read, direct)
    assert len(np.unique(direct)) > 1


def test_few_rates_are_computed_in_each_cell() -> None:
    assert not build_inputs(gridplan.loads_grid(SWEEP.replace("300, 400", "300, 20"))).curves


def test_a_cell_explained_alone_has_the_numbers_of_its_cube() -> None:
    grid = gridplan.loads_grid(SWEEP)
    rate = grid.axes[2].labels[300]
    labels = {"model": "llama-3.1-8b", "context_tokens": 1024, "arrival_rate": rate}
    told = gridplan.explain(grid, **labels).to_dict()["values"]
    cell = gridplan.evaluate(grid, ["tpot_s", "ttft_s"]).sel(labels)
    assert told["tpot_s"] == pytest.approx(float(cell.tpot_s), rel=1e-12)
    assert told["ttft_s"] == pytest.approx(float(cell.ttft_s), rel=1e-12)


def test_percentiles_are_computed_on_request_only() -> None:
    cube = gridplan.evaluate(chains())
    assert {"ttft_s", "tpot_s", "e2e_s", "latency_flag"} <= set(cube)
    assert "ttft_p95_s" not in cube
    both = gridplan.evaluate(chains(), ["default", "ttft_p95_s"])
    assert set(both) == {*cube, "ttft_p95_s"}


def test_after_a_loss_the_replicas_left_share_the_peak() -> None:
    text = CHAINS.read_text(encoding="utf-8").replace("redundancy: 0", "redundancy: 2, failure_domain: node")
    text = text.replace("capacity: {", "capacity: {latency_model: queueing, ")
    grid = gridplan.loads_grid(text.replace("deployment:", "deployment:\n  gpus_per_node: 8", 1))
    names = ["replicas_active", "replicas_deployed", "tpot_s", "tpot_after_loss_s", "tpot_domain_lost_s"]
    names += ["tpot_one_fewer_s", "slo_held_domain_lost", "goodput_one_fewer"]
    cube = gridplan.evaluate(grid, names)
    # 34 active and two nodes of two replicas spare: 38; the loss of one node leaves 36 of them for 200 requests/s.
    assert (float(cube.replicas_active), float(cube.replicas_deployed)) == (34, 38)
    step, context, prompt = 70.55e9 / 4 / (3.35e12 * 0.75), 81920 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)

    def tpot(replicas: int) -> float:
        point = operating_point(
            200 / replicas, [1.0], [2000], [2000], [300], step, context, prompt, token_budget=8192, slots=256
        )
        return float(point.tpot_mean_s)

    # Nothing is stated as lost: all that are deployed share the peak.
    assert float(cube.tpot_after_loss_s) == pytest.approx(tpot(38), rel=1e-9)
    assert float(cube.tpot_domain_lost_s) == pytest.approx(tpot(36), rel=1e-9)
    assert float(cube.tpot_one_fewer_s) == pytest.approx(tpot(33), rel=1e-9)
    assert float(cube.tpot_domain_lost_s) < float(cube.tpot_s) < float(cube.tpot_one_fewer_s)
    assert (float(cube.slo_held_domain_lost), float(cube.goodput_one_fewer)) == (1.0, pytest.approx(1.0, abs=1e-6))
    stated = gridplan.loads_grid(grid.text.replace("policy: {", "policy: {lost_units: 2, lost_domain: node, "))
    lost = gridplan.evaluate(stated, ["tpot_after_loss_s", "tpot_domain_lost_s"])
    assert float(lost.tpot_after_loss_s) == pytest.approx(tpot(34), rel=1e-9)
    assert float(lost.tpot_domain_lost_s) == pytest.approx(tpot(36), rel=1e-9)


def test_goodput_holds_each_class_to_its_own_limits() -> None:
    text = """
schema: 1
name: goodput
workload:
  arrival_rate: 40
  classes:
    - {name: chat, weight: 0.7, prompt_tokens: 500, output_tokens: 200, ttft: {limit: 150 ms, percentile: 95}}
    - {name: report, weight: 0.3, prompt_tokens: 4000, output_tokens: 400, ttft: {limit: 2 s, percentile: 95}}
slo: {tpot: {limit: 40 ms, percentile: 95}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, max_num_batched_tokens: 4096, max_num_seqs: 200}
capacity:
  {capacity_model: replica_seconds, step_weights_s: 8 ms, step_per_context_token_s: 50 ns, prefill_per_token_s: 20 us}
policy: {redundancy: 0, rho_target: 0.6}
"""
    text = text.replace("slo: {", "slo: {goodput: 0.9, ")
    names = ["goodput", "goodput_bound", "replicas_active", "slo_held", "goodput_held"]
    cube = gridplan.evaluate(gridplan.loads_grid(text), names)
    point = operating_point(
        40 / float(cube.replicas_active),
        *([0.7, 0.3], [500, 4000], [500, 4000], [200, 400]),
        *(0.008, 50e-9, 20e-6),
        token_budget=4096,
        slots=200,
    )
    bound, estimate = point.goodput(ttft_slo_s=[0.150, 2.0], tpot_slo_s=0.040)
    assert float(cube.goodput_bound) == pytest.approx(float(bound), rel=1e-6)
    assert float(cube.goodput) == pytest.approx(float(estimate), rel=1e-6)
    assert float(cube.goodput) < 0.999
    ttft, tpot, *_ = point.met_shares(ttft_slo_s=[0.150, 2.0], tpot_slo_s=0.040)
    assert float(cube.slo_held) == bool((ttft >= 0.95).all() and (tpot >= 0.95).all())
    assert float(cube.goodput_held) == (float(estimate) >= 0.9)


def test_a_limit_of_one_class_fails_alone() -> None:
    text = chains_with("ttft: {limit: 500 ms, percentile: 95}")
    held = gridplan.evaluate(gridplan.loads_grid(text), ["slo_held", "ttft_p95_s"])
    assert (float(held.slo_held), float(held.ttft_p95_s) <= 0.5) == (1.0, True)
    tight = gridplan.evaluate(gridplan.loads_grid(text.replace("500 ms", "200 ms")), ["slo_held", "ttft_p95_s"])
    assert (float(tight.slo_held), float(tight.ttft_p95_s) <= 0.2) == (0.0, False)


def chains_with(limit: str) -> str:
    """The published example with one more limit."""
    text = CHAINS.read_text(encoding="utf-8").replace("slo: {", f"slo: {{{limit}, ")
    return text.replace("capacity: {", "capacity: {latency_model: queueing, ")


def test_short_answers_to_long_prompts_carry_no_number_unless_simulated() -> None:
    names = [
        "tpot_s",
        "ttft_s",
        "e2e_s",
        "ttft_p95_s",
        "itl_p95_s",
        "goodput",
        "slo_held",
        "latency_flag",
        "latency_source",
    ]
    grid = gridplan.loads_grid(SHORT)
    bare = gridplan.evaluate(grid, names)
    assert set(bare.latency_flag.values.ravel()) == {"short_output"}
    assert all(bool(bare[name].isnull().all()) for name in names[:7])
    assert set(bare.latency_source.values.ravel()) == {None}
    filled = gridplan.evaluate(grid, [*names, "simulation_error", "batch_mean"], simulate=True)
    assert set(filled.latency_source.values.ravel()) == {"simulated"}
    assert bool((filled.simulation_error < 0.05).all())
    assert bool((filled.ttft_p95_s > filled.ttft_s).all())
    assert bool((filled.e2e_s > filled.ttft_s).all())
    assert float(filled.goodput.min()) > 0.99
    assert filled.slo_held.values.ravel().tolist() == [1.0, 1.0]


def test_a_simulated_cell_does_not_depend_on_its_neighbours() -> None:
    grid = gridplan.loads_grid(SHORT)
    alone = gridplan.loads_grid(SHORT.replace("[bf16, fp8]", "[fp8]"))
    together = gridplan.evaluate(grid, ["ttft_s"], simulate=True).ttft_s.sel(kv_dtype="fp8")
    assert float(gridplan.evaluate(alone, ["ttft_s"], simulate=True).ttft_s.squeeze()) == float(together)


def test_too_many_simulations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.engine.simulations.MAX_SIMULATIONS", 1)
    with pytest.raises(gridplan.ContractError, match="2 cells would be simulated, more than 1"):
        gridplan.evaluate(gridplan.loads_grid(SHORT), simulate=True)


def test_constants_bound_the_latencies() -> None:
    text = SWEEP.replace("{geomspace: [0.5, 300, 400]}", "[20]") + "  step_constants: [low, best, high]\n"
    cube = gridplan.evaluate(gridplan.loads_grid(text), ["tpot_s", "ttft_s", "replicas"])
    short = cube.sel(context_tokens=1024, arrival_rate=20)
    assert bool((short.replicas.diff("step_constants") >= 0).all())
    same = short.sel(model="llama-3.1-8b")
    assert float(same.tpot_s.sel(step_constants="low")) < float(same.tpot_s.sel(step_constants="high"))


def test_a_benchmark_at_a_fixed_concurrency() -> None:
    text = CHAINS.read_text(encoding="utf-8").replace("capacity: {", "capacity: {closed_loop_concurrency: 32, ")
    names = ["closed_loop_tpot_s", "closed_loop_ttft_s", "closed_loop_output_tokens_per_s"]
    cube = gridplan.evaluate(gridplan.loads_grid(text), names)
    step, context, prompt = 70.55e9 / 4 / (3.35e12 * 0.75), 81920 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)
    loop = tpot_at_concurrency(32, [1.0], [2000], [2000], [300], step, context, prompt, token_budget=8192, slots=256)
    assert float(cube.closed_loop_tpot_s) == pytest.approx(float(loop.tpot_mean_s), rel=1e-9)
    assert float(cube.closed_loop_ttft_s) == pytest.approx(float(loop.ttft_s), rel=1e-9)
    assert float(cube.closed_loop_output_tokens_per_s) == pytest.approx(float(loop.output_tokens_per_s), rel=1e-9)
    assert bool(gridplan.evaluate(gridplan.load_grid(CHAINS), names)[names[0]].isnull())


def test_a_batch_near_the_ridge_is_said(tmp_path: Path) -> None:
    # 200 short requests on one GPU: FLOPs matter beside bytes.
    text = """
schema: 1
name: ridge
workload: {prompt_tokens: 32, output_tokens: 512, arrival_rate: 400}
slo: {tpot: {limit: 200 ms, percentile: mean}}
deployment: {gpu: h100-sxm, model: llama-3.1-8b, max_num_seqs: 1024, compute_ceiling_model: weights_only}
capacity: {capacity_model: replica_seconds}
policy: {redundancy: 0, rho_target: 0.9}
"""
    result = gridplan.run(gridplan.loads_grid(text), tmp_path / "cube", outputs=["default", "ridge_share"])
    share = float(gridplan.open_cube(tmp_path / "cube").ridge_share)
    assert (share > 0.5) == any("half of concurrency_compute" in text for text in result.warnings)
    assert share > 0.5
