"""Public planner questions about traffic and fleet; see `public_cases.py` for values and tolerances."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import xarray as xr
from public_cases import plan, verify

import gridplan
from gridplan import formulas as f

Cube = Callable[[str], xr.Dataset]
Changed = Callable[..., xr.Dataset]


# ------------------------------------------------------------------------------------------------------------ traffic


def test_c01_resident_tokens_grow_while_decoding() -> None:
    ds = plan(
        "workload: {prompt_tokens: 1000, output_tokens: 5000, arrival_rate: 1}\n"
        "deployment: {kv_pool_tokens_given: 299584}\naxes: {resident_context: [final, mean]}"
    )
    full, mean = (ds.sel(resident_context=name) for name in ("final", "mean"))
    demand = f.pool_share(128 * float(mean.resident_tokens), float(ds.kv_pool_tokens))
    verify(
        "C01",
        concurrency_full=int(full.concurrency_memory),
        concurrency_mean_resident=int(mean.concurrency_memory),
        demand_over_pool=demand,
        preemption_expected=int(mean.concurrency_memory) < 128,
    )


def test_c07_averages_and_envelope_of_classes(cube: Cube) -> None:
    ds = cube("lesson").sel(scenario="nominal")
    verify(
        "C07",
        prompt_mean=float(ds.prompt_tokens_mean),
        output_mean=float(ds.output_tokens_mean),
        total_mean=float(ds.context_tokens_mean),
        total_max=int(ds.context_tokens_max),
    )


# -------------------------------------------------------------------------------------------------------------- fleet


def test_d01_littles_law() -> None:
    ds = plan("""
workload: {arrival_rate: 5000}
deployment: {max_num_seqs: 50}
capacity: {capacity_model: littles_law, e2e_latency_s: 80 ms}
policy: {rho_target: 0.7, redundancy: 0}
""")
    verify("D01", replicas=int(ds.replicas))


def test_d03_a_ceiling_that_floats_miss() -> None:
    ds = plan("""
workload: {arrival_rate: 21}
capacity: {capacity_model: measured, lambda_instance_given: 1, applies_to: any}
policy: {rho_target: 0.7, redundancy: 0}
""")
    verify("D03", replicas=int(ds.replicas))


def test_d04_a_floor_that_floats_miss() -> None:
    ds = plan("deployment: {kv_pool_bytes_given: 1 GB, kv_efficiency: 0.6, kv_bytes_per_sequence_given: 0.05 GB}")
    verify("D04", concurrency=int(ds.concurrency_memory))


def test_d06_a_replica_wider_than_a_node() -> None:
    ds = plan("""
workload: {arrival_rate: 3}
deployment: {tensor_parallel: 8, pipeline_parallel: 2, gpus_per_node: 8}
capacity: {capacity_model: measured, lambda_instance_given: 1, applies_to: any}
""")
    assert int(ds.gpus_per_replica) == 16
    verify("D06", nodes_per_replica=int(ds.nodes) / int(ds.replicas), nodes=int(ds.nodes))


def test_a_measured_rate_needs_no_other_input() -> None:
    # D03 and D06 again: one rate, one load, nothing to scale by, so nothing else can be needed.
    ds = gridplan.evaluate(
        gridplan.loads_grid("""
schema: 1
workload: {arrival_rate: 21}
capacity: {capacity_model: measured, lambda_instance_given: 1}
policy: {rho_target: 0.7, redundancy: 0}
""")
    )
    assert int(ds.replicas) == 30
    assert ds.capacity_source.item() == "measured"


def test_d08_a_spare_gpu_is_no_spare_node(cube: Cube, changed: Changed) -> None:
    rows = {name: cube("lesson").sel(scenario=name, instance="aws-p4de") for name in ("gpu_loss", "node_loss")}
    spare_node = changed("lesson", ("failure_domain: gpu", "failure_domain: node"))
    lost = rows["node_loss"]
    verify(
        "D08",
        active=int(lost.replicas_active),
        resilient_gpu_domain=int(lost.replicas),
        nodes=int(lost.nodes),
        safe_rate_after_gpu_loss=float(rows["gpu_loss"].arrival_rate_safe_after_loss),
        safe_rate_after_node_loss=float(lost.arrival_rate_safe_after_loss),
        slo_held_after_node_loss=bool(lost.slo_held_after_loss),
        nodes_for_node_n_plus_1=int(spare_node.nodes.sel(scenario="nominal", instance="aws-p4de")),
        headroom_kept_after_node_loss=bool(lost.headroom_kept_after_loss),
    )


def test_d09_headroom_of_a_cold_start() -> None:
    headroom = f.cold_start_headroom(1 / 60, 6 * 60)
    verify("D09", headroom_rps=headroom, headroom_replicas=headroom / 7.39)


def test_d11_users_are_not_requests_in_flight() -> None:
    rate = f.users_to_rate(500, 30, 4)
    ds = plan(
        f"workload: {{arrival_rate: {rate}}}\ndeployment: {{max_num_seqs: 8}}\n"
        "capacity: {capacity_model: littles_law, e2e_latency_s: 4}"
    )
    verify("D11", rps=rate, in_flight=float(ds.in_flight))


def test_d13_prefill_binds_while_the_cache_is_nearly_empty() -> None:
    """The case states lengths and a sixth of the cache in use; an 8B model on an H100 with a small budget shows it."""
    ds = plan(
        "workload: {prompt_tokens: 1000, output_tokens: 250, arrival_rate: 40}\n"
        "slo: {ttft: {limit: 1 s, percentile: 95}}\n"
        "deployment: {model: llama-3.1-8b, gpu: h100-sxm, engine: vllm, max_num_batched_tokens: 1024}\n"
        "capacity: {capacity_model: queueing}"
    )
    used = float(ds.batch_mean) * (1000 + 250 / 2) / float(ds.kv_pool_tokens)
    assert used == pytest.approx(0.162, abs=0.01)
    verify(
        "D13",
        binding_constraint=ds.binding_constraint.item(),
        scale_down_allowed=bool((float(ds.replicas_active) - 1) * float(ds.lambda_instance) >= 40),
    )


def test_d12_the_scheduler_binds() -> None:
    ds = plan(
        "workload: {prompt_tokens: 32000, output_tokens: 768, arrival_rate: 1}\n"
        "deployment: {kv_pool_tokens_given: 1430000, max_num_seqs: 4}"
    )
    verify(
        "D12",
        c_memory=int(ds.concurrency_memory),
        concurrency=int(ds.concurrency),
        binding_constraint=ds.binding_constraint.item(),
    )


def test_e12_a_power_budget_binds_the_fleet() -> None:
    fleet = """
workload: {arrival_rate: 8}
deployment: {gpu: h100-sxm, power_w_per_gpu: 700, power_utilization: 1, pue: 1.3, usd_per_kwh: 0.12}
capacity: {capacity_model: measured, lambda_instance_given: 1, applies_to: any}
policy: {rho_target: 1, redundancy: 0, hours_per_month: 730}
"""
    power = ["facility_power_kw", "usd_energy_per_month", "gpus"]
    free = gridplan.evaluate(gridplan.loads_grid(f"schema: 1{fleet}"), power)
    assert int(free.gpus) == 8
    names = ["infeasible_reason", "fleet_constraint", "gpus_within_caps"]
    capped = fleet.replace("hours_per_month: 730", "hours_per_month: 730, power_budget_kw: 7.0")
    held = gridplan.evaluate(gridplan.loads_grid(f"schema: 1{capped}"), names)
    assert str(held.infeasible_reason.item()) == "power_exceeded"
    verify(
        "E12",
        facility_kw=float(free.facility_power_kw),
        binding_constraint=str(held.fleet_constraint.item()),
        max_gpus_in_budget=int(held.gpus_within_caps),
        monthly_energy_usd=float(free.usd_energy_per_month),
    )
