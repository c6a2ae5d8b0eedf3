"""The figures of a pool: packing and bill, what each label takes and keeps after a loss, what stands in each zone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import NULL, choices
from gridplan.chain.graph import Array
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.engine.fleets.dataset import Figure
from gridplan.formulas.fleet import holds
from gridplan.formulas.packing import Packed, first_fit_decreasing, most_lost, nodes_alone
from gridplan.formulas.packing_bound import nodes_bound
from gridplan.formulas.zone_spread import zone_spread

__all__ = ["PRICES", "READ", "pool_figures"]

_PACKED = ("replicas", "gpus_per_replica", "replica_nodes", "gpus_per_node")
PRICES = ("base_usd_per_node_hour", "base_usd_per_gpu_hour")

READ = (
    *(*_PACKED, *PRICES, "zones", "arrival_rate", "infeasible_reason_code"),
    *("lambda_safe", "lambda_instance", "slots_basis"),
)
"""Quantities of the plan, and inputs, that a pool is made of."""


class _Kinds:
    """Arrays with the labels of one axis moved to the end, one entry for each, and back again."""

    def __init__(self, inputs: Inputs, over: str) -> None:
        self.name, self.place = over, inputs.space.names.index(over)
        self.labels = inputs.space.labels[over]

    def last(self, data: Array) -> Array:
        moved = np.moveaxis(data, self.place, -1)
        return np.broadcast_to(moved, (*moved.shape[:-1], len(self.labels)))

    def one(self, data: Array) -> Array:
        """Of an array that is the same for all labels."""
        return self.last(data)[..., 0]

    def back(self, data: Array) -> Array:
        return np.moveaxis(data, -1, self.place)

    def cells(self, data: Array) -> Array:
        """An array without the axis, with one of size 1 in its place."""
        return np.expand_dims(data, self.place)


def pool_figures(inputs: Inputs, figures: Mapping[str, Field], over: str, lost: int) -> tuple[dict[str, Figure], int]:
    """All figures of the pool of the labels along `over`, of which `lost` nodes fail, and how many zones they have."""
    kinds = _Kinds(inputs, over)
    reason = _reason(figures)
    every = _dims(figures, *_PACKED) | reason.dims | {over}
    cells = every - {over}
    counts, missing = np.broadcast_arrays(kinds.last(figures["replicas"].data), kinds.last(reason.data))
    counts = np.where(missing == NULL, counts, np.nan)
    widths, spans = (kinds.last(figures[name].data) for name in ("gpus_per_replica", "replica_nodes"))
    node = kinds.one(figures["gpus_per_node"].data)
    packed = first_fit_decreasing(counts, widths, spans, node)
    alone, bound = nodes_alone(counts, widths, spans, node), nodes_bound(counts, widths, spans, node)
    used, left = counts * widths, counts - most_lost(packed, lost)
    gpus = used.sum(axis=-1)
    of_pool = {
        "pool_nodes": packed.nodes,
        "pool_nodes_bound": bound,
        "pool_gap": packed.nodes - bound,
        "pool_nodes_separate": alone.sum(axis=-1),
        "pool_gpus": gpus,
        "pool_gpus_stranded": packed.nodes * node - gpus,
    }
    of_label = {
        "replicas": counts,
        "pool_label_nodes_separate": alone,
        "pool_label_share": used / gpus[..., np.newaxis],
    }
    found = {name: Figure(kinds.cells(item), cells) for name, item in of_pool.items()}
    found |= _bills(figures, found, cells, kinds)
    found |= _first_missing(kinds, missing, cells)
    found["infeasible_reason"] = _along(figures["infeasible_reason_code"], over)
    found["gpus_per_replica"] = _along(figures["gpus_per_replica"], over)
    found |= {name: Figure(kinds.back(item), every) for name, item in of_label.items()}
    found |= _held(figures, kinds.back(left), every)
    zones = int(figures["zones"].data.max())
    if zones > 1:
        found |= _zones(figures, packed, kinds, every, zones)
    return found, zones


def _dims(figures: Mapping[str, Field], *names: str) -> frozenset[str]:
    return frozenset[str]().union(*(figures[name].dims for name in names))


def _along(item: Field, over: str) -> Figure:
    """A field along `over`, whether it differs there or not: each label is told what is its own."""
    return Figure(item.data, item.dims | {over})


def _reason(figures: Mapping[str, Field]) -> Field:
    """Code of what keeps a label from having replicas, among those of `pool_infeasible_reason`; null where it has."""
    names = choices("pool_infeasible_reason")
    own, replicas, node = (figures[name] for name in ("infeasible_reason_code", "replicas", "gpus_per_node"))
    without = np.where(np.isnan(replicas.data), names.index("no_plan"), NULL)
    without = np.where(np.isnan(node.data), names.index("no_node_size"), without)
    # The reasons of a cell come first in that list, in the order of their own codes.
    return Field(np.where(own.data != NULL, own.data, without), own.dims | replicas.dims | node.dims)


def _first_missing(kinds: _Kinds, missing: Array, cells: frozenset[str]) -> dict[str, Figure]:
    """The first label without a plan and its reason, null where all have one."""
    place = np.argmax(missing != NULL, axis=-1)
    reason = np.take_along_axis(missing, place[..., np.newaxis], axis=-1)[..., 0]
    shown = [label if isinstance(label, str) else f"{label:.12g}" for label in kinds.labels]
    labels = np.array([*shown, None], dtype=object)[np.where(reason == NULL, len(shown), place)]
    return {
        "pool_infeasible_label": Figure(kinds.cells(np.asarray(labels, dtype=object)), cells),
        "pool_infeasible_reason": Figure(kinds.cells(reason), cells),
    }


def _bills(
    figures: Mapping[str, Field], found: Mapping[str, Figure], cells: frozenset[str], kinds: _Kinds
) -> dict[str, Figure]:
    """The bill of the pool and of separate fleets: by nodes where these have a price, else by the GPUs of replicas."""
    of_node, of_gpu = (kinds.cells(kinds.one(figures[name].data)) for name in PRICES)
    dims = cells | (_dims(figures, *PRICES) - {kinds.name})
    by_gpus = found["pool_gpus"].data * of_gpu
    return {
        name: Figure(np.where(np.isnan(of_node), by_gpus, found[nodes].data * of_node), dims)
        for name, nodes in (
            ("pool_usd_per_hour", "pool_nodes"),
            ("pool_usd_per_hour_separate", "pool_nodes_separate"),
        )
    }


def _held(figures: Mapping[str, Field], left: Array, every: frozenset[str], of: str = "") -> dict[str, Figure]:
    """Whether what is left of each label keeps its headroom, and whether it holds its limits: two questions."""
    rate, safe, most, slots = (
        figures[name].data for name in ("arrival_rate", "lambda_safe", "lambda_instance", "slots_basis")
    )
    holding = np.where(slots == 1.0, np.nan, most)
    safely, dims = _dims(figures, "arrival_rate", "lambda_safe"), _dims(figures, "lambda_instance", "slots_basis")
    return {
        f"pool_label_replicas_left{of}": Figure(left, every),
        f"pool_label_headroom_kept{of}": Figure(holds(rate, left, safe), every | safely),
        f"pool_label_slo_held{of}": Figure(holds(rate, left, holding), every | safely | dims),
    }


def _zones(
    figures: Mapping[str, Field], packed: Packed, kinds: _Kinds, every: frozenset[str], most: int
) -> dict[str, Figure]:
    """Nodes of each zone, replicas of each label there, and what the loss of its fullest zone leaves of a label."""
    zones = figures["zones"]
    number = kinds.one(zones.data)
    shape = np.broadcast_shapes(number.shape, packed.nodes.shape)
    wider = (np.broadcast_to(item, (*shape, *item.shape[packed.nodes.ndim :])) for item in packed)
    nodes, replicas = zone_spread(Packed(*wider), number, most)
    dims = every | zones.dims | {kinds.name}
    left = np.nansum(replicas, axis=-2) - np.fmax.reduce(replicas, axis=-2)
    return {
        "pool_zone_nodes": Figure(kinds.cells(nodes), dims - {kinds.name}, ("zone",)),
        "pool_zone_replicas": Figure(np.moveaxis(replicas, -1, kinds.place), dims, ("zone",)),
        **_held(figures, kinds.back(left), dims, "_zone"),
    }
