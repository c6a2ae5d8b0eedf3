"""The model on one page: ordered formula calls, top to bottom, nothing else.

`STEPS` is the whole plan. Each line names what it makes and the function that makes it; the function's parameters name
what it reads. The first half (memory, step times, capacity) never sees the arrival rate or the utilisation target; one
number, `lambda_instance`, joins it to the second half (fleet, nodes, cost).
"""

from __future__ import annotations

import numpy as np

from gridplan.chain import capacity, cost, feasibility, fleet, kv, limits, memory, workload
from gridplan.chain import step as steps
from gridplan.chain.codes import LIMITS, NULL
from gridplan.chain.graph import Array, Step, evaluate, needed, propagate, step
from gridplan.chain.kernels import kernels

__all__ = ["LIMITS", "NULL", "STEPS", "Array", "Step", "evaluate", "needed", "propagate", "steps_for"]


def _status_code(infeasible_reason_code: Array, lambda_instance: Array) -> Array:
    """0 ok, 1 infeasible."""
    return np.where((infeasible_reason_code == NULL) & ~np.isnan(lambda_instance), 0, 1)


STEPS: tuple[Step, ...] = (
    # workload
    step("prompt_tokens_mean", kernels.prompt_tokens_mean),
    step("output_tokens_mean", kernels.output_tokens_mean),
    step("context_tokens_mean", kernels.context_tokens_mean),
    step("context_tokens_max", kernels.context_tokens_max),
    step("prompt_tokens_max", kernels.prompt_tokens_max),
    step("resident_tokens", workload.resident_tokens),
    step("step_context_tokens", workload.step_context_tokens),
    step("resident_tokens_final", kernels.resident_tokens_final),
    step("resident_tokens_mean", kernels.resident_tokens_mean),
    step("resident_tokens_residence", kernels.resident_tokens_residence_weighted),
    # memory
    step("gpus_per_replica", fleet.gpus_per_replica),
    step("weights_rank_ratio", memory.weights_rank_ratio),
    step("weights_bytes_per_gpu", kernels.weights_bytes_per_gpu, weights_rank_ratio="weights_rank_ratio"),
    step("usable_memory_bytes_per_gpu", kernels.usable_memory_bytes),
    *(
        step(f"{name}_bytes_per_gpu", memory.as_it_is, value=f"{name}_bytes")
        for name in (
            *("non_torch", "activation", "cuda_graphs", "lora", "draft_weights", "multimodal", "reserve"),
            "workspace",
        )
    ),
    step("longest_tokens", memory.longest_tokens),
    step(
        "kv_bytes_per_token",
        kv.bytes_per_token,
        rows="kv_rows_model",
        uniform="kv_uniform_model",
        tokens="longest_tokens",
    ),
    step(
        "kv_bytes_per_token_per_gpu",
        kv.bytes_per_token,
        rows="kv_rows_rank",
        uniform="kv_uniform",
        tokens="longest_tokens",
    ),
    step(
        "kv_read_bytes_per_token",
        kv.read_bytes_per_token,
        rows="kv_rows_read_model",
        per_token="kv_bytes_per_token",
        uniform="kv_uniform_model",
    ),
    step(
        "kv_read_bytes_per_token_per_gpu",
        kv.read_bytes_per_token,
        rows="kv_rows_read",
        per_token="kv_bytes_per_token_per_gpu",
        uniform="kv_uniform",
    ),
    step("kv_pool_bytes_raw", memory.kv_pool_bytes_raw),
    step("kv_pool_bytes_per_gpu", memory.kv_pool_bytes_per_gpu),
    step("memory_shortfall_bytes_per_gpu", kernels.memory_shortfall_bytes_per_gpu),
    step("memory_magnitude_bytes", memory.memory_magnitude_bytes),
    step("kv_pool_usable_bytes", kv.kv_pool_usable_bytes),
    step("kv_charge_longest_bytes", kv.charge_longest_bytes),
    step("concurrency_at_limit", kv.concurrency_at_limit),
    step("kv_pool_tokens", kv.kv_pool_tokens),
    step(
        "kv_model_charge_final kv_model_charge_mean kv_model_charge_residence kv_model_charge_max",
        kv.charges,
        rows="kv_rows_model",
        held_rows="kv_rows_held_model",
    ),
    step("kv_bytes_per_sequence", kv.kv_bytes_per_sequence),
    step(
        "kv_charge_final kv_charge_mean kv_charge_residence kv_charge_max",
        kv.charges,
        rows="kv_rows_rank",
        held_rows="kv_rows_held",
    ),
    step("kv_bytes_per_sequence_per_gpu", kv.kv_bytes_per_sequence_per_gpu),
    step("concurrency_memory", kv.concurrency_memory, charge="kv_bytes_per_sequence_per_gpu"),
    *(
        step(
            f"concurrency_memory_{name}",
            kv.concurrency_memory,
            charge=f"kv_charge_{charge}",
            resident_tokens=f"resident_tokens_{charge}",
            kv_bytes_per_sequence_given="nothing",
        )
        for name, charge in (("expected", "final"), ("mean", "mean"), ("residence", "residence"))
    ),
    step("concurrency_memory_worst", kv.concurrency_memory_worst),
    # times of a step
    step("machine_intensity_used", steps.machine_intensity),
    step("flop_params_count", steps.flop_params_count),
    step("step_weights_read_s", steps.step_weights_read_s),
    step("kv_read_per_context_token_s", steps.kv_read_per_context_token_s),
    step("kv_read_per_sequence_s", steps.kv_read_per_sequence_s),
    step("prefill_compute_per_token_s", steps.prefill_compute_per_token_s),
    step("prefill_longest_raw_s", steps.prefill_longest_s),
    step(
        "prefill_longest_raw_flop",
        kernels.prefill_flop,
        flop_params="flop_params_count",
        prompt_tokens="prompt_tokens_max",
    ),
    step("prefill_work_s", kernels.prefill_work_s, prefill_per_token_s="prefill_compute_per_token_s"),
    step("prefill_latency_s", steps.prefill_latency_s),
    step(
        "decode_work_s",
        kernels.decode_work_s,
        step_per_context_token_s="kv_read_per_context_token_s",
        step_per_sequence_s="step_per_sequence_s",
    ),
    step("request_work_s", steps.request_work_s),
    # capacity of one replica
    step("concurrency_scheduler", capacity.concurrency_scheduler),
    step("concurrency_compute_raw", steps.concurrency_compute),
    step("concurrency_slo_raw concurrency_slo_which", capacity.concurrency_slo),
    step("concurrency_slo_given_rate", capacity.concurrency_slo_given_rate),
    step("concurrency_lowest concurrency_compute concurrency_slo", capacity.concurrency_candidates),
    step("tpot_share_raw", kernels.tpot_share, step_weights_s="step_weights_read_s"),
    step("e2e_limit_s", capacity.e2e_limit_s),
    step(
        "lambda_analytical_ungated",
        capacity.lambda_analytical,
        tpot_share="tpot_share_raw",
        e2e_slo_s="e2e_limit_s",
    ),
    step("latency_given_s", capacity.latency_given_s),
    step("infeasible_reason_code", feasibility.infeasible_reason_code, lambda_analytical="lambda_analytical_ungated"),
    step("tpot_share", feasibility.where_reachable, value="tpot_share_raw"),
    step("prefill_longest_s", feasibility.where_feasible, value="prefill_longest_raw_s"),
    step("prefill_longest_flop", feasibility.where_feasible, value="prefill_longest_raw_flop"),
    step("lambda_analytical", feasibility.where_feasible, value="lambda_analytical_ungated"),
    step("concurrency", feasibility.where_feasible, value="concurrency_lowest"),
    step("lambda_instance capacity_source_code", capacity.lambda_instance),
    step("limit_rates", limits.limit_rates, tpot_share="tpot_share_raw", e2e_slo_s="e2e_limit_s"),
    step("binding_constraint_code binding_ties_code binding_next_code margin_to_next", limits.binding),
    step("anchor_ratio", capacity.anchor_ratio),
    step("lambda_basis_code", limits.lambda_basis_code),
    step("slo_basis_code", limits.slo_basis_code),
    step("slots_basis", limits.is_slots),
    step("status_code", _status_code),
    step("decode_batch_quoted", steps.decode_batch_quoted),
    step("decode_context_quoted", steps.decode_context_quoted),
    step(
        "decode_step_s",
        kernels.decode_step_s,
        step_weights_s="step_weights_read_s",
        step_per_context_token_s="kv_read_per_context_token_s",
        decode_batch="decode_batch_quoted",
        decode_context_tokens="decode_context_quoted",
        step_per_sequence_s="step_per_sequence_s",
    ),
    step(
        "decode_bytes",
        kernels.decode_bytes,
        decode_batch="decode_batch_quoted",
        decode_context_tokens="decode_context_quoted",
        kv_bytes_per_token="kv_read_bytes_per_token",
    ),
    # fleet
    step("lambda_safe", kernels.lambda_safe),
    step("replicas_fractional", fleet.replicas_fractional),
    step("replicas_active", fleet.replicas_active),
    step("node_replicas", kernels.replicas_per_node),
    step("replica_nodes", kernels.nodes_per_replica),
    step("replicas", kernels.replicas, replicas_per_node="node_replicas"),
    step("gpus", fleet.gpus),
    step("nodes", fleet.nodes),
    step("replicas_deployed", fleet.replicas_deployed),
    step("gpus_deployed", fleet.gpus_deployed),
    step("gpus_stranded", fleet.gpus_stranded),
    step("fleet_sufficient", fleet.fleet_sufficient),
    step("capacity_active", fleet.carried, replicas_count="replicas_active", rate="lambda_instance"),
    step("utilization_peak", fleet.utilization, capacity="capacity_active"),
    step("burst_to_slo", fleet.burst_to_slo),
    step("capacity_deployed", fleet.carried, replicas_count="replicas_deployed", rate="lambda_instance"),
    step("utilization_deployed", fleet.utilization, capacity="capacity_deployed"),
    step("arrival_rate_safe_deployed", fleet.carried, replicas_count="replicas_deployed", rate="lambda_safe"),
    step("utilization_deployed_safe", fleet.utilization, capacity="arrival_rate_safe_deployed"),
    step("replicas_after_loss", fleet.replicas_after_loss),
    step("arrival_rate_safe_after_loss", fleet.carried, replicas_count="replicas_after_loss", rate="lambda_safe"),
    step("headroom_kept_after_loss", fleet.headroom_kept_after_loss),
    step("slo_held_after_loss", fleet.slo_held_after_loss),
    step("arrival_rate_next_step", fleet.arrival_rate_next_step),
    # the planned point
    step("planned_rate_per_replica", fleet.planned_rate_per_replica),
    step("busy", fleet.busy),
    step("tpot_s", fleet.tpot_s),
    step("output_tokens_per_s_replica", fleet.output_tokens_per_s_replica),
    step("batch_mean", fleet.batch_mean),
    step("prefill_demand", fleet.demand, work_s="prefill_work_s"),
    step("decode_demand", fleet.demand, work_s="decode_work_s"),
    step("e2e_latency_used_s", capacity.e2e_latency_used_s),
    step("in_flight", kernels.little_in_flight, e2e_latency_s="e2e_latency_used_s"),
    # cost
    step("arrival_rate_average", kernels.arrival_rate_average),
    step("requests_per_month", kernels.requests_per_month),
    step("output_tokens_per_month", kernels.tokens_per_month, tokens_mean="output_tokens_mean"),
    step("usd_per_gpu_hour_used", cost.usd_per_gpu_hour_used),
    step("usd_per_hour", cost.usd_per_hour),
    step("usd_per_day", cost.usd_per_day),
    step("usd_per_month", kernels.usd_per_month),
    step("usd_per_request", kernels.usd_per_request),
    step("usd_per_mtok_output", cost.usd_per_mtok, tokens_mean="output_tokens_mean"),
    step("usd_per_mtok_input", cost.usd_per_mtok, tokens_mean="prompt_tokens_mean"),
    step("usd_per_mtok_total", cost.usd_per_mtok, tokens_mean="context_tokens_mean"),
    step("usd_per_mtok_prefill_full", cost.usd_per_mtok_full, seconds_per_token="prefill_compute_per_token_s"),
    step("usd_per_mtok_decode_full", cost.usd_per_mtok_decode_full),
)

_UNIFORM: dict[str, Step] = {
    item.outputs[0]: item
    for item in (
        step("kv_bytes_per_token", memory.as_it_is, value="kv_any_token_model_bytes"),
        step("kv_bytes_per_token_per_gpu", memory.as_it_is, value="kv_any_token_bytes"),
        step("kv_read_bytes_per_token", memory.as_it_is, value="kv_bytes_per_token"),
        step("kv_read_bytes_per_token_per_gpu", memory.as_it_is, value="kv_bytes_per_token_per_gpu"),
        step("kv_pool_tokens", kv.kv_pool_tokens_in_blocks),
    )
}
"""The same where every token costs the same: these depend on no length then, so they carry no such dimension."""


def steps_for(uniform: bool) -> tuple[Step, ...]:
    """The plan for a cube in which every model charges every token alike (`uniform`), or in which some do not."""
    return tuple(_UNIFORM.get(item.outputs[0], item) for item in STEPS) if uniform else STEPS
