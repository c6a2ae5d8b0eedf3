"""The model on two pages: ordered formula calls, top to bottom, nothing else.

`STEPS` is the whole plan. Each line names what it makes and the function that makes it; the function's parameters name
what it reads. The first half (memory, step times, capacity), on this page, never sees the arrival rate or the
utilisation target; one number, `lambda_instance`, joins it to the second half (fleet, nodes, cost) in `service`.
"""

from __future__ import annotations

from gridplan.chain import capacity, feasibility, fleet, kv, limits, memory, planned, prefill, queueing, workload
from gridplan.chain import step as steps
from gridplan.chain.graph import Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.service import SERVICE

__all__ = ["STEPS"]


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
    *SERVICE,
)
