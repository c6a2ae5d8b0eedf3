"""What is bought for the load over a month: the portfolio of a cell, its bill, and the bill of nodes that are released.

All of this is on request: a cube that asks for none of it, and buys no portfolio, computes none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.fleet import gpus_deployed
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.levels import (
    BY_LEVEL,
    FOR_NEED,
    NODES_AT,
    NODES_SLO_AT,
    Cells,
    in_parts,
    load_profile,
    needed_mean,
    nodes_at,
    nodes_slo_at,
)
from gridplan.formulas.load_profile import LEVELS

__all__ = ["PORTFOLIO", "with_portfolio"]

_PORTFOLIO = code("purchase", "portfolio")


_OFFERS = ("committed_usd_per_node_hour", "on_demand_usd_per_node_hour", "spot_usd_per_node_hour", "spot_share")
_NEEDED = ("replicas_needed_mean", "replicas_active_needed_mean")
_FOR_CHOICE = tuple(dict.fromkeys(("purchase_code", "slots_basis", *_OFFERS, *FOR_NEED, *NODES_SLO_AT)))


def chosen(load_levels: Array, level_weights: Array, *of_cells: Array) -> tuple[Array, ...]:
    """What `formulas.portfolio` says of cells that buy one; null in others, and where nodes are bought already."""

    def choice(load: Array, weights: Array, here: Cells) -> Array:
        needed, _, _ = nodes_at(load, *(here[name] for name in NODES_AT))
        slo = nodes_slo_at(load, *(here[name] for name in NODES_SLO_AT))
        # Slots say nothing of limits, so none of their nodes may be taken back.
        slo = np.where(here["slots_basis"] == 1.0, needed, slo)
        # The nodes of a wide replica are bought alike: what is chosen are groups of them.
        group = here["replica_nodes"]
        *prices, share = (here[name] for name in _OFFERS)
        found = kernels.portfolio(needed / group, slo / group, weights, *(price * group for price in prices), share)
        *nodes, bill, used = found
        return np.array(np.broadcast_arrays(*(item * group for item in nodes), bill, used * group))

    cells = dict(zip(_FOR_CHOICE, of_cells, strict=True))
    bought = (cells["purchase_code"] == _PORTFOLIO) & np.isnan(cells["nodes_given"])
    bought = bought & ~np.isnan(cells["replicas_fractional"])
    return tuple(in_parts(choice, 5, (load_levels, level_weights), cells, bought))


def nodes_paid_mean(nodes_committed: Array, nodes_on_demand_mean: Array, nodes_spot_mean: Array) -> Array:
    """Nodes paid in a mean hour [nodes], needed or not."""
    return nodes_committed + nodes_on_demand_mean + nodes_spot_mean


def usd_per_month_of(nodes: Array, usd_per_node_hour: Array, hours_per_month: Array) -> Array:
    """Bill of a month for nodes of one offer [USD/month]; no nodes cost nothing, also where there is no such offer."""
    return np.where(nodes == 0.0, 0.0, nodes * usd_per_node_hour) * hours_per_month


def commitment_utilization(committed_used_mean: Array, nodes_committed: Array) -> Array:
    """Share of the committed node-hours that are needed [1]; null where none are committed."""
    return np.where(nodes_committed == 0.0, np.nan, committed_used_mean / nodes_committed)


def mean_price(usd_per_hour_portfolio: Array, nodes_paid_mean: Array, gpus_per_node: Array) -> Array:
    """Mean price of the GPU-hours paid [USD/h]."""
    return usd_per_hour_portfolio / np.where(nodes_paid_mean == 0.0, np.nan, nodes_paid_mean * gpus_per_node)


def usd_of_nodes(
    usd_per_gpu_hour_portfolio: Array, hours_per_month: Array, gpus_per_node: Array, nodes: Array, of_these: Array
) -> Array:
    """Bill of a month at the mean price for nodes that are not among `of_these` [USD/month]."""
    return np.asarray(usd_per_gpu_hour_portfolio * hours_per_month * gpus_per_node * np.maximum(nodes - of_these, 0.0))


def nodes_of_replicas(replicas_needed_mean: Array, gpus_per_replica: Array, gpus_per_node: Array) -> Array:
    """Nodes that the GPUs of the planned replicas would fill in a mean hour [nodes]."""
    return replicas_needed_mean * gpus_per_replica / gpus_per_node


PORTFOLIO: tuple[Step, ...] = (
    Step(BY_LEVEL, load_profile, ("peak_to_average", "load_floor", "hourly_load"), width=LEVELS),
    Step(("nodes_needed_mean", *_NEEDED), needed_mean, (*BY_LEVEL, *FOR_NEED)),
    Step(
        (
            *("nodes_committed", "nodes_on_demand_mean", "nodes_spot_mean", "usd_per_hour_portfolio"),
            "committed_used_mean",
        ),
        chosen,
        (*BY_LEVEL, *_FOR_CHOICE),
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
    step("usd_per_gpu_hour_portfolio", mean_price),
    step("gpus_paid_portfolio", gpus_deployed, nodes="nodes_paid_mean"),
    step("nodes_filled_mean", nodes_of_replicas),
    step("idle_portfolio", usd_of_nodes, nodes="nodes_committed", of_these="committed_used_mean"),
    step("stranded_portfolio", usd_of_nodes, nodes="nodes_needed_mean", of_these="nodes_filled_mean"),
)
"""From the fleet and its prices to what is bought; they stand before the bill, which may be that of the portfolio."""


def _instead(purchase_code: Array, of_portfolio: Array, otherwise: Array) -> Array:
    """The value of the portfolio in cells that buy one, else that of the fleet of the peak."""
    return np.where(purchase_code == _PORTFOLIO, of_portfolio, otherwise)


_INSTEAD: Mapping[str, str] = {
    "usd_per_hour": "usd_per_hour_portfolio",
    "usd_per_gpu_hour_used": "usd_per_gpu_hour_portfolio",
    "gpus_paid": "gpus_paid_portfolio",
    "replicas_held": "replicas_needed_mean",
    "replicas_active_held": "replicas_active_needed_mean",
    "replicas_at_peak": "replicas_at_average",
    "usd_per_month_idle": "idle_portfolio",
    "usd_per_month_stranded": "stranded_portfolio",
}
"""Figures of a fleet that is always on, and what a portfolio has in their place: hours are staffed one by one, so the
headroom is above the load of each hour, and idle are commitments that an hour does not need."""


def with_portfolio(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps with the bill and the price of the portfolio in cells that buy one."""
    found: list[Step] = []
    for item in steps:
        name = item.outputs[0]
        if name in _INSTEAD:
            always_on = f"{name}_always_on"
            found += [
                replace(item, outputs=(always_on,)),
                step(name, _instead, of_portfolio=_INSTEAD[name], otherwise=always_on),
            ]
        else:
            found.append(item)
    return tuple(found)
