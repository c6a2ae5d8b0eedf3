"""What spares, losses and whole nodes need: the size of a node, enough zones, times between failures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.engine.field import Field, combine
from gridplan.engine.needs_memory import has_values
from gridplan.engine.resolve import Resolver

__all__ = ["check_fleet", "spares_by_availability"]

LEAST_UP = 0.01
"""Share of time in which a unit must be up for a plan by availability (policy)."""

_SIZED = {
    "nodes_given": "nodes_given needs the size of a node: an instance, or gpus_per_node",
    "usd_per_node_hour": "usd_per_node_hour needs the size of a node: gpus_per_node",
}
"""Inputs that speak of nodes, and what is missing where a node has no size."""

_LOSSES = {
    "redundancy": ("failure_domain", "failure_domain_code"),
    "maintenance_units": ("maintenance_domain", "maintenance_domain_code"),
}
"""What a plan must survive: the number of units, and the input that says of what."""


def spares_by_availability(resolver: Resolver, values: dict[str, Field]) -> None:
    """Where a share of time is asked for, the spares follow from it: no failure domain is spared beside it."""
    asked, stated = values["availability_target"], resolver.peek("redundancy")
    if np.isnan(asked.data).all():
        return
    both = combine(lambda a, r: ~np.isnan(a) & (r > 0), asked, stated)
    if both.data.any():
        message = "availability_target takes the place of redundancy: give one of them"
        resolver.problem(message, "availability_target")
    chosen = combine(lambda r, a: np.where(np.isnan(a), r, 0.0), values["redundancy"], asked)
    values["redundancy"] = chosen


def check_fleet(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note every problem of spares, losses and nodes."""
    _check_sizes(resolver, values)
    _check_zones(resolver, values)
    _check_availability(resolver, values)
    _check_basis(resolver, values)
    _check_caps(resolver, values)


def _check_caps(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """A limit of power that cannot be judged is none."""
    capped = has_values(values, "power_budget_kw")
    said = {
        "pue": "power_budget_kw is power of the facility, which is pue times that of the machines",
        "power_w_per_gpu": "power_budget_kw counts the power of GPUs, and the catalog has none for some of them",
    }
    for name, why in said.items():
        if (capped & np.isnan(values[name].data)).any():
            resolver.problem(f"{name} is needed: {why}", name)


def _domain(values: Mapping[str, Field], coded: str, label: str) -> np.ndarray:
    return np.asarray(values[coded].data == code("failure_domain", label))


def _check_sizes(resolver: Resolver, values: Mapping[str, Field]) -> None:
    no_node = np.isnan(values["gpus_per_node"].data)
    for units, (name, coded) in _LOSSES.items():
        node = _domain(values, coded, "node") & (values[units].data > 0)
        if (node & no_node).all():
            resolver.problem(f"{name} node needs the size of a node: an instance, or gpus_per_node", "gpus_per_node")
    for name, message in _SIZED.items():
        if (has_values(values, name) & no_node).any():
            resolver.problem(message, "gpus_per_node")


def _check_zones(resolver: Resolver, values: Mapping[str, Field]) -> None:
    lost = sum(
        np.where(_domain(values, coded, "zone"), values[units].data, 0.0) for units, (_, coded) in _LOSSES.items()
    )
    if ((lost > 0) & (values["zones"].data <= lost)).any():
        resolver.problem(
            "failure_domain zone needs more zones than redundancy (and zones in maintenance): set zones, or nothing is "
            "left after the loss",
            "zones",
        )


def _check_availability(resolver: Resolver, values: Mapping[str, Field]) -> None:
    asked = has_values(values, "availability_target")
    for name in ("mtbf_h", "mttr_h"):
        if (asked & np.isnan(values[name].data)).any():
            resolver.problem(f"{name} is needed: availability_target counts units that fail and are repaired", name)
    _check_share(resolver, values, asked)
    if (asked & _domain(values, "failure_domain_code", "zone")).any():
        message = "availability_target counts many units that fail independently: failure_domain zone has too few"
        resolver.problem(message, "failure_domain")
    node = asked & _domain(values, "failure_domain_code", "node")
    if (node & np.isnan(values["gpus_per_node"].data)).any():
        resolver.problem("failure_domain node needs the size of a node: an instance, or gpus_per_node", "gpus_per_node")


def _check_share(resolver: Resolver, values: Mapping[str, Field], asked: np.ndarray) -> None:
    """Units that are hardly ever up are a slip, and no number of them is a plan."""
    degrees = [values[f"{name}_parallel"].data for name in ("tensor", "pipeline", "data")]
    width = np.where(_domain(values, "failure_domain_code", "gpu"), degrees[0] * degrees[1] * degrees[2], 1.0)
    up = (values["mtbf_h"].data / (values["mtbf_h"].data + values["mttr_h"].data)) ** width
    if (asked & (up < LEAST_UP)).any():
        message = f"a unit that is up less than {LEAST_UP:.0%} of the time cannot be planned for: mtbf_h and mttr_h"
        resolver.problem(message, "mtbf_h")


def _check_basis(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Limits can be kept only by a rate at which they hold."""
    model = values["capacity_model_code"].data
    slots = (model == code("capacity_model", "littles_law")) & np.isnan(values["decode_tokens_per_s"].data)
    endless = (model == code("capacity_model", "queueing")) & (values["any_limit"].data == 0)
    by_slo = values["redundancy_basis_code"].data == code("redundancy_basis", "slo")
    if (by_slo & (slots | endless)).any():
        resolver.problem(
            "redundancy_basis slo needs a rate at which limits hold: capacity_model littles_law counts slots, and "
            "queueing without a limit knows saturation only; keep headroom, or state limits",
            "redundancy_basis",
        )
