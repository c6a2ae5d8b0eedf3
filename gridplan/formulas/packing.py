"""Replicas of several kinds on one fleet of equal nodes: first-fit decreasing, and what lost nodes take.

A kind is a width in GPUs and a number of replicas; kinds stand on the last axis of every argument that has one, all
axes before it are cells. A replica that fits a node never straddles two; one that spans several (`replica_nodes` above
1) takes whole nodes of its own. Nodes that hold the same are counted, not listed: a step of the packing splits at most
one such group, so there are never more than two for each kind, whatever the number of replicas. Source: D. S. Johnson,
"Near-optimal bin packing algorithms" (1973), for first-fit decreasing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gridplan.formulas._broadcast import is_labelled
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact, floor_exact

__all__ = ["Packed", "first_fit_decreasing", "kinds_of", "most_lost", "nodes_alone"]

_Array = npt.NDArray[np.float64]

_NUMBERS_AT_ONCE = 1 << 22
"""Numbers of one intermediate array (policy): some 30 MB; more cells are packed in several rounds."""


class Packed(NamedTuple):
    """A packing, cells first.

    `nodes` [count] are all nodes, NaN where a number is not known. `bins` [..., group] counts nodes that hold the same,
    in the order in which they were opened, and `held` [..., group, kind] says what: replicas of each kind in one of
    them. `wide` [..., kind] are replicas that span nodes of their own, `spans` [..., kind] how many each.
    """

    nodes: _Array
    bins: _Array
    held: _Array
    wide: _Array
    spans: _Array


def first_fit_decreasing(
    replicas: Value, gpus_per_replica: Value, replica_nodes: Value, gpus_per_node: Value
) -> Packed:
    """Pack kinds of replicas on nodes: the widest first, each into the first node that has room.

    replicas [count], gpus_per_replica [GPUs] and replica_nodes [nodes] have the kinds on their last axis; gpus_per_node
    [GPUs] has cells only. Of equal widths the first kind goes first. NaN in a cell makes its `nodes` NaN.

    Five replicas of 6 GPUs, four of 2 and three of 1 on nodes of 8: five nodes with a 6 each, of which four take a 2
    and the last two of the 1; one more node for the third 1.

    >>> found = first_fit_decreasing([5, 4, 3], [6, 2, 1], [1, 1, 1], 8)
    >>> float(found.nodes), found.bins.tolist(), found.held.tolist()[1]
    (6.0, [4.0, 1.0, 1.0], [1.0, 0.0, 2.0])

    Replicas of 16 GPUs take two nodes each, beside all others:

    >>> float(first_fit_decreasing([3, 4], [16, 4], [2, 1], 8).nodes)
    8.0
    """
    counts, widths, spans, node = kinds_of(replicas, gpus_per_replica, replica_nodes, gpus_per_node)
    shape, kinds = counts.shape[:-1], counts.shape[-1]
    counts, widths, spans = (item.reshape(-1, kinds) for item in (counts, widths, spans))
    node = node.reshape(-1)
    known = ~np.isnan(counts * widths * spans).any(axis=-1) & ~np.isnan(node)
    wide = np.where(known[:, np.newaxis] & (spans > 1.0), counts, 0.0)
    narrow = np.where(known[:, np.newaxis] & (spans <= 1.0), counts, 0.0)
    # A replica wider than its only node fits nowhere: such a cell is unknown, not packed wrongly.
    known &= ~((narrow > 0.0) & (widths > node[:, np.newaxis])).any(axis=-1)
    narrow = np.where(known[:, np.newaxis], narrow, 0.0)
    widths = np.where(narrow > 0.0, widths, 1.0)
    step = max(1, _NUMBERS_AT_ONCE // (6 * (kinds + 1) * (kinds + 1)))
    parts = [
        _packed(narrow[place : place + step], widths[place : place + step], np.where(known, node, 1.0)[place:][:step])
        for place in range(0, max(len(node), 1), step)
    ]
    bins, held = (np.concatenate(part) for part in zip(*parts, strict=True))
    groups = max(1, int((bins > 0.0).sum(axis=-1).max(initial=0)))
    nodes = np.where(
        known, bins.sum(axis=-1) + (wide * np.where(known[:, np.newaxis], spans, 0.0)).sum(axis=-1), np.nan
    )
    return Packed(
        nodes.reshape(shape),
        bins[:, :groups].reshape(*shape, groups),
        held[:, :groups].reshape(*shape, groups, kinds),
        wide.reshape(*shape, kinds),
        spans.reshape(*shape, kinds),
    )


def most_lost(packed: Packed, lost_nodes: Value) -> _Array:
    """The most replicas of each kind that `lost_nodes` failing nodes take [count], kinds last.

    Each kind is asked by itself: its worst nodes are those that hold most of it, and a node that a wide replica spans
    takes all of it. So the figures of two kinds may come from different nodes. NaN where the packing is.

    >>> packed = first_fit_decreasing([5, 4, 3], [6, 2, 1], [1, 1, 1], 8)
    >>> most_lost(packed, 1).tolist(), most_lost(packed, 2).tolist()
    ([1.0, 1.0, 2.0], [2.0, 2.0, 3.0])
    """
    lost = np.asarray(lost_nodes, dtype=np.float64)[..., np.newaxis, np.newaxis]
    order = np.argsort(-packed.held, axis=-2, kind="stable")
    fullest = np.take_along_axis(packed.held, order, axis=-2)
    bins = np.take_along_axis(np.broadcast_to(packed.bins[..., np.newaxis], order.shape), order, axis=-2)
    before = np.cumsum(bins, axis=-2) - bins
    taken = (np.clip(lost - before, 0.0, bins) * fullest).sum(axis=-2)
    result: _Array = taken + np.minimum(lost[..., 0], packed.wide) + 0.0 * packed.nodes[..., np.newaxis]
    return result


def nodes_alone(replicas: Value, gpus_per_replica: Value, replica_nodes: Value, gpus_per_node: Value) -> _Array:
    """Nodes of each kind on a fleet of its own [count]; arguments as for `first_fit_decreasing`, kinds last.

    >>> nodes_alone([5, 4, 3], [6, 2, 16], [1, 1, 2], 8).tolist()
    [5.0, 1.0, 6.0]
    """
    counts, widths, spans, node = kinds_of(replicas, gpus_per_replica, replica_nodes, gpus_per_node)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_node = floor_exact(node[..., np.newaxis] / widths)
        narrow = ceil_exact(counts / per_node)
    result: _Array = np.where(spans > 1.0, counts * spans, np.where(per_node > 0.0, narrow, np.nan))
    return result


def kinds_of(
    replicas: Value, gpus_per_replica: Value, replica_nodes: Value, gpus_per_node: Value
) -> tuple[_Array, _Array, _Array, _Array]:
    """The arguments of a packing as float64 arrays of one shape, and the node without the axis of the kinds.

    Raises TypeError for labelled arrays: which of their dimensions holds the kinds is for the caller to say.
    """
    if any(is_labelled(item) for item in (replicas, gpus_per_replica, replica_nodes, gpus_per_node)):
        raise TypeError("plain arrays are due here, with the kinds of replicas on the last axis")
    node = np.asarray(gpus_per_node, dtype=np.float64)[..., np.newaxis]
    arrays: list[Any] = [
        np.atleast_1d(np.asarray(item, np.float64)) for item in (replicas, gpus_per_replica, replica_nodes)
    ]
    counts, widths, spans, node = np.broadcast_arrays(*arrays, node)
    return counts, widths, spans, node[..., 0]


def _packed(counts: _Array, widths: _Array, node: _Array) -> tuple[_Array, _Array]:
    """Groups of equal nodes and what one of each holds; [cell, kind] and [cell] in, [cell, group, ...] out."""
    cells, kinds = counts.shape
    rows = np.arange(cells)
    order = np.argsort(-widths, axis=-1, kind="stable")
    free, bins, held = np.zeros((cells, 0)), np.zeros((cells, 0)), np.zeros((cells, 0, kinds))
    for place in range(kinds):
        kind = order[:, place]
        free, bins, held = _placed(free, bins, held, kind, widths[rows, kind], counts[rows, kind], node)
        # Empty groups go last and are cut off: a kind adds two at most, by one group split in three or by new nodes.
        first = np.argsort(bins == 0.0, axis=-1, kind="stable")[:, : 2 * (place + 1)]
        free, bins = (np.take_along_axis(item, first, axis=1) for item in (free, bins))
        held = np.take_along_axis(held, first[..., np.newaxis], axis=1)
    return bins, np.where(bins[..., np.newaxis] > 0.0, held, 0.0)


def _placed(
    free: _Array, bins: _Array, held: _Array, kind: npt.NDArray[np.intp], width: _Array, count: _Array, node: _Array
) -> tuple[_Array, _Array, _Array]:
    """Put `count` replicas of one kind into the nodes in their order, the rest into new ones.

    Every group becomes three, in this order: nodes filled with the kind, one that takes the last of it, untouched ones.
    """
    fits = floor_exact(free / width[:, np.newaxis])
    room = fits * bins
    taken = np.clip(count[:, np.newaxis] - (np.cumsum(room, axis=-1) - room), 0.0, room)
    filled = floor_exact(taken / np.maximum(fits, 1.0))
    last = taken - filled * fits
    opened = (last > 0.0).astype(np.float64)
    rest = count - taken.sum(axis=-1)
    fits_new = floor_exact(node / width)
    filled_new = floor_exact(rest / fits_new)
    last_new = rest - filled_new * fits_new

    def thirds(old: tuple[_Array, _Array, _Array], new: tuple[_Array, _Array]) -> _Array:
        parts = np.stack(old, axis=-1).reshape(len(width), -1)
        return np.concatenate([parts, np.stack(new, axis=-1)], axis=-1)

    more = thirds((fits, last, np.zeros_like(fits)), (fits_new, last_new))
    bins = thirds((filled, opened, bins - filled - opened), (filled_new, (last_new > 0.0).astype(np.float64)))
    free = thirds((free, free, free), (node, node)) - more * width[:, np.newaxis]
    empty = np.zeros((len(width), 2, held.shape[-1]))
    own = (kind[:, np.newaxis] == np.arange(held.shape[-1])).astype(np.float64)
    held = np.concatenate([np.repeat(held, 3, axis=1), empty], axis=1) + more[..., np.newaxis] * own[:, np.newaxis, :]
    return free, bins, held
