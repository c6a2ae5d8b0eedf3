"""Spares for lost failure domains, and what a loss leaves, counted in replicas.

A lost GPU takes its whole replica with it, so spares are replicas; a lost node takes all replicas in it (or the one
wide replica that reaches into it), a lost zone its share of an even spread. Source: "Capacity Planning: From Traffic
Profile to GPU Count", sections 4.4 and 6, which plans a spare GPU and asks for a lost node: two different spares. What
whole nodes add to that is in `survival`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count, is_labelled
from gridplan.formulas._types import Value
from gridplan.formulas.zones import units_left, units_over_zones

__all__ = [
    "FAILURE_DOMAINS",
    "failure_domain_code",
    "lost_outright",
    "lost_zones",
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
def lost_outright(units: Value, failure_domain_code: Value, replicas_per_node: Value) -> Value:
    """Replicas that so many lost domains take, wherever they are: u, u max(1, replicas per node) for nodes [count].

    0 for zones, whose loss depends on the spread (`lost_zones`), and where no unit is lost.

    >>> lost_outright(2, failure_domain_code("gpu"), 8), lost_outright(2, failure_domain_code("node"), 8)
    (2, 16)
    """
    each: Any = np.where(failure_domain_code == _NODE, np.maximum(replicas_per_node, 1.0), 1.0)
    return np.where((failure_domain_code == _ZONE) | (units == 0.0), 0.0 * units, units * each)


@count
def lost_zones(units: Value, failure_domain_code: Value) -> Value:
    """Zones among so many lost domains [count]: all of them where the domain is the zone, else 0.

    >>> lost_zones(2, failure_domain_code("zone")), lost_zones(2, failure_domain_code("node"))
    (2, 0)
    """
    return np.where(failure_domain_code == _ZONE, units, 0.0 * units)


@count
def spare_replicas(
    replicas_active: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas to add so that `redundancy` lost domains leave at least replicas_active [count].

    r for gpu and replica; r max(1, replicas per node) for node; for zone r ceil(active / (zones - r)), which is the
    least number whose even spread keeps that many. NaN where zones do not exceed r > 0.

    >>> spare_replicas(9, 1, failure_domain_code("gpu"), 8, 1), spare_replicas(9, 1, failure_domain_code("node"), 8, 1)
    (1, 8)
    >>> spare_replicas(9, 1, failure_domain_code("zone"), 8, 3)
    5
    """
    return _planned(replicas_active, redundancy, failure_domain_code, replicas_per_node, zones) - replicas_active


@count
def replicas(
    replicas_active: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas of a plan that survives `redundancy` lost domains: active plus `spare_replicas` [count].

    >>> replicas(9, 1, failure_domain_code("gpu"), 8, 1), replicas(9, 1, failure_domain_code("zone"), 8, 3)
    (10, 14)
    """
    return _planned(replicas_active, redundancy, failure_domain_code, replicas_per_node, zones)


@count
def replicas_after_loss(
    replicas_deployed: Value, lost_units: Value, lost_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Replicas that are left when `lost_units` domains fail at their worst, at least 0 [count].

    Each lost gpu or replica takes one replica, each node max(1, replicas per node), each zone its share of an even
    spread of replicas, the fullest first.

    >>> replicas_after_loss(16, 1, failure_domain_code("gpu"), 8, 1)
    15
    >>> replicas_after_loss(16, 1, failure_domain_code("node"), 8, 1)
    8
    """
    left = _kernel(units_left)(replicas_deployed, _kernel(lost_zones)(lost_units, lost_domain_code), zones)
    return np.maximum(left - _kernel(lost_outright)(lost_units, lost_domain_code, replicas_per_node), 0.0)


@count
def most_active(
    replicas_deployed: Value, redundancy: Value, failure_domain_code: Value, replicas_per_node: Value, zones: Value
) -> Value:
    """Largest replicas_active whose plan with redundancy fits the replicas deployed [count]; 0 when none does.

    What `replicas_after_loss` leaves of them; the inverse of `replicas`. NaN where zones do not exceed redundancy > 0.

    >>> most_active(16, 1, failure_domain_code("gpu"), 8, 1), most_active(16, 1, failure_domain_code("node"), 8, 1)
    (15, 8)
    >>> most_active(14, 1, failure_domain_code("zone"), 8, 3), most_active(13, 1, failure_domain_code("zone"), 8, 3)
    (9, 8)
    """
    none = (failure_domain_code == _ZONE) & (redundancy > 0.0) & ~(zones > redundancy)
    left = _kernel(replicas_after_loss)(replicas_deployed, redundancy, failure_domain_code, replicas_per_node, zones)
    return np.where(none, np.nan, left)


def _planned(active: Any, redundancy: Any, code: Any, per_node: Any, zones: Any) -> Any:
    kept = active + _kernel(lost_outright)(redundancy, code, per_node)
    return _kernel(units_over_zones)(kept, _kernel(lost_zones)(redundancy, code), zones)


def _kernel(function: Any) -> Any:
    """The function without its face for scalars and labels."""
    return function.__wrapped__
