"""Options that no other one beats in every respect: pure array functions, exact, ties kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dominators"]

CHUNK = 96
"""Options that are compared with each other and with the front at once: the fastest of 64 to 512 (policy)."""


def dominators(costs: NDArray[np.float64], group: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """For each row of `costs` the row that dominates it, or -1 where none does; less is better in every column.

    One row dominates another if it is nowhere greater and somewhere less; equal rows do not dominate each other. The
    row named is itself dominated by none. Rows of different groups are not compared. Two columns take a sort; more of
    them n times the size of the front.

    >>> dominators(np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 2.0], [3.0, 2.0], [4.0, 1.0]])).tolist()
    [-1, -1, -1, 1, -1]
    """
    count, width = costs.shape
    groups = np.zeros(count, np.int64) if group is None else group
    if count == 0:
        return np.zeros(0, np.int64)
    if width <= 2:
        other = costs[:, 1] if width == 2 else np.zeros(count)
        return _of_two(costs[:, 0], other, groups)
    order = np.lexsort((*costs.T[::-1], groups))
    found = np.full(count, -1, np.int64)
    edges = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1, append=groups[order[-1]] + 1))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[start:stop]
        found[rows] = _of_sorted(costs[rows], rows)
    return found


def _of_two(first: NDArray[np.float64], second: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorted by the first column, a row is dominated by the first one of the least second column up to it, unless they
    are equal."""
    order = np.lexsort((second, first, group))
    x, y, own = first[order], second[order], group[order]
    # Ranks fall from group to group by more than they differ inside one, so that the running least starts anew.
    step = np.cumsum(np.diff(own, prepend=own[0]) != 0)
    ranked = np.unique(y, return_inverse=True)[1].astype(np.int64) - step * (len(y) + 1)
    low = np.minimum.accumulate(ranked)
    fell = np.diff(low, prepend=low[0] + 1) < 0
    best = np.maximum.accumulate(np.where(fell, np.arange(len(low)), 0))
    beaten = (x[best] != x) | (y[best] != y)
    found = np.full(len(order), -1, np.int64)
    found[order[beaten]] = order[best[beaten]]
    return found


def _of_sorted(costs: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in lexicographic order: only earlier ones can dominate, and of these one of the front does."""
    count, width = costs.shape
    found = np.full(count, -1, np.int64)
    front = np.zeros(count, np.int64)
    size = 0
    for start in range(0, count, CHUNK):
        part = np.arange(start, min(start + CHUNK, count))
        for begin in range(0, size, 16 * CHUNK):
            if not len(part):
                break
            held = front[begin : min(begin + 16 * CHUNK, size)]
            beats = _beats(costs[held], costs[part], width)
            hit = beats.any(axis=0)
            found[part[hit]] = rows[held[beats.argmax(axis=0)[hit]]]
            part = part[~hit]
        if not len(part):
            continue
        # The first that dominates a row here is dominated by none: whatever dominated it would come earlier still.
        beats = _beats(costs[part], costs[part], width)
        hit = beats.any(axis=0)
        found[part[hit]] = rows[part[beats.argmax(axis=0)[hit]]]
        rest = part[~hit]
        front[size : size + len(rest)] = rest
        size += len(rest)
    return found


def _beats(ones: NDArray[np.float64], others: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
    """Whether each of `ones` (rows) dominates each of `others` (columns)."""
    no_greater = np.ones((len(ones), len(others)), bool)
    less = np.zeros_like(no_greater)
    for column in range(width):
        mine, theirs = ones[:, column, None], others[None, :, column]
        no_greater &= mine <= theirs
        less |= mine < theirs
    return no_greater & less
