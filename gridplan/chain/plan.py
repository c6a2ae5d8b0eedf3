"""The model on one page: ordered formula calls, top to bottom, nothing else.

`STEPS` is the whole plan. Each line names what it makes and the function that makes it; the function's parameters name
what it reads. The first half (memory, step times, capacity) never sees the arrival rate or the utilisation target; one
number, `lambda_instance`, joins it to the second half (fleet, nodes, cost).
"""

from __future__ import annotations

import numpy as np

from gridplan.chain import (
    capacity,
    closed,
    cost,
    feasibility,
    fleet,
    kv,
    limits,
    memory,
    planned,
    prefill,
    queueing,
    redundancy,
    survival,
    workload,
)
from gridplan.chain import step as steps
from gridplan.chain.api import API
from gridplan.chain.bill import BILL
from gridplan.chain.caps import CAPS
from gridplan.chain.codes import NULL
from gridplan.chain.energy import ENERGY
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.latency import latency_steps
from gridplan.chain.portfolio import PORTFOLIO
from gridplan.chain.purchase import PRICES
from gridplan.chain.replica import REPLICA
from gridplan.chain.routing import gain_interval
from gridplan.chain.spot import HOURLY_BILL, WITHOUT_SPOT

__all__ = ["DIRECT", "STEPS"]


def _status_code(plan_reason_code: Array, lambda_instance: Array) -> Array:
    """0 ok, 1 infeasible."""
    return np.where((plan_reason_code == NULL) & ~np.isnan(lambda_instance), 0, 1)


CASES = ("after_loss", "domain_lost", "one_fewer")
"""Rates beside the planned one at which latencies are asked."""

DIRECT = latency_steps(curves=False)


def _named(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in queueing.OUTPUTS)


STEPS: tuple[Step, ...] = (
    # workload
    step("prompt_tokens_mean", kernels.prompt_tokens_mean),
    step("output_tokens_mean", kernels.output_tokens_mean),
    step("context_tokens_mean", kernels.context_tokens_mean),
    step(
        "context_tokens_max",
        kernels.context_tokens_max,
        class_prompt_tokens="class_prompt_tokens_max",
        class_output_tokens="class_output_tokens_max",
    ),
    step("prompt_tokens_max", kernels.prompt_tokens_max, class_prompt_tokens="class_prompt_tokens_max"),
    step("prefix_hit_ratio_mean", kernels.prefix_hit_ratio_mean),
    step("uncached_tokens_mean", kernels.uncached_tokens_mean),
    step("uncached_tokens_max", kernels.uncached_tokens_max, class_prompt_tokens="class_prompt_tokens_max"),
    step("longest_prefill_tokens longest_prefill_hit_ratio", workload.longest_prefill),
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
    step("step_fixed_s", steps.step_fixed_s),
    step("step_experts_s", steps.step_experts_s),
    step("step_weights_least_s", steps.step_weights_least_s),
    step("kv_read_per_context_token_s", steps.kv_read_per_context_token_s),
    step("kv_read_per_sequence_s", steps.kv_read_per_sequence_s),
    step("all_reduce_token_s", steps.all_reduce_token_s),
    step("prefill_compute_per_token_s", steps.prefill_compute_per_token_s),
    step("step_per_sequence_s", steps.step_per_sequence_s),
    step(
        "prefill_longest_raw_flop",
        kernels.prefill_flop,
        flop_params="flop_params_count",
        prompt_tokens="prompt_tokens_max",
    ),
    step(
        "decode_work_s",
        kernels.decode_work_s,
        step_per_context_token_s="kv_read_per_context_token_s",
        step_per_sequence_s="step_per_sequence_s",
    ),
    # prefill by class of requests
    step("concurrency_scheduler", capacity.concurrency_scheduler),
    step("class_uncached_tokens", prefill.class_uncached_tokens),
    step("class_attention_s", prefill.class_attention_s),
    step("chunk_overhead_total_s", prefill.chunk_overhead_total_s),
    step("class_prefill_alone_s", prefill.class_prefill_alone_s),
    step("batch_at_limit", prefill.batch_at_limit),
    step("class_prefill_s", prefill.class_prefill_s),
    step("class_prefill_multiplied_s", prefill.class_prefill_multiplied_s),
    step("class_prefill_chunks", prefill.class_prefill_chunks),
    step("prefill_experts_s", prefill.prefill_experts_s),
    step("class_uncached_longest_tokens", prefill.class_uncached_tokens, class_prompt_tokens="class_prompt_tokens_max"),
    step(
        "class_attention_longest_s",
        prefill.class_attention_s,
        class_prompt_tokens="class_prompt_tokens_max",
        class_uncached_tokens="class_uncached_longest_tokens",
    ),
    step(
        "class_prefill_longest_s",
        prefill.class_prefill_alone_s,
        class_uncached_tokens="class_uncached_longest_tokens",
        class_attention_s="class_attention_longest_s",
    ),
    step("prefill_longest_raw_s", prefill.longest, by_class="class_prefill_longest_s"),
    step("prefill_latency_s", prefill.mean_over_classes, by_class="class_prefill_alone_s"),
    step("prefill_work_s", prefill.mean_over_classes, by_class="class_prefill_s"),
    step("request_work_s", steps.request_work_s),
    # capacity of one replica
    step("concurrency_compute_raw", steps.concurrency_compute),
    step("concurrency_slo_raw concurrency_slo_which", capacity.concurrency_slo),
    step("concurrency_slo_given_rate", capacity.concurrency_slo_given_rate),
    step("concurrency_lowest concurrency_compute concurrency_slo", capacity.concurrency_candidates),
    step("tpot_share_raw", steps.tpot_share),
    step("e2e_limit_s", capacity.e2e_limit_s),
    step(
        "lambda_analytical_ungated",
        capacity.lambda_analytical,
        tpot_share="tpot_share_raw",
        e2e_slo_s="e2e_limit_s",
    ),
    step("latency_given_s", capacity.latency_given_s),
    step("unloaded_s", feasibility.unloaded_s),
    step("physical_reason_code", feasibility.physical_reason_code),
    step("token_budget", planned.token_budget),
    step("slots", planned.slots, concurrency_memory="concurrency_memory_residence"),
    step(
        "slots_memory",
        planned.slots,
        concurrency_memory="concurrency_memory_residence",
        concurrency_scheduler="nothing",
    ),
    step("slots_scheduler", planned.slots, concurrency_memory="nothing"),
    Step(_named("queued"), queueing.queueing, ("physical_reason_code", *queueing.INPUTS), search=True),
    Step(_named("queueing"), queueing.chosen, ("capacity_model_code", *_named("queued"))),
    step("infeasible_reason_code", feasibility.infeasible_reason_code, lambda_analytical="lambda_analytical_ungated"),
    step("best_possible_s", feasibility.best_possible_s),
    step("tpot_share", feasibility.where_reachable, value="tpot_share_raw"),
    step("prefill_longest_s", feasibility.where_feasible, value="prefill_longest_raw_s"),
    step("prefill_longest_flop", feasibility.where_feasible, value="prefill_longest_raw_flop"),
    step("lambda_analytical", feasibility.where_feasible, value="lambda_analytical_ungated"),
    step("concurrency", feasibility.where_feasible, value="concurrency_lowest"),
    step("lambda_instance capacity_source_code", capacity.lambda_instance),
    step("limit_rates", limits.limit_rates, tpot_share="tpot_share_raw", e2e_slo_s="e2e_limit_s"),
    step("binding_constraint_code binding_ties_code binding_next_code margin_to_next", limits.binding),
    step("lambda_queueing", queueing.known_rate, rate="queued_rate"),
    step("capacity_flag_code", memory.as_it_is, value="queueing_flag"),
    step("anchor_ratio", capacity.anchor_ratio),
    step("lambda_basis_code", limits.lambda_basis_code),
    step("slo_basis_code", limits.slo_basis_code),
    step("slots_basis", limits.is_slots),
    step("decode_batch_quoted", steps.decode_batch_quoted),
    step("decode_context_quoted", steps.decode_context_quoted),
    step("step_weights_read_s", steps.step_weights_read_s),
    step(
        "decode_step_s",
        kernels.decode_step_s,
        step_weights_s="step_weights_read_s",
        step_per_context_token_s="kv_read_per_context_token_s",
        decode_batch="decode_batch_quoted",
        decode_context_tokens="decode_context_quoted",
        step_per_sequence_s="step_per_sequence_s",
    ),
    step("weights_moved_bytes", steps.weights_moved_bytes),
    step(
        "decode_bytes",
        kernels.decode_bytes,
        weights_read_bytes="weights_moved_bytes",
        decode_batch="decode_batch_quoted",
        decode_context_tokens="decode_context_quoted",
        kv_bytes_per_token="kv_read_bytes_per_token",
    ),
    # fleet
    step("lambda_safe", kernels.lambda_safe, routing_credit="routing_credit"),
    step("replicas_fractional", fleet.replicas_fractional),
    step("replicas_active", fleet.replicas_active),
    step("routing_gain_low routing_gain_high", gain_interval),
    step("node_replicas", kernels.replicas_per_node),
    step("replica_nodes", kernels.nodes_per_replica, tensor_parallel="tensor_parallel"),
    step("policy_lost_outright policy_lost_zones", redundancy.policy_losses),
    step("replicas_slo", redundancy.replicas_slo),
    step("replicas_target", redundancy.target),
    step("replicas_kept_by_spares", redundancy.kept),
    step("unit_availability replicas_in_unit", redundancy.unit_availability),
    step("replicas_kept", redundancy.kept_available),
    step("replicas", redundancy.replicas_of_any),
    step("gpus", fleet.gpus),
    step("nodes", redundancy.nodes_of_any),
    step("replicas_deployed", fleet.replicas_deployed),
    step("gpus_deployed", fleet.gpus_deployed),
    step("gpus_stranded", fleet.gpus_stranded),
    step("fleet_sufficient", fleet.fleet_sufficient),
    step("capacity_active", fleet.carried, replicas_count="replicas_active", rate="lambda_instance"),
    step("utilization_peak", fleet.utilization, capacity="capacity_active"),
    step("capacity_safe_active", fleet.carried, replicas_count="replicas_active", rate="lambda_safe"),
    step("utilization_safe", fleet.utilization, capacity="capacity_safe_active"),
    step("burst_to_slo", fleet.burst_to_slo, slots_basis="slots_basis"),
    step("capacity_deployed", fleet.carried, replicas_count="replicas_deployed", rate="lambda_instance"),
    step("utilization_deployed", fleet.utilization, capacity="capacity_deployed"),
    step("arrival_rate_safe_deployed", fleet.carried, replicas_count="replicas_deployed", rate="lambda_safe"),
    step("utilization_deployed_safe", fleet.utilization, capacity="arrival_rate_safe_deployed"),
    step("lost_outright lost_zones", redundancy.stated_losses),
    step("replicas_after_loss", fleet.replicas_after_loss),
    step("arrival_rate_safe_after_loss", fleet.carried, replicas_count="replicas_after_loss", rate="lambda_safe"),
    step("headroom_kept_after_loss", fleet.headroom_kept_after_loss),
    step("slo_held_after_loss", fleet.slo_held_after_loss),
    step("active_left", redundancy.active_left_of_any),
    step("arrival_rate_next_step", redundancy.rate_next_step_of_any),
    step("arrival_rate_slo_after_loss", survival.slo_rate, replicas_left="replicas_after_loss"),
    *survival.SURVIVAL,
    step("availability_headroom", survival.availability, needed="replicas_active"),
    step("availability_slo", survival.availability, needed="replicas_slo"),
    *PRICES,
    *WITHOUT_SPOT,
    # the planned point
    step("planned_rate_per_replica", fleet.planned_rate_per_replica),
    step("rho_equivalent", fleet.rho_equivalent),
    step("busy", fleet.busy),
    step("rate_per_replica_after_loss", planned.rate_after_loss),
    step("rate_per_replica_domain_lost", planned.rate_domain_lost),
    step("rate_per_replica_one_fewer", planned.rate_one_fewer),
    step("slots_paged", planned.slots, concurrency_memory="concurrency_memory_mean"),
    *DIRECT,
    step("output_tokens_per_s_replica", fleet.output_tokens_per_s_replica),
    step("tpot_mean_step_s", fleet.tpot_mean_step_s),
    step("tpot_s", planned.tpot_s),
    *(step(f"tpot_{case}_s", memory.as_it_is, value=f"tpot_queueing_{case}_s") for case in CASES),
    step("e2e_s", planned.e2e_s),
    *(step(f"e2e_{case}_s", planned.e2e_s, ttft_s=f"ttft_{case}_s", decode_s=f"decode_{case}_s") for case in CASES),
    step("planned_latency_s", planned.latency_s),
    Step(
        ("closed_loop_tpot_s", "closed_loop_ttft_s", "closed_loop_output_tokens_per_s"),
        closed.closed_loop,
        ("infeasible_reason_code", "closed_loop_concurrency", *REPLICA[:-1], "slots_paged"),
    ),
    step("batch_mean", planned.batch_mean),
    step("ridge_share", planned.ridge_share),
    step("goodput_held", planned.goodput_held),
    step("prefill_demand", fleet.demand, work_s="prefill_work_s"),
    step("decode_demand", fleet.demand, work_s="decode_work_s"),
    step("e2e_latency_used_s", capacity.e2e_latency_used_s),
    step("in_flight", kernels.little_in_flight, e2e_latency_s="e2e_latency_used_s"),
    # cost
    step("arrival_rate_average", kernels.arrival_rate_average),
    step("requests_per_month", kernels.requests_per_month),
    step("output_tokens_per_month", kernels.tokens_per_month, tokens_mean="output_tokens_mean"),
    *PORTFOLIO,
    step(
        "usd_per_gpu_hour_used",
        cost.usd_per_gpu_hour_used,
        usd_per_gpu_hour="base_usd_per_gpu_hour",
        usd_per_node_hour="base_usd_per_node_hour",
    ),
    *HOURLY_BILL,
    step("usd_per_day", cost.usd_per_day),
    step("usd_per_month", kernels.usd_per_month),
    step("usd_per_request", kernels.usd_per_request),
    step("usd_per_mtok_output", cost.usd_per_mtok, tokens_mean="output_tokens_mean"),
    step("usd_per_mtok_input", cost.usd_per_mtok, tokens_mean="prompt_tokens_mean"),
    step("usd_per_mtok_total", cost.usd_per_mtok, tokens_mean="context_tokens_mean"),
    step("usd_per_mtok_prefill_full", cost.usd_per_mtok_full, seconds_per_token="prefill_compute_per_token_s"),
    step("usd_per_mtok_decode_full", cost.usd_per_mtok_decode_full),
    *BILL,
    *API,
    *ENERGY,
    # what the service may cost and draw
    *CAPS,
    step("active_within_caps", redundancy.active_left_of_any, replicas_deployed="replicas_within_caps"),
    step(
        "arrival_rate_within_caps",
        redundancy.rate_next_step_of_any,
        active_left="active_within_caps",
        replicas_deployed="replicas_within_caps",
    ),
    step("status_code", _status_code),
)
