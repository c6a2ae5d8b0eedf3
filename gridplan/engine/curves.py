"""Whether a cube computes latencies in each cell or reads them from curves: decided by its shape alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from gridplan import chain
from gridplan.chain.curves import LOADS
from gridplan.chain.replica import REPLICA
from gridplan.engine.blocks import BLOCK_CELLS
from gridplan.engine.field import Space
from gridplan.store.blocks import Block, cut

__all__ = ["curves_pay"]

CURVE_CELLS = 16_384
"""Replicas up to which every curve of a figure is computed once for the whole cube (policy): 40 MiB a figure."""


def curves_pay(space: Space, steps: tuple[chain.Step, ...], dims: Mapping[str, frozenset[str]]) -> bool:
    """True where so many cells share a replica that its curve costs less than its cells.

    Few replicas have their curves computed once. Many have them computed block by block, which pays where a block holds
    enough cells of each: where the axes that tell replicas apart are the outer ones.
    """
    known = chain.propagate(steps, dims)
    of_replica = frozenset[str]().union(*(known[name] for name in REPLICA))
    shared = known["planned_rate_per_replica"] - of_replica
    sizes = dict(zip(space.names, space.shape, strict=True))
    if prod(sizes[name] for name in shared) < LOADS:
        return False
    if prod(sizes[name] for name in of_replica) <= CURVE_CELLS:
        return True
    block = next(iter(cut(Block((0,) * len(space.shape), space.shape), BLOCK_CELLS)))
    held = dict(zip(space.names, block.shape, strict=True))
    return prod(held[name] for name in shared) >= LOADS
