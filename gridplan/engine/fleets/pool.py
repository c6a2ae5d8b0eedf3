"""`gridplan.pool`: the services along one axis packed into one fleet of equal nodes, in every other cell of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridplan.contract.grid import Grid
from gridplan.engine.fleets.dataset import fleet_dataset
from gridplan.engine.fleets.figures import about, asked_of, figures_of
from gridplan.engine.fleets.pool_checks import check_axis, check_figures, check_one_fleet
from gridplan.engine.fleets.pool_figures import PRICES, READ, pool_figures

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["pool"]

_INSTEAD = {
    "nodes_given": "a pool counts the nodes it needs",
    "lost_units": "a pool loses whole nodes, as many as its argument lost says",
    "lost_domain": "a pool loses whole nodes",
    "budget_usd_per_month": "a pool is not judged by it, nor are the plans in it",
    "power_budget_kw": "a pool is not judged by it, nor are the plans in it",
    "spot_share": "all nodes of a pool are bought as purchase says",
}
"""Inputs that a pool does not read, and what stands in their place."""


def pool(
    grid: Grid, over: str = "workload", *, lost: int = 1, at: Mapping[str, str | float] | None = None
) -> xr.Dataset:
    """Pack the services along an axis into one fleet.

    Each label of `over` is a service with its own replicas, spares among them, as its cell plans them. All run on the
    same nodes at the same time: replicas that fit a node never straddle two, wider ones take nodes of their own, and
    nodes are filled by first-fit decreasing.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`. Size and price of a node, GPU, instance and zones must not differ along
        `over`.
    over
        The axis whose labels share a fleet.
    lost
        Nodes that fail [nodes]; for each label the worst ones, those that hold most of it.
    at
        Labels at which other axes are fixed.

    Returns
    -------
    xarray.Dataset
        On the axes that change the pool: nodes, a bound below which no packing goes (where `pool_gap` is 0 the packing
        is minimal), nodes of separate fleets, GPUs, bill. Along `over` as well: what each label takes, and what the
        loss leaves it. With more than one zone, nodes and replicas of each. Where a label has no plan the pool has
        none: `pool_infeasible_label` names the first, `infeasible_reason` says why for each.

    Raises
    ------
    ContractError
        For anything wrong with the question or the grid, with every problem.
    GridTooLargeError
        Above 2 million cells; fewer where more than eight labels share the fleet.
    """
    check_axis(grid, over, lost, at or {})
    inputs, fixed = asked_of(grid, at)
    check_one_fleet(inputs, over)
    figures = figures_of(inputs, READ, fixed, width=len(inputs.space.labels[over]))
    check_figures(inputs, figures["gpus_per_node"], {name: figures[name] for name in PRICES}, over)
    found, zones = pool_figures(inputs, figures, over, lost)
    said = about(inputs, fixed, _INSTEAD, used="zones")
    labels = {"zone": [str(place + 1) for place in range(zones)]}
    return fleet_dataset(inputs, found, labels, {**said, "pool_over": over, "lost_nodes": lost})
