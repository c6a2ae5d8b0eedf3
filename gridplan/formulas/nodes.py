"""How whole replicas fit whole nodes.

A replica narrower than a node never straddles two; one wider takes whole nodes of its own, and each of its
tensor-parallel groups lies in one node where it fits: only pipeline stages and data-parallel ranks cross hosts. Source:
"Capacity Planning: From Traffic Profile to GPU Count", section 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact, floor_exact

__all__ = ["gpus_stranded", "nodes_for", "nodes_per_replica", "replicas_in_nodes", "replicas_per_node"]


@count
def replicas_per_node(gpus_per_node: Value, gpus_per_replica: Value) -> Value:
    """Whole replicas in one node: floor(gpus_per_node / gpus_per_replica) [count], 0 when a replica is wider.

    >>> replicas_per_node(8, 3), replicas_per_node(8, 16)
    (2, 0)
    """
    return floor_exact(gpus_per_node / gpus_per_replica)


@count
def nodes_per_replica(gpus_per_node: Value, gpus_per_replica: Value, tensor_parallel: Value = 1.0) -> Value:
    """Nodes that one replica reaches into [count], 1 when it fits a node.

    A wider one of g = gpus_per_replica / tensor_parallel groups takes ceil(g / floor(gpus_per_node / tensor_parallel))
    nodes, and where a group itself is wider than a node (trays of one fabric) g ceil(tensor_parallel / gpus_per_node).
    Four groups of six GPUs fill four nodes of eight, not three:

    >>> nodes_per_replica(8, 16), nodes_per_replica(8, 4), nodes_per_replica(8, 24, 6), nodes_per_replica(4, 16, 16)
    (2, 1, 4, 4)
    """
    return _reach(gpus_per_node, gpus_per_replica, tensor_parallel)


@count
def nodes_for(replicas: Value, gpus_per_node: Value, gpus_per_replica: Value, tensor_parallel: Value = 1.0) -> Value:
    """Nodes that hold so many replicas [count]: ceil(n / per node), or n times the nodes of a wide replica.

    >>> nodes_for(10, 8, 1), nodes_for(5, 8, 3), nodes_for(3, 8, 16)
    (2, 3, 6)
    """
    per_node = np.maximum(floor_exact(gpus_per_node / gpus_per_replica), 1.0)
    return ceil_exact(replicas / per_node) * _reach(gpus_per_node, gpus_per_replica, tensor_parallel)


@count
def replicas_in_nodes(
    nodes: Value, gpus_per_node: Value, gpus_per_replica: Value, tensor_parallel: Value = 1.0
) -> Value:
    """Whole replicas that so many nodes hold [count]; the inverse of `nodes_for`.

    >>> replicas_in_nodes(2, 8, 1), replicas_in_nodes(3, 8, 3), replicas_in_nodes(5, 8, 16)
    (16, 6, 2)
    """
    per_node = np.maximum(floor_exact(gpus_per_node / gpus_per_replica), 1.0)
    return floor_exact(nodes / _reach(gpus_per_node, gpus_per_replica, tensor_parallel)) * per_node


@count
def gpus_stranded(nodes: Value, gpus_per_node: Value, gpus_per_replica: Value, tensor_parallel: Value = 1.0) -> Value:
    """GPUs of the nodes that no whole replica can use [count].

    >>> gpus_stranded(3, 8, 3), gpus_stranded(2, 8, 1)
    (6, 0)
    """
    per_node = np.maximum(floor_exact(gpus_per_node / gpus_per_replica), 1.0)
    held = floor_exact(nodes / _reach(gpus_per_node, gpus_per_replica, tensor_parallel)) * per_node
    return nodes * gpus_per_node - held * gpus_per_replica


def _reach(gpus_per_node: Any, gpus_per_replica: Any, tensor_parallel: Any) -> Any:
    groups = gpus_per_replica / tensor_parallel
    in_a_node = np.maximum(floor_exact(gpus_per_node / tensor_parallel), 1.0)
    wide = ceil_exact(ceil_exact(groups) / in_a_node) * ceil_exact(tensor_parallel / gpus_per_node)
    return np.where(gpus_per_replica <= gpus_per_node, 1.0, wide) + 0.0 * gpus_per_node
