"""What a pair asks of a grid: kinds of nodes along an axis, one load for all of them, and a loss it can count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.fleets.figures import stop
from gridplan.engine.fleets.pool_checks import NO_PORTFOLIO, differing
from gridplan.engine.resolve import Resolver, space_of
from gridplan.errors import ContractError, Problem

__all__ = ["check_axis", "check_inputs"]

_SHARED = ("arrival_rate", "redundancy", "failure_domain", "redundancy_basis")
"""What is one for a fleet, whatever its nodes are."""


def check_axis(grid: Grid, at: Mapping[str, str | float]) -> None:
    """Raise what is wrong with the question itself."""
    axes = space_of(grid).labels
    if "instance" not in axes:
        raise ContractError([Problem("a pair needs the axis instance, with two kinds of nodes or more", grid.path)])
    if "instance" in at:
        raise ContractError([Problem("instance is what is paired: it cannot be fixed at one label", key="at")])


def check_inputs(inputs: Inputs) -> None:
    """Raise where the load differs by kind, nodes have no price of their own, or the loss is of another sort."""
    resolver, values = Resolver(inputs.grid), inputs.values
    for name in _SHARED:
        said = differing(inputs, inputs.stated[name], "instance")
        if said:
            resolver.problem(f"{name} differs along instance ({said}), and a fleet of two kinds has one", name)
    if (values["failure_domain_code"].data == code("failure_domain", "zone")).any():
        resolver.problem(
            "failure_domain zone cannot be planned for two kinds of nodes: which zone holds which kind is not known; "
            "set failure_domain to gpu, replica or node",
            "failure_domain",
        )
    if (np.nan_to_num(values["maintenance_units"].data) > 0).any():
        resolver.problem(
            "maintenance_units cannot be planned for two kinds of nodes: add them to redundancy where both are the "
            "same kind of unit, and set maintenance_units: 0",
            "maintenance_units",
        )
    if not np.isnan(values["usd_per_gpu_hour"].data).all():
        resolver.problem(
            "usd_per_gpu_hour is the price of single GPUs, and a pair buys whole nodes: leave it to the instances, or "
            "give usd_per_node_hour by instance",
            "usd_per_gpu_hour",
        )
    if not np.isnan(values["availability_target"].data).all():
        resolver.problem(
            "availability_target counts units of one kind, and a pair has two: give redundancy in its place",
            "availability_target",
        )
    if (values["purchase_code"].data == code("purchase", "portfolio")).any():
        resolver.problem(NO_PORTFOLIO, "purchase")
    if not np.isnan(values["nodes_given"].data).all():
        resolver.problem("nodes_given fixes the fleet that a pair is to find: leave it out", "nodes_given")
    stop(resolver)
