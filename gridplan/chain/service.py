"""The second half of the model: from the rate of one replica to the fleet, its planned point, its bill and its caps.

`SERVICE` goes on where the plan of one replica ends, in the same manner: each line names what it makes and the function
that makes it.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain import capacity, closed, cost, fleet, memory, planned, redundancy, survival
from gridplan.chain.api import API
from gridplan.chain.bill import BILL
from gridplan.chain.caps import CAPS, least_rate
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

__all__ = ["DIRECT", "SERVICE"]


def _status_code(plan_reason_code: Array, lambda_instance: Array) -> Array:
    """0 ok, 1 infeasible."""
    return np.where((plan_reason_code == NULL) & ~np.isnan(lambda_instance), 0, 1)


CASES = ("after_loss", "domain_lost", "one_fewer")
"""Rates beside the planned one at which latencies are asked."""

DIRECT = latency_steps(curves=False)

SERVICE: tuple[Step, ...] = (
    # fleet
    step("lambda_safe", kernels.lambda_safe, routing_credit="routing_credit"),
    step("replicas_fractional", fleet.replicas_fractional),
    step("replicas_active", fleet.replicas_active),
    step("routing_gain_low routing_gain_high", gain_interval),
    step("node_replicas", kernels.replicas_per_node),
    step("replica_nodes", kernels.nodes_per_replica, tensor_parallel="tensor_parallel"),
    step("policy_lost_outright policy_lost_zones", redundancy.policy_losses),
    step(
        "maintenance_lost_outright maintenance_lost_zones",
        redundancy.stated_losses,
        lost_units="maintenance_units",
        lost_domain_code="maintenance_domain_code",
    ),
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
    step("fleet_sufficient", fleet.fleet_sufficient),
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
    step("nodes_unrounded", cost.nodes_unrounded),
    step("usd_per_month_unrounded", cost.usd_per_month_unrounded),
    step("usd_per_mtok_output_unrounded", cost.usd_per_mtok_output_unrounded),
    *BILL,
    *API,
    *ENERGY,
    # what the service may cost and draw
    *CAPS,
    *(
        item
        for cap, sized in (("rented", "nothing"), ("held", "node_replicas"))
        for item in (
            step(
                f"active_in_{cap}",
                redundancy.active_left_of_any,
                replicas_deployed=f"replicas_{cap}_in_caps",
                node_replicas=sized,
            ),
            step(
                f"rate_in_{cap}",
                redundancy.rate_next_step_of_any,
                active_left=f"active_in_{cap}",
                replicas_deployed=f"replicas_{cap}_in_caps",
            ),
        )
    ),
    step("arrival_rate_within_caps", least_rate),
    step("status_code", _status_code),
)
