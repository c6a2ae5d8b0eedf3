"""From the rate of one replica to replicas, GPUs, nodes and what they survive.

These steps see the whole cube, so each keeps to a few array operations; everything that does not depend on the arrival
rate is prepared on its own dimensions.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given
from gridplan.rounding import ceil_exact

__all__ = [
    "arrival_rate_next_step",
    "batch_mean",
    "busy",
    "carried",
    "demand",
    "fleet_sufficient",
    "gpus",
    "gpus_deployed",
    "gpus_per_replica",
    "gpus_stranded",
    "headroom_kept_after_loss",
    "nodes",
    "output_tokens_per_s_replica",
    "planned_rate_per_replica",
    "replicas_active",
    "replicas_deployed",
    "replicas_fractional",
    "slo_held_after_loss",
]


def gpus_per_replica(tensor_parallel: Array, pipeline_parallel: Array, data_parallel: Array) -> Array:
    """GPUs of one replica [GPUs]."""
    return tensor_parallel * pipeline_parallel * data_parallel


def nodes(replicas: Array, gpus_per_node: Array, gpus_per_replica: Array, nodes_given: Array) -> Array:
    """Nodes of the fleet [nodes]: planned so that no replica straddles two, or as given."""
    planned = kernels.nodes_for(replicas, gpus_per_node, gpus_per_replica)
    bought = np.where(np.isnan(planned), np.nan, nodes_given)
    return first_given(bought, planned)


def replicas_deployed(nodes: Array, replicas: Array, gpus_per_node: Array, gpus_per_replica: Array) -> Array:
    """Whole replicas that the nodes hold [replicas]; without a node size, the replicas planned."""
    return first_given(kernels.replicas_in_nodes(nodes, gpus_per_node, gpus_per_replica), replicas)


def gpus_deployed(nodes: Array, gpus_per_node: Array) -> Array:
    """GPUs in the nodes [GPUs]."""
    return nodes * gpus_per_node


def gpus_stranded(gpus_deployed: Array, replicas_deployed: Array, gpus_per_replica: Array) -> Array:
    """GPUs that no whole replica can use [GPUs]."""
    return np.asarray(gpus_deployed - replicas_deployed * gpus_per_replica)


def fleet_sufficient(replicas: Array, replicas_deployed: Array) -> Array:
    """1 where the fleet holds the plan, 0 where nodes already bought do not, NaN where there is no plan."""
    return np.where(np.isnan(replicas), np.nan, replicas <= replicas_deployed)


def headroom_kept_after_loss(arrival_rate: Array, replicas_after_loss: Array, lambda_safe: Array) -> Array:
    """1 where the peak stays within the safe rate of the replicas left, else 0."""
    result: Array = kernels.holds(arrival_rate, replicas_after_loss, lambda_safe)
    return result


def slo_held_after_loss(
    arrival_rate: Array, replicas_after_loss: Array, lambda_instance: Array, slots_basis: Array
) -> Array:
    """1 where the peak stays within the rate at which limits hold, else 0; null where that rate counts slots only."""
    rate = np.where(slots_basis == 1, np.nan, lambda_instance)
    result: Array = kernels.holds(arrival_rate, replicas_after_loss, rate)
    return result


def arrival_rate_next_step(
    replicas_deployed: Array,
    redundancy: Array,
    failure_domain_code: Array,
    node_replicas: Array,
    zones: Array,
    lambda_safe: Array,
) -> Array:
    """Largest arrival rate whose plan with spares needs no more nodes [req/s]."""
    result: Array = (
        kernels.most_active(replicas_deployed, redundancy, failure_domain_code, node_replicas, zones) * lambda_safe
    )
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


def busy(planned_rate_per_replica: Array, request_work_s: Array) -> Array:
    """Share of time an active replica spends on work that grows with traffic [1]."""
    return planned_rate_per_replica * request_work_s


def batch_mean(planned_rate_per_replica: Array, output_tokens_mean: Array, tpot_s: Array) -> Array:
    """Mean batch of an active replica by Little's law [sequences]."""
    return planned_rate_per_replica * output_tokens_mean * tpot_s


def demand(arrival_rate: Array, lambda_instance: Array, work_s: Array) -> Array:
    """Work of the service [replica-s/s], null where no plan exists."""
    return arrival_rate * np.where(np.isnan(lambda_instance), np.nan, work_s)


def utilization(arrival_rate: Array, replicas_count: Array, lambda_rate: Array) -> Array:
    """Share of the capacity of some replicas that the peak uses [1]; null where there is no replica."""
    counted = np.where(replicas_count == 0, np.nan, replicas_count)
    result: Array = kernels.utilization(arrival_rate, counted, lambda_rate)
    return result


def replicas_after_loss(
    replicas_deployed: Array, lost_units: Array, lost_domain_code: Array, node_replicas: Array, zones: Array
) -> Array:
    """Replicas left after the loss [replicas]; losing nothing leaves all, also where a node's size is not known."""
    left = kernels.replicas_after_loss(replicas_deployed, lost_units, lost_domain_code, node_replicas, zones)
    return np.where(lost_units == 0, replicas_deployed, left)


def tpot_s(step_weights_read_s: Array, busy: Array) -> Array:
    """Mean time per output token at the planned point [s]; null where first principles leave no time for the plan.

    That happens where a measured rate or a stated latency carries more than the step times allow.
    """
    sustained = np.where(busy < 1, busy, np.nan)
    result: Array = kernels.implied_tpot_s(step_weights_read_s, sustained)
    return result
