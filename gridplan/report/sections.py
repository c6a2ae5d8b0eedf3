"""Which measures an explanation shows, in the order in which a capacity review reads them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MEMORY", "SECTIONS"]

MEMORY = "memory of one GPU"
"""Section after which a page shows the budget as a column."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "workload": (
        "prompt_tokens_mean",
        "output_tokens_mean",
        "context_tokens_mean",
        "context_tokens_max",
        "uncached_tokens_mean",
        "uncached_tokens_max",
        "resident_tokens",
        "step_context_tokens",
    ),
    MEMORY: (
        *(
            "weights_bytes_per_gpu",
            "usable_memory_bytes_per_gpu",
            "kv_pool_bytes_per_gpu",
            "memory_shortfall_bytes_per_gpu",
        ),
        *("kv_bytes_per_token", "kv_bytes_per_token_per_gpu", "kv_bytes_per_sequence_per_gpu", "kv_pool_tokens"),
        *("concurrency_memory", "concurrency_memory_worst", "concurrency_at_limit", "concurrency_memory_expected"),
        *("concurrency_memory_mean", "concurrency_memory_residence", "concurrency_scheduler"),
    ),
    "times of a step": (
        *(
            "step_weights_read_s",
            "kv_read_per_context_token_s",
            "kv_read_per_sequence_s",
            "prefill_compute_per_token_s",
        ),
        *("prefill_longest_s", "prefill_longest_flop", "request_work_s", "decode_bytes", "decode_step_s"),
    ),
    "one replica": (
        *(
            "concurrency_compute",
            "concurrency_slo",
            "concurrency",
            "tpot_share",
            "lambda_analytical",
            "lambda_queueing",
        ),
        *("anchor_ratio", "lambda_instance", "lambda_safe", "rho_equivalent", "routing_gain_low", "routing_gain_high"),
    ),
    "fleet": (
        *(
            "prefill_demand",
            "decode_demand",
            "e2e_latency_used_s",
            "in_flight",
            "replicas_fractional",
            "replicas_active",
            "replicas_slo",
            "replicas",
            "gpus",
        ),
        *(
            "nodes",
            "gpus_deployed",
            "gpus_stranded",
            "replicas_deployed",
            "fleet_sufficient",
            "arrival_rate_safe_deployed",
        ),
        *(
            "utilization_peak",
            "utilization_safe",
            "utilization_deployed",
            "utilization_deployed_safe",
            "arrival_rate_safe_after_loss",
        ),
        *("headroom_kept_after_loss", "slo_held_after_loss", "arrival_rate_next_step"),
        *(f"survives_{lost}_loss_{kept}" for lost in ("gpu", "node", "zone") for kept in ("headroom", "slo")),
        *("availability_headroom", "availability_slo"),
        *("gpus_within_caps", "arrival_rate_within_caps", "budget_shortfall_usd_per_month", "power_shortfall_kw"),
        *("nodes_spot", "replicas_without_spot", "arrival_rate_safe_without_spot", "headroom_kept_without_spot"),
        *("slo_held_without_spot", "spot_share_max"),
    ),
    "the planned point": (
        *(
            "output_tokens_per_s_replica",
            "busy",
            "slot_share",
            "ttft_s",
            "tpot_s",
            "e2e_s",
            "batch_mean",
            "ridge_share",
        ),
        *(f"{name}_at_slo_percentile_s" for name in ("ttft", "tpot", "e2e", "itl")),
        *("goodput", "goodput_bound", "burst_to_slo"),
    ),
    "cost": (
        *(
            "owned_usd_per_node_hour",
            "base_usd_per_node_hour",
            "usd_per_gpu_hour_used",
            "usd_per_hour",
            "usd_per_day",
            "usd_per_month",
            "arrival_rate_average",
            "requests_per_month",
            "output_tokens_per_month",
        ),
        *("nodes_committed", "nodes_on_demand_mean", "nodes_spot_mean", "nodes_paid_mean", "commitment_utilization"),
        *("usd_per_month_committed", "usd_per_month_swing", "usd_per_month_spot"),
        *("nodes_needed_mean", "usd_per_month_released"),
        *("usd_per_mtok_output", "usd_per_mtok_input", "usd_per_mtok_total", "usd_per_request"),
        *("usd_per_mtok_prefill_full", "usd_per_mtok_decode_full", "usd_committed"),
        *("gpus_paid", "usd_per_replica_hour", "replicas_at_average", "replicas_at_peak"),
        *(f"usd_per_month_{part}" for part in ("used", "idle", "headroom", "redundancy", "stranded")),
        *("usd_per_mtok_uncached", "usd_per_mtok_cached", "usd_per_mtok_output_goodput", "usd_per_user_month"),
        *("usd_per_mtok_input_allocated", "usd_per_mtok_uncached_input_allocated", "usd_per_mtok_output_allocated"),
        "quota_units_per_output_token",
        *("api_usd_per_request", "api_usd_per_month", "api_saving_usd_per_month", "api_break_even_rate"),
        *("api_break_even_tokens_per_month", "api_break_even_utilization", "api_break_even_utilization_released"),
    ),
    "power": (
        *("it_power_kw", "facility_power_kw", "energy_kwh_per_month", "usd_energy_per_month"),
        *("energy_j_per_output_token", "usd_energy_per_mtok_output"),
    ),
}
"""Measures in the order in which a capacity review reads them; a measure that is null in the cell is left out."""
