"""Spares for lost failure domains, and what a loss leaves.

A lost GPU takes its whole replica with it, so spares are replicas; a lost node takes all replicas in it (or the one
wide replica that reaches into it), a lost zone its share of an even spread. Source: "Capacity Planning: From Traffic
Profile to GPU Count", sections 4.4 and 6, which plans a spare GPU and asks for a lost node: two different spares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count, is_labelled
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact, floor_exact

__all__ = [
    "FAILURE_DOMAINS",
    "failure_domain_code",
    "most_active",
    "replicas",
    "replicas_after_loss",
    "spare_replicas",
]

FAILURE_DOMAINS = ("gpu", "replica", "node", "zone")
"""What can fail at once; a code is the position in this tuple."""

_NODE, _ZONE = float(FAILURE_DOMAINS.index("node")), float(FAILURE_DOMAINS.index("zone"))


def failure_domain_code(failure_domain: Value) -> Value:
    """Code of a failure domain, or of an array of them: the position in FAILURE_DOMAINS, as float64.

    Raises ValueError for a name that is not one.

    >>> failure_domain_code("node"), failure_domain_code(["gpu", "zone"]).tolist()
    (2.0, [0.0, 3.0])
    """
    labels = np.asarray(failure_domain).astype(str)
    known = np.array(FAILURE_DOMAINS)
    unknown = sorted(set(labels.ravel().tolist()) - set(FAILURE_DOMAINS))
    if unknown:
        raise ValueError(f"unknown failure domain {', '.join(map(repr, unknown))}: one of {', '.join(FAILURE_DOMAINS)}")
    codes = np.argmax(labels[..., np.newaxis] == known, axis=-1).astype(np.float64)
    if is_labelled(failure_domain):
        return failure_domain.copy(data=codes)
    return float(codes) if codes.ndim == 0 else codes


@count
def spare_replicas(
    replicas_active: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas to add so that `redundancy` lost domains leave at least replicas_active [count].

    r for gpu and replica; r max(1, replicas per node) for node; for zone the least n - active with
    n - r ceil(n / zones) >= active, which is r ceil(active / (zones - r)). NaN where zones do not exceed r > 0.

    >>> spare_replicas(9, 1, failure_domain_code("gpu"), 8, 1), spare_replicas(9, 1, failure_domain_code("node"), 8, 1)
    (1, 8)
    >>> spare_replicas(9, 1, failure_domain_code("zone"), 8, 3)
    5
    """
    # NaN active stays NaN in the spares, too.
    return _spare(replicas_active, redundancy, failure_domain_code, replicas_per_node, zones) + 0.0 * replicas_active


@count
def replicas(
    replicas_active: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas of a plan that survives `redundancy` lost domains: active plus `spare_replicas` [count].

    >>> replicas(9, 1, failure_domain_code("gpu"), 8, 1), replicas(9, 1, failure_domain_code("zone"), 8, 3)
    (10, 14)
    """
    return replicas_active + _spare(replicas_active, redundancy, failure_domain_code, replicas_per_node, zones)


@count
def replicas_after_loss(
    replicas_deployed: Value, lost_units: Value, lost_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas that are left when `lost_units` domains fail at their worst, at least 0 [count].

    Each lost gpu or replica takes one replica, each node max(1, replicas per node), each zone ceil(deployed / zones).

    >>> replicas_after_loss(16, 1, failure_domain_code("gpu"), 8, 1)
    15
    >>> replicas_after_loss(16, 1, failure_domain_code("node"), 8, 1)
    8
    """
    hit: Any = np.where(lost_domain_code == _NODE, np.maximum(replicas_per_node, 1.0), 1.0)
    if np.any(lost_domain_code == _ZONE):
        hit = np.where(lost_domain_code == _ZONE, ceil_exact(replicas_deployed / zones), hit)
    return np.maximum(replicas_deployed - lost_units * hit, 0.0)


@count
def most_active(
    replicas_deployed: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Largest replicas_active whose plan with redundancy fits the replicas deployed [count]; 0 when none does.

    The inverse of `replicas`. For zones a plan of n keeps n - r ceil(n / z), which is largest either at n = deployed or
    at the last multiple of z below it. NaN where zones do not exceed r > 0.

    >>> most_active(16, 1, failure_domain_code("gpu"), 8, 1), most_active(16, 1, failure_domain_code("node"), 8, 1)
    (15, 8)
    >>> most_active(14, 1, failure_domain_code("zone"), 8, 3), most_active(13, 1, failure_domain_code("zone"), 8, 3)
    (9, 8)
    """
    spare = redundancy * np.where(failure_domain_code == _NODE, np.maximum(replicas_per_node, 1.0), 1.0)
    active = replicas_deployed - spare
    if np.any(failure_domain_code == _ZONE):
        kept = np.where((zones > redundancy) | (redundancy == 0.0), zones - redundancy, np.nan)
        at_all = replicas_deployed - redundancy * ceil_exact(replicas_deployed / zones)
        at_multiple = floor_exact(replicas_deployed / zones) * kept
        active = np.where(failure_domain_code == _ZONE, np.maximum(at_all, at_multiple), active)
    return np.maximum(active, 0.0)


def _spare(active: Any, redundancy: Any, code: Any, per_node: Any, zones: Any) -> Any:
    spare = redundancy * np.where(code == _NODE, np.maximum(per_node, 1.0), 1.0)
    if np.any(code == _ZONE):
        kept = np.where(zones > redundancy, zones - redundancy, np.nan)
        across = np.where(redundancy == 0.0, 0.0 * active, redundancy * ceil_exact(active / kept))
        spare = np.where(code == _ZONE, across, spare)
    return spare
