"""From the rate of one replica to replicas, GPUs, nodes and what they survive.

These steps see the whole cube, so each keeps to a few array operations; everything that does not depend on the arrival
rate is prepared on its own dimensions, and a choice that an input on few dimensions settles is made once, not in each
cell.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels
from gridplan.chain.reads import Reads
from gridplan.chain.redundancy import left_of
from gridplan.formulas.fleet import carries
from gridplan.rounding import ceil_exact

__all__ = [
    "burst_to_slo",
    "busy",
    "carried",
    "demand",
    "fleet_sufficient",
    "gpus",
    "gpus_deployed",
    "gpus_per_replica",
    "gpus_stranded",
    "headroom_kept_after_loss",
    "output_tokens_per_s_replica",
    "planned_rate_per_replica",
    "replicas_active",
    "replicas_deployed",
    "replicas_fractional",
    "rho_equivalent",
    "slo_held_after_loss",
]

_NOWHERE = np.zeros(())


def gpus_per_replica(tensor_parallel: Array, pipeline_parallel: Array, data_parallel: Array) -> Array:
    """GPUs of one replica [GPUs]."""
    return tensor_parallel * pipeline_parallel * data_parallel


def replicas_deployed(nodes: Array, replicas: Array, node_replicas: Array, replica_nodes: Array) -> Array:
    """Whole replicas that the nodes hold [replicas]; without a node size, the replicas planned."""
    groups = nodes if np.all(replica_nodes == 1.0) else np.floor(nodes / replica_nodes)
    held = groups * np.maximum(node_replicas, 1.0)
    sized = ~np.isnan(node_replicas)
    return spread(held, replicas) if np.all(sized) else np.where(sized, held, replicas)


def gpus_deployed(nodes: Array, gpus_per_node: Array) -> Array:
    """GPUs in the nodes [GPUs]."""
    return nodes * gpus_per_node


def gpus_stranded(gpus_deployed: Array, replicas_deployed: Array, gpus_per_replica: Array) -> Array:
    """GPUs that no whole replica can use [GPUs]."""
    return np.asarray(gpus_deployed - replicas_deployed * gpus_per_replica)


def fleet_sufficient(
    replicas: Array, replicas_deployed: Array, replicas_target: Array, active_left: Array, policy_lost_zones: Array
) -> Array:
    """1 where the fleet holds the plan, 0 where nodes already bought do not, NaN where there is no plan.

    Where a zone may be lost the number alone does not say it: what counts is what the zones left hold.
    """
    holds = replicas <= replicas_deployed
    of_zones = policy_lost_zones > 0.0
    if np.any(of_zones):
        holds = holds & (~of_zones | (active_left >= replicas_target))
    # Of booleans: 0 and 1 over 1 are themselves, 0 over 0 is NaN. Cheaper than a choice in each cell.
    return np.divide(holds, ~np.isnan(replicas))


def headroom_kept_after_loss(arrival_rate: Array, arrival_rate_safe_after_loss: Array) -> Array:
    """1 where the peak stays within the safe rate of the replicas left, else 0."""
    result: Array = carries(arrival_rate, arrival_rate_safe_after_loss)
    return result


def slo_held_after_loss(
    arrival_rate: Array, replicas_after_loss: Array, lambda_instance: Array, slots_basis: Array
) -> Array:
    """1 where the peak stays within the rate at which limits hold, else 0; null where that rate counts slots only."""
    rate = np.where(slots_basis == 1, np.nan, lambda_instance)
    result: Array = carries(arrival_rate, replicas_after_loss * rate)
    return result


def planned_rate_per_replica(arrival_rate: Array, replicas_active: Array) -> Array:
    """Rate that each active replica sees at the peak [req/s]."""
    return arrival_rate / replicas_active


def output_tokens_per_s_replica(planned_rate_per_replica: Array, output_tokens_mean: Array) -> Array:
    """Output tokens of one active replica [tok/s]."""
    return planned_rate_per_replica * output_tokens_mean


def replicas_fractional(arrival_rate: Array, lambda_safe: Array) -> Array:
    """Replicas before rounding up [replicas]."""
    return arrival_rate / lambda_safe


def replicas_active(replicas_fractional: Array) -> Array:
    """Replicas that carry the peak [replicas]."""
    result: Array = ceil_exact(replicas_fractional)
    return result


def gpus(replicas: Array, gpus_per_replica: Array) -> Array:
    """GPUs of all replicas [GPUs]."""
    return replicas * gpus_per_replica


def carried(replicas_count: Array, rate: Array) -> Array:
    """Arrival rate that a number of replicas carries at `rate` each [req/s]."""
    return replicas_count * rate


def rho_equivalent(planned_rate_per_replica: Array, lambda_queueing: Array) -> Array:
    """Planned rate over that of the queueing model [1]; null where no rate holds the limits."""
    return planned_rate_per_replica / lambda_queueing


def busy(planned_rate_per_replica: Array, request_work_s: Array) -> Array:
    """Share of time an active replica spends on work that grows with traffic [1]."""
    return planned_rate_per_replica * request_work_s


def burst_to_slo(capacity_active: Array, arrival_rate: Array, slots_basis: Array = _NOWHERE) -> Array:
    """Factor by which the peak may rise before a limit breaks [1]; null where the rate counts slots only."""
    factor = capacity_active / arrival_rate
    of_slots = slots_basis == 1
    return np.where(of_slots, np.nan, factor) if np.any(of_slots) else spread(factor, slots_basis)


def demand(arrival_rate: Array, lambda_instance: Array, work_s: Array) -> Array:
    """Work of the service [replica-s/s], null where no plan exists."""
    return arrival_rate * np.where(np.isnan(lambda_instance), np.nan, work_s)


def utilization(arrival_rate: Array, capacity: Array) -> Array:
    """Share of a capacity that the peak uses [1]; null where there is no replica."""
    share = arrival_rate / capacity
    none = capacity == 0.0
    return np.where(none, np.nan, share) if np.any(none) else share


def replicas_after_loss(
    replicas_deployed: Array, lost_outright: Array, lost_zones: Array, zones: Array, node_replicas: Array
) -> Array:
    """Replicas left after the stated loss [replicas]."""
    return left_of(replicas_deployed, lost_outright, lost_zones, zones, node_replicas)


def tpot_dense_s(step_fixed_s: Array, busy: Array) -> Array:
    """Mean time per output token at the planned point [s]; null where first principles leave no time for the plan.

    That happens where a measured rate or a stated latency carries more than the step times allow.
    """
    idle = 1.0 - busy
    result = step_fixed_s / idle
    overrun = idle <= 0.0
    return np.where(overrun, np.nan, result) if np.any(overrun) else result


def tpot_mean_step_s(
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    busy: Array,
    output_tokens_per_s_replica: Array,
) -> Array:
    """The same where experts are read by the mean batch of the planned point."""
    reads = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token)
    batch = kernels.batch_at_rate(output_tokens_per_s_replica, busy, *reads)
    return spread(tpot_dense_s(reads.at(batch), busy), output_tokens_per_s_replica)
