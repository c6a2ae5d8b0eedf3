"""Nodes on spot, the bill of a fleet that has some, and what the others carry when those are taken back."""

from __future__ import annotations

import numpy as np

from gridplan.chain import cost, fleet
from gridplan.chain.codes import code
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.redundancy import left_of
from gridplan.rounding import floor_exact

__all__ = ["HOURLY_BILL", "WITHOUT_SPOT", "plain_bill"]


def nodes_base(nodes: Array, nodes_spot: Array) -> Array:
    """Nodes that are not on spot [nodes]."""
    return nodes - nodes_spot


def _held(nodes: Array, node_replicas: Array, replica_nodes: Array) -> Array:
    """Whole replicas in so many nodes [replicas]; null without a node size."""
    return np.asarray(floor_exact(nodes / replica_nodes) * np.maximum(node_replicas, 1.0))


def replicas_without_spot(
    nodes_base: Array,
    replicas_deployed: Array,
    node_replicas: Array,
    replica_nodes: Array,
    spot_share_used: Array,
    maintenance_lost_outright: Array,
    maintenance_lost_zones: Array,
    zones: Array,
) -> Array:
    """Whole replicas on nodes that are not on spot, beside planned maintenance [replicas]."""
    left = np.where(spot_share_used == 0, replicas_deployed, _held(nodes_base, node_replicas, replica_nodes))
    left = np.where(np.isnan(spot_share_used), np.nan, left)
    return left_of(left, maintenance_lost_outright, maintenance_lost_zones, zones, node_replicas)


def spot_share_max(
    arrival_rate: Array,
    replicas_deployed: Array,
    lambda_instance: Array,
    slots_basis: Array,
    maintenance_lost_outright: Array,
) -> Array:
    """Largest share on spot with which limits hold when all of it goes, beside planned maintenance [1].

    Null where the rate counts slots only.
    """
    share = kernels.spot_share_max(arrival_rate, replicas_deployed, lambda_instance, maintenance_lost_outright)
    return np.where(slots_basis == 1, np.nan, share)


def gpus_base(
    gpus: Array,
    gpus_per_replica: Array,
    nodes_spot: Array,
    node_replicas: Array,
    replica_nodes: Array,
    spot_share_used: Array,
) -> Array:
    """GPUs of the replicas that are not on spot [GPUs], for a fleet whose other nodes are rented GPU by GPU."""
    left = gpus - _held(nodes_spot, node_replicas, replica_nodes) * gpus_per_replica
    return np.where(spot_share_used == 0, gpus, np.maximum(left, 0.0))


def nodes_given_base(nodes_given: Array, nodes_spot: Array, spot_share_used: Array) -> Array:
    """Nodes already bought that are not on spot [nodes]."""
    return np.where(spot_share_used == 0, nodes_given, nodes_given - nodes_spot)


def usd_spot_per_hour(nodes_spot: Array, spot_usd_per_node_hour: Array, spot_share_used: Array) -> Array:
    """Bill of the nodes on spot [USD/h]."""
    none = (spot_share_used == 0) | (nodes_spot == 0)
    return np.where(none, 0.0, nodes_spot * spot_usd_per_node_hour)


def usd_per_hour_mixed(usd_base_per_hour: Array, usd_spot_per_hour: Array) -> Array:
    """Bill of an hour [USD/h]."""
    return usd_base_per_hour + usd_spot_per_hour


def usd_committed(
    purchase_code: Array,
    usd_base_per_hour: Array,
    usd_per_month_committed: Array,
    hours_per_month: Array,
    commitment_years: Array,
) -> Array:
    """Sum that the commitment binds [USD]: of all nodes that are reserved, or of a portfolio's; null where none are."""
    bound = kernels.usd_committed(usd_base_per_hour, hours_per_month, commitment_years)
    of_portfolio = usd_per_month_committed * (12.0 * commitment_years)
    kinds = [purchase_code == code("purchase", name) for name in ("reserved", "portfolio")]
    return np.select(kinds, [bound, of_portfolio], np.nan)


def plain_bill(output: str, **renamed: str) -> Step:
    """The bill of nodes at one price each."""
    prices = {name: f"base_{name}" for name in ("usd_per_node_hour", "usd_per_gpu_hour")}
    return step(output, cost.usd_per_hour, **prices, **renamed)


WITHOUT_SPOT: tuple[Step, ...] = (
    step("nodes_spot", kernels.nodes_spot, share="spot_share_used", nodes_per_replica="replica_nodes"),
    step("nodes_base", nodes_base),
    step("replicas_without_spot", replicas_without_spot),
    step("arrival_rate_safe_without_spot", fleet.carried, replicas_count="replicas_without_spot", rate="lambda_safe"),
    step(
        "headroom_kept_without_spot",
        fleet.headroom_kept_after_loss,
        arrival_rate_safe_after_loss="arrival_rate_safe_without_spot",
    ),
    step("slo_held_without_spot", fleet.slo_held_after_loss, replicas_after_loss="replicas_without_spot"),
    step("spot_share_max", spot_share_max),
)
"""Nodes on spot, and what the others carry when those are taken back."""

HOURLY_BILL: tuple[Step, ...] = (
    step("gpus_base", gpus_base),
    step("nodes_given_base", nodes_given_base),
    plain_bill("usd_base_per_hour", nodes="nodes_base", gpus="gpus_base", nodes_given="nodes_given_base"),
    step("usd_spot_per_hour", usd_spot_per_hour),
    step("usd_per_hour", usd_per_hour_mixed),
    step("usd_committed", usd_committed),
)
"""The bill of an hour: nodes on spot at the price of spot, the others at the price by purchase."""
