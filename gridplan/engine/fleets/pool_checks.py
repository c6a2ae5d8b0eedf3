"""What a pool asks of a grid: an axis of services, and one kind of node for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.engine.fleets.figures import stop
from gridplan.engine.resolve import Resolver, space_of
from gridplan.errors import ContractError, Problem, suggestion

__all__ = ["NO_PORTFOLIO", "check_axis", "check_figures", "check_one_fleet", "differing"]

_NO_SERVICES = {
    "scenario": "scenarios are alternatives, which do not run side by side",
    "instance": "a pool has one kind of node (`pair` mixes two)",
    "gpu": "a pool has one kind of node (`pair` mixes two instances)",
    "gpus_per_node": "a pool has one kind of node",
    "purchase": "a pool is bought in one way",
    "failure_policy": "policies are alternatives",
}
"""Axes whose labels are no services that share a fleet."""

_LABELS = ("instance", "gpu", "priced_by")
_NUMBERS = ("gpus_per_node", "usd_per_node_hour", "usd_per_gpu_hour", "zones")

NO_PORTFOLIO = (
    "purchase portfolio follows the load of one service over a month, which a shared fleet does not have: choose "
    "another purchase"
)


def check_axis(grid: Grid, over: str, lost: object, at: Mapping[str, str | float]) -> None:
    """Raise what is wrong with the question itself."""
    axes = space_of(grid).labels
    problems = []
    row = dictionary().get(over)
    if over in axes and row is not None and row.labels and over not in _NO_SERVICES:
        problems.append(Problem(f"{over} cannot be pooled: its labels are alternatives, not services", key="over"))
    elif over in _NO_SERVICES:
        problems.append(Problem(f"{over} cannot be pooled: {_NO_SERVICES[over]}", key="over"))
    elif over not in axes:
        named = f"it has {', '.join(axes)}" if axes else "it has none"
        problems.append(Problem(f"{over} is not an axis of this grid: {named}{suggestion(over, axes)}", key="over"))
    elif over in at:
        problems.append(Problem(f"{over} is what is pooled: it cannot be fixed at one label", key="at"))
    if isinstance(lost, bool) or not isinstance(lost, int) or lost < 0:
        problems.append(Problem(f"must be a whole number from 0, not {lost}", key="lost"))
    if problems:
        raise ContractError(problems)


def check_one_fleet(inputs: Inputs, over: str) -> None:
    """Raise where the labels along `over` would stand on nodes of different kinds, with their values."""
    resolver = Resolver(inputs.grid)
    fields = {**{name: inputs.labels[name] for name in _LABELS}, **{name: inputs.values[name] for name in _NUMBERS}}
    kind_differs = False
    for name, item in fields.items():
        said = "" if kind_differs and name != "zones" else differing(inputs, item, over)
        if not said:
            continue
        kind_differs = kind_differs or name != "zones"
        hint = ": state one instance, or gpus_per_node and a price" if name == "priced_by" else ""
        key = "instance" if name == "priced_by" else name
        resolver.problem(
            f"{name} differs along {over} ({said}), and a pool is one fleet of one kind of node{hint}", key
        )
    for name, units in (("failure_domain", "redundancy"), ("maintenance_domain", "maintenance_units")):
        of_zones = inputs.values[f"{name}_code"].data == code("failure_domain", "zone")
        if (of_zones & (inputs.values[units].data > 0)).any():
            resolver.problem(
                f"{name} zone cannot be planned for a pool: which zone holds how much of a service is up to the "
                "packing; set it to gpu, replica or node, and see what a lost zone leaves",
                name,
            )
    if (inputs.values["purchase_code"].data == code("purchase", "portfolio")).any():
        resolver.problem(NO_PORTFOLIO, "purchase")
    stop(resolver)


def check_figures(inputs: Inputs, node: Field, prices: Mapping[str, Field], over: str) -> None:
    """Raise where no cell knows the size of a node, or where nodes have another price for another label."""
    resolver = Resolver(inputs.grid)
    if np.isnan(node.data).all():
        resolver.problem("gpus_per_node is needed for a pool: an instance, or gpus_per_node", "gpus_per_node")
    for name, item in prices.items():
        said = differing(inputs, item, over)
        if said:
            unit = name.removeprefix("base_")
            resolver.problem(f"{unit} differs along {over} ({said}), and a pool is bought in one way", "purchase")
    stop(resolver)


def differing(inputs: Inputs, item: Field, along: str) -> str:
    """The values of a field along an axis, in the first cell where they differ; empty where they nowhere do.

    Numbers that are not given are equal to one another.
    """
    place = inputs.space.names.index(along)
    if item.data.shape[place] == 1:
        return ""
    rows = np.moveaxis(item.data, place, -1).reshape(-1, item.data.shape[place]).tolist()
    for row in rows:
        shown = [_shown(value) for value in row]
        if len(set(shown)) > 1:
            labels = inputs.space.labels[along]
            return ", ".join(f"{_shown(label)}: {value}" for label, value in zip(labels, shown, strict=True))
    return ""


def _shown(value: object) -> str:
    if value is None or value != value:
        return "none"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
