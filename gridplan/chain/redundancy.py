"""Spares and whole nodes: what a plan must have so that its losses leave enough, and what stated losses leave.

Losses are prepared on the few dimensions of policies: replicas lost outright, and zones. Only additions and one
rounding up are left for the whole cube. A unit is a node, the nodes of a wide replica, or a replica where nodes have no
size.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels
from gridplan.formulas.redundancy import FAILURE_DOMAINS
from gridplan.rounding import ceil_exact

__all__ = [
    "active_left",
    "active_left_of_any",
    "kept",
    "kept_available",
    "left_of",
    "nodes",
    "nodes_of_any",
    "policy_losses",
    "rate_next_step",
    "rate_next_step_of_any",
    "replicas_of_any",
    "replicas_over_zones",
    "replicas_slo",
    "stated_losses",
    "target",
    "unit_availability",
]

_SLO = code("redundancy_basis", "slo")
_NODE, _GPU, _ZONE = (FAILURE_DOMAINS.index(name) for name in ("node", "gpu", "zone"))


def stated_losses(lost_units: Array, lost_domain_code: Array, node_replicas: Array) -> tuple[Array, Array]:
    """Replicas that the stated loss takes outright, and zones [count]."""
    outright: Array = kernels.lost_outright(lost_units, lost_domain_code, node_replicas)
    zones: Array = kernels.lost_zones(lost_units, lost_domain_code)
    return outright, spread(zones, outright)


def policy_losses(
    redundancy: Array,
    failure_domain_code: Array,
    maintenance_units: Array,
    maintenance_domain_code: Array,
    node_replicas: Array,
) -> tuple[Array, Array]:
    """The same of what the plan must survive: the failures that spares are for, beside planned maintenance."""
    failed = stated_losses(redundancy, failure_domain_code, node_replicas)
    out = stated_losses(maintenance_units, maintenance_domain_code, node_replicas)
    outright, zones = failed[0] + out[0], failed[1] + out[1]
    return outright, spread(zones, outright)


def replicas_slo(arrival_rate: Array, lambda_instance: Array) -> Array:
    """Replicas that carry the peak at the rate at which limits still hold [replicas]."""
    result: Array = ceil_exact(arrival_rate / lambda_instance)
    return result


def target(replicas_active: Array, replicas_slo: Array, redundancy_basis_code: Array) -> Array:
    """Replicas that the losses must leave [replicas]."""
    return np.where(redundancy_basis_code == _SLO, replicas_slo, replicas_active)


def kept(replicas_target: Array, policy_lost_outright: Array) -> Array:
    """Replicas beside those of zones that may be lost [replicas]."""
    return replicas_target + policy_lost_outright


def unit_availability(
    mtbf_h: Array,
    mttr_h: Array,
    failure_domain_code: Array,
    gpus_per_replica: Array,
    node_replicas: Array,
    replica_nodes: Array,
) -> tuple[Array, Array]:
    """Availability of a unit that fails as one [1], and the replicas in it [count].

    A replica needs all its GPUs and all its nodes; a node may hold several replicas. Null for zones: they are few, and
    what fails in one is not independent.
    """
    of_node = failure_domain_code == _NODE
    mtbf_h = np.where(failure_domain_code == _ZONE, np.nan, mtbf_h)
    parts = np.where(failure_domain_code == _GPU, gpus_per_replica, np.where(of_node, replica_nodes, 1.0))
    in_unit = np.where(of_node, np.maximum(node_replicas, 1.0), 1.0)
    available: Array = kernels.unit_availability(mtbf_h, mttr_h, parts)
    return available, spread(in_unit, available)


def kept_available(
    replicas_kept_by_spares: Array, availability_target: Array, unit_availability: Array, replicas_in_unit: Array
) -> Array:
    """The same where a share of time is asked for in place of spares [replicas]: units of which enough are up."""
    asked = ~np.isnan(availability_target)
    if not np.any(asked):
        return spread(replicas_kept_by_spares, asked, unit_availability, replicas_in_unit)
    needed = np.ceil(replicas_kept_by_spares / replicas_in_unit)
    units = kernels.units_for_availability(needed, unit_availability, availability_target)
    return np.where(asked, units * replicas_in_unit, replicas_kept_by_spares)


def replicas_over_zones(replicas_kept: Array, policy_lost_zones: Array, zones: Array) -> Array:
    """Replicas of the plan [replicas]."""
    return _over_zones(replicas_kept, policy_lost_zones, zones)


def replicas_of_any(replicas_active: Array, replicas_kept: Array, policy_lost_zones: Array, zones: Array) -> Array:
    """The same where spares keep less than the headroom: without a loss the plan keeps it [replicas]."""
    return np.maximum(replicas_active, replicas_over_zones(replicas_kept, policy_lost_zones, zones))


def nodes(
    replicas_kept: Array,
    policy_lost_zones: Array,
    zones: Array,
    node_replicas: Array,
    replica_nodes: Array,
    nodes_given: Array,
) -> Array:
    """Nodes of the fleet [nodes]: the least that survive the losses of the plan, or as given."""
    units = _ceil_whole(replicas_kept, np.maximum(node_replicas, 1.0))
    planned = _over_zones(units, policy_lost_zones, zones) * replica_nodes
    absent = np.isnan(nodes_given)
    if np.all(absent):
        return spread(planned, nodes_given)
    return np.where(np.isnan(planned) | absent, planned, nodes_given)


def nodes_of_any(
    replicas_active: Array,
    replicas_kept: Array,
    policy_lost_zones: Array,
    zones: Array,
    node_replicas: Array,
    replica_nodes: Array,
    nodes_given: Array,
) -> Array:
    """The same where spares keep less than the headroom [nodes]."""
    found = nodes(replicas_kept, policy_lost_zones, zones, node_replicas, replica_nodes, nodes_given)
    least = _ceil_whole(replicas_active, np.maximum(node_replicas, 1.0)) * replica_nodes
    return np.where(np.isnan(nodes_given), np.maximum(found, least), found)


def active_left(
    replicas_deployed: Array,
    policy_lost_outright: Array,
    policy_lost_zones: Array,
    zones: Array,
    node_replicas: Array,
) -> Array:
    """Replicas that the losses of the plan leave of those deployed [replicas]."""
    return left_of(replicas_deployed, policy_lost_outright, policy_lost_zones, zones, node_replicas)


def active_left_of_any(
    replicas_deployed: Array,
    policy_lost_outright: Array,
    policy_lost_zones: Array,
    zones: Array,
    node_replicas: Array,
    availability_target: Array,
    unit_availability: Array,
    replicas_in_unit: Array,
) -> Array:
    """The same, where a share of time is asked for: those of which all are up so often, less maintenance [replicas]."""
    in_zones = left_of(replicas_deployed, np.zeros(()), policy_lost_zones, zones, node_replicas)
    asked = ~np.isnan(availability_target)
    if not np.any(asked):
        left = np.asarray(np.maximum(in_zones - policy_lost_outright, 0.0))
        return spread(left, asked, unit_availability, replicas_in_unit)
    units = np.floor(in_zones / replicas_in_unit)
    up = kernels.most_needed(units, unit_availability, availability_target) * replicas_in_unit
    left = np.where(asked, up, in_zones)
    return np.asarray(np.maximum(left - policy_lost_outright, 0.0))


def left_of(deployed: Array, outright: Array, lost_zones: Array, zones: Array, node_replicas: Array) -> Array:
    """Replicas that losses leave of full units [replicas]; losing nothing leaves all."""
    if np.all(lost_zones == 0.0):
        return spread(np.asarray(np.maximum(deployed - outright, 0.0)), lost_zones, zones, node_replicas)
    per_unit = np.where(np.isnan(node_replicas), 1.0, np.maximum(node_replicas, 1.0))
    units = kernels.units_left(deployed / per_unit, lost_zones, zones)
    return np.asarray(np.maximum(units * per_unit - outright, 0.0))


def rate_next_step(active_left: Array, lambda_safe: Array) -> Array:
    """Largest arrival rate whose plan with spares needs no more nodes [req/s]."""
    return active_left * lambda_safe


def rate_next_step_of_any(
    active_left: Array,
    lambda_safe: Array,
    replicas_deployed: Array,
    lambda_instance: Array,
    redundancy_basis_code: Array,
) -> Array:
    """The same where spares may keep the limits only [req/s]."""
    of_slo = np.minimum(active_left * lambda_instance, replicas_deployed * lambda_safe)
    return np.where(redundancy_basis_code == _SLO, of_slo, active_left * lambda_safe)


def _over_zones(units: Array, lost_zones: Array, zones: Array) -> Array:
    """The kernel of `units_over_zones`, left out where no zone is lost."""
    if np.all(lost_zones == 0.0):
        return spread(units, lost_zones, zones)
    result: Array = kernels.units_over_zones(units, lost_zones, zones)
    return result


def _ceil_whole(number: Array, divisor: Array) -> Array:
    """The quotient of whole numbers rounded up.

    Below 2**53 it needs no guard: it is exact where it is whole, and rounds to no other whole number where it is not.
    """
    if np.all(divisor == 1.0):
        return spread(number, divisor)
    return np.asarray(np.ceil(number / divisor))
