"""What the loss of one GPU, one node or one zone leaves, beside planned maintenance: two questions, two rates."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import choices
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.redundancy import left_of, stated_losses
from gridplan.formulas.fleet import carries

__all__ = ["SURVIVAL", "availability", "held", "replicas_left", "safe_rate", "slo_rate"]

_DOMAINS = ("gpu", "node", "zone")
"""What may be lost; the loss of a replica is that of one of its GPUs."""


def replicas_left(
    domain: str,
    replicas_deployed: Array,
    maintenance_units: Array,
    maintenance_domain_code: Array,
    node_replicas: Array,
    zones: Array,
) -> Array:
    """Replicas left when one `domain` fails while maintenance goes on [replicas]; null where a node has no size."""
    lost = np.full((1,) * replicas_deployed.ndim, float(choices("failure_domain").index(domain)))
    failed = stated_losses(np.ones_like(lost), lost, node_replicas)
    out = stated_losses(maintenance_units, maintenance_domain_code, node_replicas)
    return left_of(replicas_deployed, failed[0] + out[0], failed[1] + out[1], zones, node_replicas)


def slo_rate(replicas_left: Array, lambda_instance: Array, slots_basis: Array) -> Array:
    """Arrival rate at which limits still hold [req/s]; null where the rate of a replica counts slots."""
    return replicas_left * np.where(slots_basis == 1, np.nan, lambda_instance)


def safe_rate(replicas_left: Array, lambda_safe: Array) -> Array:
    """Arrival rate carried with the headroom kept [req/s]."""
    return replicas_left * lambda_safe


def held(arrival_rate: Array, carried: Array) -> Array:
    """1 where the peak is carried, else 0; null where that is not known."""
    result: Array = carries(arrival_rate, carried)
    return result


def availability(
    replicas_deployed: Array,
    needed: Array,
    maintenance_lost_outright: Array,
    unit_availability: Array,
    replicas_in_unit: Array,
) -> Array:
    """Share of time in which enough of the replicas deployed are up [1], beside planned maintenance."""
    units = np.floor(replicas_deployed / replicas_in_unit)
    enough = np.ceil((needed + maintenance_lost_outright) / replicas_in_unit)
    result: Array = kernels.enough_up(units, enough, unit_availability)
    return result


def _of(domain: str) -> tuple[Step, ...]:
    left = f"replicas_after_{domain}_loss"
    reads = ("replicas_deployed", "maintenance_units", "maintenance_domain_code", "node_replicas", "zones")
    safe, slo = f"arrival_rate_safe_after_{domain}_loss", f"arrival_rate_slo_after_{domain}_loss"
    return (
        Step((left,), lambda *arrays: replicas_left(domain, *arrays), reads),
        step(safe, safe_rate, replicas_left=left),
        step(slo, slo_rate, replicas_left=left),
        step(f"survives_{domain}_loss_headroom", held, carried=safe),
        step(f"survives_{domain}_loss_slo", held, carried=slo),
    )


SURVIVAL: tuple[Step, ...] = tuple(item for domain in _DOMAINS for item in _of(domain))
"""The steps of all domains, in their order."""
