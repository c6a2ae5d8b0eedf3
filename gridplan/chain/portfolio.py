"""The fleet over the hours of a month: nodes at each level of load, what is released, and the portfolio that pays it.

Results by level have their axis of levels first. All of this is on request: a cube without it computes none of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridplan.chain import fleet
from gridplan.chain.codes import code
from gridplan.chain.graph import Array, Step, spread, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import as_it_is, first_given

__all__ = ["ALWAYS_ON", "PORTFOLIO", "nodes_at", "nodes_slo_at", "with_portfolio"]

_PORTFOLIO = code("purchase", "portfolio")
_NOT_BOUGHT = np.full((), np.nan)

CELLS_AT_ONCE = 4096
"""Cells whose portfolios are chosen together (policy): their levels and prices stay in cache."""


def load_profile(peak_to_average: Array, load_floor: Array, hourly_load: Array) -> tuple[Array, Array]:
    """Levels of load as shares of the peak [1], and the share of time at each [1]: the hours stated, else the curve."""
    hours = np.moveaxis(hourly_load, -1, 0)
    absent = np.isnan(hours[0])
    curve: Array = kernels.load_levels(peak_to_average, load_floor)
    if np.all(absent):
        curve = spread(curve, absent)
        return curve, np.broadcast_to(1.0 / len(curve), curve.shape)
    rows = max(len(curve), len(hours))
    count = np.where(absent, len(curve), np.sum(~np.isnan(hours), axis=0))
    levels = np.where(absent, _padded(curve, rows), _padded(np.nan_to_num(hours), rows))
    place = np.arange(rows).reshape(-1, *[1] * absent.ndim)
    return levels, spread(np.where(place < count, 1.0 / count, 0.0), levels)


def _padded(levels: Array, rows: int) -> Array:
    """The same with more levels of nothing behind: their share of time is none."""
    missing = rows - len(levels)
    return np.concatenate([levels, np.zeros((missing, *levels.shape[1:]))]) if missing else levels


def nodes_at(
    load_levels: Array,
    arrival_rate: Array,
    lambda_safe: Array,
    redundancy: Array,
    failure_domain_code: Array,
    node_replicas: Array,
    zones: Array,
    replica_nodes: Array,
) -> Array:
    """Nodes for each level of load [nodes], planned as those of the peak and with the same spares."""
    active = fleet.replicas_active(fleet.replicas_fractional(load_levels * arrival_rate, lambda_safe))
    replicas = kernels.replicas(active, redundancy, failure_domain_code, node_replicas, zones)
    return _nodes(replicas, node_replicas, replica_nodes)


def nodes_slo_at(
    load_levels: Array, arrival_rate: Array, lambda_instance: Array, node_replicas: Array, replica_nodes: Array
) -> Array:
    """Nodes that each level of load needs for its limits alone [nodes]: no headroom, no spares."""
    active = fleet.replicas_active(fleet.replicas_fractional(load_levels * arrival_rate, lambda_instance))
    return _nodes(active, node_replicas, replica_nodes)


def _nodes(replicas: Array, node_replicas: Array, replica_nodes: Array) -> Array:
    """Whole nodes; null where the size of a node is not known."""
    return fleet.nodes(replicas, node_replicas, replica_nodes, _NOT_BOUGHT)


def committed_usd_per_node_hour(
    reserved_usd_per_node_hour: Array, reserved_discount: Array, on_demand_usd_per_node_hour: Array
) -> Array:
    """Price of a node-hour under a commitment [USD/h]: as given, else the list price less the discount."""
    return first_given(reserved_usd_per_node_hour, (1.0 - reserved_discount) * on_demand_usd_per_node_hour)


def chosen(
    purchase_code: Array,
    level_nodes: Array,
    level_nodes_slo: Array,
    level_weights: Array,
    committed_usd_per_node_hour: Array,
    on_demand_usd_per_node_hour: Array,
    spot_usd_per_node_hour: Array,
    spot_share: Array,
    nodes_given: Array,
) -> tuple[Array, ...]:
    """Nodes committed, mean nodes on demand and on spot, mean bill [USD/h] and mean committed nodes that are needed.

    Null in cells that buy no portfolio, or whose nodes are bought already.
    """
    prices = (committed_usd_per_node_hour, on_demand_usd_per_node_hour, spot_usd_per_node_hour)
    bought = (purchase_code == _PORTFOLIO) & np.isnan(nodes_given)
    levels = (level_nodes, level_nodes_slo, level_weights)
    shape = np.broadcast_shapes(bought.shape, *(item.shape[1:] for item in levels), *(item.shape for item in prices))
    shape = np.broadcast_shapes(shape, spot_share.shape)
    by_level = [np.broadcast_to(item, (len(item), *shape)).reshape(len(item), -1) for item in levels]
    by_cell = [np.broadcast_to(item, shape).ravel() for item in (*prices, spot_share)]
    places = np.flatnonzero(np.broadcast_to(bought, shape))
    results = np.full((5, by_cell[0].size), np.nan)
    for first in range(0, len(places), CELLS_AT_ONCE):
        cells = places[first : first + CELLS_AT_ONCE]
        levels_here, cells_here = (item[:, cells] for item in by_level), (item[cells] for item in by_cell)
        results[:, cells] = kernels.portfolio(*levels_here, *cells_here)
    return tuple(results.reshape(5, *shape))


def nodes_paid_mean(nodes_committed: Array, nodes_on_demand_mean: Array, nodes_spot_mean: Array) -> Array:
    """Nodes paid in a mean hour [nodes], needed or not."""
    return nodes_committed + nodes_on_demand_mean + nodes_spot_mean


def usd_per_month_of(nodes: Array, usd_per_node_hour: Array, hours_per_month: Array) -> Array:
    """Bill of a month for nodes of one offer [USD/month]; no nodes cost nothing, also where there is no such offer."""
    return np.where(nodes == 0.0, 0.0, nodes * usd_per_node_hour) * hours_per_month


def commitment_utilization(committed_used_mean: Array, nodes_committed: Array) -> Array:
    """Share of the committed node-hours that are needed [1]; null where none are committed."""
    return np.where(nodes_committed == 0.0, np.nan, committed_used_mean / nodes_committed)


def nodes_needed_mean(level_nodes: Array, level_weights: Array, nodes_given: Array) -> Array:
    """Nodes needed in a mean hour [nodes]; null for nodes already bought, which nobody takes back."""
    return np.where(np.isnan(nodes_given), np.sum(level_nodes * level_weights, axis=0), np.nan)


def _wide(item: Step) -> Step:
    return replace(item, width=kernels.load_levels(1.0, 0.0).size)


PORTFOLIO: tuple[Step, ...] = (
    _wide(step("load_levels level_weights", load_profile)),
    _wide(step("level_nodes", nodes_at)),
    _wide(step("level_nodes_slo", nodes_slo_at)),
    step("nodes_needed_mean", nodes_needed_mean),
    step("on_demand_usd_per_node_hour", as_it_is, value="usd_per_node_hour"),
    step("committed_usd_per_node_hour", committed_usd_per_node_hour),
    step(
        "nodes_committed nodes_on_demand_mean nodes_spot_mean usd_per_hour_portfolio committed_used_mean",
        chosen,
    ),
    step("nodes_paid_mean", nodes_paid_mean),
    step("commitment_utilization", commitment_utilization),
    *(
        step(f"usd_per_month_{part}", usd_per_month_of, nodes=nodes, usd_per_node_hour=f"{offer}_usd_per_node_hour")
        for part, nodes, offer in (
            ("committed", "nodes_committed", "committed"),
            ("swing", "nodes_on_demand_mean", "on_demand"),
            ("spot", "nodes_spot_mean", "spot"),
            ("released", "nodes_needed_mean", "on_demand"),
        )
    ),
)
"""From the fleet and its prices to what is bought; they stand before the bill, which may be that of the portfolio."""

ALWAYS_ON = "usd_per_hour_always_on"


def _bill_of_an_hour(purchase_code: Array, usd_per_hour_portfolio: Array, usd_per_hour_always_on: Array) -> Array:
    """Mean bill of an hour [USD/h] where a portfolio is bought, else that of the fleet of the peak."""
    return np.where(purchase_code == _PORTFOLIO, usd_per_hour_portfolio, usd_per_hour_always_on)


def with_portfolio(bill: Step) -> tuple[Step, ...]:
    """The step that makes `usd_per_hour`, and the one that takes the bill of the portfolio where one is bought."""
    return replace(bill, outputs=(ALWAYS_ON,)), step("usd_per_hour", _bill_of_an_hour)
