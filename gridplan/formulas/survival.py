"""Fleets of whole nodes that survive losses: the least number of nodes, and the replicas that a loss leaves.

A fleet of N nodes holds floor(N / m) units: a node with p replicas (m = 1), or the m nodes of one wide replica (p = 1).
Units are spread over zones as evenly as possible. Lost are the c fullest zones first, then n replicas outright: those
of single GPUs and replicas, and p for each node. The two questions of a loss are asked of what is left: does it carry
the peak at lambda_safe each (headroom), or at lambda_instance each (the limits hold)?
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count
from gridplan.formulas._types import Value
from gridplan.formulas.zones import units_left, units_over_zones

__all__ = ["nodes_surviving", "replicas_left"]


@count
def nodes_surviving(
    replicas_kept: Value,
    lost_outright: Value,
    lost_zones: Value,
    zones: Value,
    replicas_per_node: Value,
    nodes_per_replica: Value,
) -> Value:
    """Least number of nodes of which the losses leave so many replicas [count].

    N = m u with u = `units_over_zones`(ceil((kept + n) / p)): one node fewer leaves fewer replicas. Nine replicas of
    one GPU on 8-GPU nodes with a spare GPU, a spare node, a spare zone of three:

    >>> nodes_surviving(9, 1, 0, 1, 8, 1), nodes_surviving(9, 8, 0, 1, 8, 1), nodes_surviving(9, 0, 1, 3, 8, 1)
    (2, 3, 3)
    """
    per_unit = np.maximum(replicas_per_node, 1.0)
    units = np.ceil((replicas_kept + lost_outright) / per_unit)
    over: Any = units_over_zones.__wrapped__  # type: ignore[attr-defined]
    return over(units, lost_zones, zones) * nodes_per_replica


@count
def replicas_left(
    nodes: Value,
    lost_outright: Value,
    lost_zones: Value,
    zones: Value,
    replicas_per_node: Value,
    nodes_per_replica: Value,
) -> Value:
    """Replicas that the losses leave of a fleet whose nodes are full, at least 0 [count].

    Two 8-GPU nodes after a lost GPU, after a lost node; three over three zones after a lost zone:

    >>> replicas_left(2, 1, 0, 1, 8, 1), replicas_left(2, 8, 0, 1, 8, 1), replicas_left(3, 0, 1, 3, 8, 1)
    (15, 8, 16)
    """
    per_unit = np.maximum(replicas_per_node, 1.0)
    left: Any = units_left.__wrapped__  # type: ignore[attr-defined]
    return np.maximum(left(np.floor(nodes / nodes_per_replica), lost_zones, zones) * per_unit - lost_outright, 0.0)
