"""The fleet at each level of load: levels and their share of time, and the nodes that each of them needs.

Arrays by level have their axis of levels first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gridplan.chain import fleet, redundancy
from gridplan.chain.graph import Array, spread, step
from gridplan.chain.kernels import kernels

__all__ = [
    "BY_LEVEL",
    "FOR_NEED",
    "NODES_AT",
    "NODES_SLO_AT",
    "Cells",
    "in_parts",
    "load_profile",
    "needed_mean",
    "nodes_at",
    "nodes_slo_at",
]

BY_LEVEL = ("load_levels", "level_weights")

AT_ONCE = 131_072
"""Levels of all cells that are planned together (policy): as many numbers as a block has cells, whatever the levels."""


_NOT_BOUGHT, _NONE_LOST, _ONE_ZONE = np.full((), np.nan), np.zeros(()), np.ones(())

Cells = Mapping[str, Array]
"""Arrays of cells by the name of the quantity."""


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
    lambda_instance: Array,
    redundancy_basis_code: Array,
    policy_lost_outright: Array,
    policy_lost_zones: Array,
    zones: Array,
    node_replicas: Array,
    replica_nodes: Array,
    availability_target: Array,
    unit_availability: Array,
    replicas_in_unit: Array,
) -> tuple[Array, Array, Array]:
    """Nodes, replicas with spares and active ones for each level of load, planned as those of the peak.

    An hour without load needs none: its spares would protect nothing.
    """
    load = load_levels * arrival_rate
    active = fleet.replicas_active(fleet.replicas_fractional(load, lambda_safe))
    target = redundancy.target(active, redundancy.replicas_slo(load, lambda_instance), redundancy_basis_code)
    kept = redundancy.kept_available(
        redundancy.kept(target, policy_lost_outright), availability_target, unit_availability, replicas_in_unit
    )
    replicas = redundancy.replicas_of_any(active, kept, policy_lost_zones, zones)
    nodes = redundancy.nodes_of_any(active, kept, policy_lost_zones, zones, node_replicas, replica_nodes, _NOT_BOUGHT)
    nobody = load == 0.0
    return np.where(nobody, 0.0, nodes), np.where(nobody, 0.0, replicas), active


def nodes_slo_at(
    load_levels: Array,
    arrival_rate: Array,
    lambda_instance: Array,
    maintenance_lost_outright: Array,
    node_replicas: Array,
    replica_nodes: Array,
) -> Array:
    """Nodes that each level of load needs for its limits beside planned maintenance: no headroom, no spares [nodes]."""
    active = redundancy.replicas_slo(load_levels * arrival_rate, lambda_instance) + maintenance_lost_outright
    return redundancy.nodes(active, _NONE_LOST, _ONE_ZONE, node_replicas, replica_nodes, _NOT_BOUGHT)


NODES_AT, NODES_SLO_AT = (step("nodes", function).inputs[1:] for function in (nodes_at, nodes_slo_at))
"""What nodes depend on beside the level."""

FOR_NEED = ("nodes_given", "replicas_fractional", *NODES_AT)
"""What they depend on beside: without replicas of the peak there is no plan to look at by the hour."""


def needed_mean(load_levels: Array, level_weights: Array, *of_cells: Array) -> tuple[Array, ...]:
    """Nodes, replicas and active replicas of a mean hour; null for nodes already bought, which nobody takes back."""

    def means(load: Array, weights: Array, here: Cells) -> Array:
        needed = nodes_at(load, *(here[name] for name in NODES_AT))
        return np.stack([np.sum(weights * item, axis=0) for item in np.broadcast_arrays(*needed)])

    cells = dict(zip(FOR_NEED, of_cells, strict=True))
    wanted = np.isnan(cells["nodes_given"]) & ~np.isnan(cells["replicas_fractional"])
    return tuple(in_parts(means, 3, (load_levels, level_weights), cells, wanted))


def in_parts(
    function: Callable[[Array, Array, Cells], Array],
    count: int,
    by_level: tuple[Array, Array],
    cells: Cells,
    wanted: Array,
) -> Array:
    """`count` results of a function of levels, weights and cells where they are wanted, else null.

    A few cells at a time, so that levels take no more memory than any other step.
    """
    shapes = [*(item.shape[1:] for item in by_level), *map(np.shape, cells.values()), wanted.shape]
    shape = np.broadcast_shapes(*shapes)
    levels = [item.reshape(len(item), -1) for item in by_level]
    columns = [
        np.broadcast_to(np.arange(flat.shape[1]).reshape(item.shape[1:]), shape).ravel()
        for flat, item in zip(levels, by_level, strict=True)
    ]
    values = {name: np.broadcast_to(item, shape).ravel() for name, item in cells.items()}
    places = np.flatnonzero(np.broadcast_to(wanted, shape))
    results = np.full((count, columns[0].size), np.nan)
    together = max(1, AT_ONCE // len(levels[0]))
    for first in range(0, len(places), together):
        part = places[first : first + together]
        load, weights = (item[:, column[part]] for item, column in zip(levels, columns, strict=True))
        results[:, part] = function(load, weights, {name: item[part] for name, item in values.items()})
    return results.reshape(count, *shape)
