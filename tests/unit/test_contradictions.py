"""What contradicts itself is refused, and what cannot be is infeasible with a reason: never a number."""

from __future__ import annotations

import math

import pytest
import xarray as xr

import gridplan

BASE = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: {rate}, peak_to_average: 2}}
slo: {{tpot_slo_s: 0.05}}
deployment: {{model: llama-3.3-70b, gpu: h100-sxm, weight_dtype: fp8, tensor_parallel: 4, {more}}}
policy: {{rho_target: 0.65}}
{rest}
"""


def plan(more: str = "", rest: str = "", rate: float = 20) -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(BASE.format(more=more, rest=rest, rate=rate)))


@pytest.mark.parametrize(
    ("more", "rest", "said"),
    [
        ("kv_pool_bytes_given: 1 GB, kv_pool_tokens_given: 5e5", "", "are two pools"),
        ("usd_per_gpu_hour: 2, usd_per_node_hour: 40, gpus_per_node: 8", "", "are two prices"),
        ("flop_params: matmul, params_embedding: 1e12", "", "leaves nothing to multiply"),
        ("e2e_latency_basis: slo", "", "there is none"),
        ("", "scenarios: {s: {gpus_per_node: {multiply: 2}}}", "contradicts the instance"),
        ("", "scenarios: {s: {max_num_seqs: {multiply: 1.3}}}", "must be a whole number"),
        ("weights_bytes: 70 GB", "scenarios: {s: {weight_dtype: bf16}}", "write it {by: weight_dtype"),
        ("kv_bytes_per_token_given: 1000", "axes: {kv_dtype: [bf16, fp8]}", "write it {by: kv_dtype"),
    ],
)
def test_a_contradiction_is_one_clear_error(more: str, rest: str, said: str) -> None:
    with pytest.raises(gridplan.ContractError) as caught:
        plan(more, rest)
    assert said in str(caught.value)


def test_more_dimensions_than_numpy_broadcasts_are_refused() -> None:
    names = ("mbu", "mfu", "kv_efficiency", "gpu_memory_utilization", "hours_per_month", "redundancy", "zones")
    names += ("kv_block_tokens", "pipeline_parallel", "data_parallel", "max_num_seqs", "max_num_batched_tokens")
    names += ("lost_units", "prefix_hit_ratio", "step_per_sequence_s", "max_model_len", "workspace_bytes")
    names += ("ttft_slo_s", "e2e_slo_s", "peak_flops", "machine_intensity", "memory_bandwidth_bytes_per_s")
    names += ("gpu_memory_bytes", "weights_bytes", "weights_read_bytes", "params_total", "params_active")
    names += ("params_embedding", "decode_batch", "decode_context_tokens", "kv_bytes_per_sequence_given")
    axes = ", ".join(
        f"{name}: [0.5]" if name.startswith(("mb", "mf", "kv_e", "gpu_memory_u")) else f"{name}: [1]" for name in names
    )
    axes = axes.replace("prefix_hit_ratio: [1]", "prefix_hit_ratio: [0]")
    with pytest.raises(gridplan.ContractError, match="31 dimensions are more than 30"):
        plan("", f"axes: {{{axes}}}")


def test_a_sequence_lies_in_the_pool_of_one_attention_rank() -> None:
    """L4 with 8 ranks: each holds an eighth of the tokens, fewer than the longest request needs."""
    text = """
schema: 1
workload:
  arrival_rate: 1
  classes:
    - {name: short, weight: 0.95, prompt_tokens: 500, output_tokens: 100}
    - {name: long, weight: 0.05, prompt_tokens: 120000, output_tokens: 100}
deployment: {model: llama-3.1-8b, gpu: l4, data_parallel: 8}
policy: {rho_target: 0.65}
"""
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    assert cube["kv_pool_tokens"] / 8 < 120_100 < cube["kv_pool_tokens"]
    assert cube["concurrency_memory_worst"] == 0
    assert cube["infeasible_reason"] == "sequence_exceeds_pool"


def test_a_pipeline_longer_than_the_model_is_illegal() -> None:
    assert plan("pipeline_parallel: 81")["infeasible_reason"] == "pipeline_parallel_illegal"


def test_a_lone_sequence_runs_also_where_flops_bind_it() -> None:
    cube = plan("compute_ceiling_model: weights_only, machine_intensity: 1")
    assert cube["concurrency_compute"] == 0.5
    assert (cube["status"], cube["concurrency"]) == ("ok", 1)


def test_a_fleet_already_bought_is_billed_whole() -> None:
    cube = plan("nodes_given: 50, gpus_per_node: 8, usd_per_gpu_hour: 2")
    assert (cube["gpus_deployed"], cube["usd_per_hour"]) == (400, 800)


def test_a_price_of_a_gpu_is_the_price_in_its_scenario() -> None:
    cube = plan("usd_per_node_hour: 30, gpus_per_node: 8", "scenarios: {s: {usd_per_gpu_hour: 2}}")
    nominal, other = cube.sel(scenario="nominal"), cube.sel(scenario="s")
    assert nominal["usd_per_hour"] == nominal["nodes"] * 30
    assert other["usd_per_hour"] == other["gpus"] * 2
    assert cube["priced_by"].values.tolist() == ["usd_per_node_hour", "usd_per_gpu_hour"]


def test_a_measured_decode_throughput_replaces_the_e2e_gate_here_too() -> None:
    """The opening example: 1,000 tok/s given, 500 tokens in 2 s allow a batch of 4."""
    text = """
schema: 1
workload: {prompt_tokens: 500, output_tokens: 500, arrival_rate: 50}
slo: {e2e_slo_s: 2.0}
deployment: {model: llama-3-8b, gpu: a100-sxm-80gb, decode_tokens_per_s: 1000, decode_tokens_at_concurrency: 4}
policy: {rho_target: 0.7}
"""
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    assert (cube["status"], cube["concurrency_slo"], cube["binding_constraint"]) == ("ok", 4, "e2e")


def test_a_percentile_is_a_setting_of_a_measurement() -> None:
    stated = "capacity_model: measured, lambda_instance_given: 6.5, tpot_slo_percentile: 95"
    cube = plan(stated, "scenarios: {s: {tpot_slo_percentile: 99}}")
    assert cube["capacity_source"].values.tolist() == ["measured", "scaled"]


def test_every_cube_names_its_scenario() -> None:
    assert plan()["scenario"].item() == "nominal"


@pytest.mark.parametrize("wrong", [None, "grid.yaml", {}])
def test_what_is_no_grid_is_a_type_error(wrong: object) -> None:
    for function in (gridplan.evaluate, gridplan.explain):
        with pytest.raises(TypeError, match="from gridplan"):
            function(wrong)
    with pytest.raises(TypeError, match="from gridplan"):
        gridplan.run(wrong, "nowhere")


def test_an_axis_may_be_named_like_a_parameter() -> None:
    with pytest.raises(gridplan.ContractError, match="grid is not an axis"):
        gridplan.explain(gridplan.loads_grid(BASE.format(more="", rest="", rate=20)), grid=1)


def test_work_that_takes_no_time_has_no_rate() -> None:
    nothing = "step_weights_s: 0, step_per_context_token_s: 0, prefill_per_token_s: 0, kv_pool_tokens_given: 1e5"
    cube = plan(nothing)
    assert not any(math.isinf(float(value)) for value in cube.data_vars.values() if value.dtype != object)
