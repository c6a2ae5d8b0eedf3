"""How few nodes any packing of several kinds of replicas can need: where a packing meets it, it is proven minimal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.packing import kinds_of
from gridplan.rounding import ceil_exact, floor_exact

__all__ = ["nodes_bound"]

_Array = npt.NDArray[np.float64]


def nodes_bound(replicas: Value, gpus_per_replica: Value, replica_nodes: Value, gpus_per_node: Value) -> _Array:
    """Nodes that no packing goes below [count]; arguments as for `first_fit_decreasing`, kinds last.

    Of the replicas that fit a node, the largest of: all GPUs over those of a node; the bound L2 of Martello and Toth,
    in which replicas wider than half a node take one each and only so much fits beside them; and, for every width, the
    replicas at least that wide over how many of that width a node holds. Nodes of wide replicas are added. Source:
    S. Martello, P. Toth, "Lower bounds and reduction procedures for the bin packing problem" (1990).

    Ten replicas of 3 GPUs are 30 GPUs, four nodes of 8, but two fit a node. Three of 5 GPUs and three of 4 are 27 GPUs,
    and no 4 fits beside a 5:

    >>> float(nodes_bound([10], [3], [1], 8)), float(nodes_bound([3, 3], [5, 4], [1, 1], 8))
    (5.0, 5.0)
    """
    counts, widths, spans, node = kinds_of(replicas, gpus_per_replica, replica_nodes, gpus_per_node)
    narrow = np.where(spans > 1.0, 0.0, counts)
    taken = np.where(spans > 1.0, counts * spans, 0.0).sum(axis=-1)
    widths = np.where((narrow > 0.0) | np.isnan(widths), widths, 1.0)
    fitting = (widths <= node[..., np.newaxis]).all(axis=-1)
    best = np.zeros(node.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for least in (np.zeros(node.shape), *np.moveaxis(widths, -1, 0)):
            best = np.maximum(best, _beside_wide(narrow, widths, node, least))
            of_width = np.where(widths >= least[..., np.newaxis], narrow, 0.0).sum(axis=-1)
            per_node = np.where(least > 0.0, floor_exact(node / np.where(least > 0.0, least, 1.0)), np.inf)
            best = np.maximum(best, ceil_exact(of_width / per_node))
    result: _Array = np.where(fitting, best + taken, np.nan)
    return result


def _beside_wide(counts: _Array, widths: _Array, node: _Array, least: _Array) -> _Array:
    """The bound L2 at one threshold: replicas narrower than `least` are left out, those wider than node - least
    share with nothing that counts. A threshold above half a node says no more than 0, and counts as that."""
    size = node[..., np.newaxis]
    floor = np.where(least > node / 2.0, 0.0, least)[..., np.newaxis]
    alone = widths > size - floor
    half = ~alone & (widths > size / 2.0)
    small = (widths <= size / 2.0) & (widths >= floor)
    of_half = np.where(half, counts, 0.0).sum(axis=-1)
    room = of_half * node - np.where(half, counts * widths, 0.0).sum(axis=-1)
    over = np.where(small, counts * widths, 0.0).sum(axis=-1) - room
    result: _Array = np.where(alone, counts, 0.0).sum(axis=-1) + of_half + np.maximum(ceil_exact(over / node), 0.0)
    return result
