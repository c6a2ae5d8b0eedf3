"""What if: the contract with policies and prices of a page in place of its own, checked as any contract is."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from gridplan.contract import loads_grid
from gridplan.contract.bounds import bounds_of
from gridplan.contract.grid import Grid
from gridplan.contract.margins import MARGINS
from gridplan.contract.sections import LIMITS
from gridplan.contract.yaml import parse_document
from gridplan.dictionary import Quantity, dictionary
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem
from gridplan.quantities import accepted_units

__all__ = ["SOURCE", "about_inputs", "changed_contract", "offered", "without_places"]

SOURCE = "changed in the explorer"
"""What an explanation says of where such a value comes from."""

_PERCENTILE = "_slo_percentile"
_NODE_SIZE = "gpus_per_node"
"""No policy and no price, but a price of one needs it where no instance is named."""

_SECTIONS = ("slo", "policy", "deployment", "capacity")
"""In the order in which a page offers their inputs."""


def offered(grid: Grid) -> tuple[str, ...]:
    """Inputs that may be changed: policies and prices that are numbers or one of a few labels, and no axes.

    Of `rho_target` and the margins it is the product of only what is stated: the others would contradict it.
    """
    axes = space_of(grid).labels
    stated = {*axes, *grid.given}
    margins = not stated.isdisjoint(MARGINS)
    beside = {"rho_target"} if margins else set(MARGINS)
    left = beside if margins != ("rho_target" in stated) else set()
    return tuple(name for name, row in dictionary().items() if name not in (axes.keys() | left) and _may_change(row))


def _may_change(row: Quantity) -> bool:
    if row.section not in _SECTIONS or not row.is_input:
        return False
    if row.is_label and not (row.labels or row.name.endswith(_PERCENTILE)):
        return False
    if row.name == _NODE_SIZE:
        return True
    return row.cls == "policy" or row.unit.startswith("USD")


def about_inputs(grid: Grid) -> list[dict[str, Any]]:
    """What a page says of each input that may be changed: meaning, unit, labels or bounds, whether it is stated."""
    known = sorted(offered(grid), key=lambda name: _SECTIONS.index(dictionary()[name].section))
    return [_about(name, dictionary()[name], name in grid.given) for name in known]


def _about(name: str, row: Quantity, stated: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "title": row.long_name, "unit": row.unit, "stated": stated}
    about["group"] = row.section
    if row.labels:
        return about | {"labels": list(row.labels)}
    if row.is_label:
        return about | {"bounds": "mean, or 50 to 99.9", "units": ""}
    return about | {"bounds": str(bounds_of(name)), "units": "" if row.unit == "1" else accepted_units(row.unit)}


def changed_contract(grid: Grid, changes: Mapping[str, str]) -> Grid:
    """The contract with these inputs stated anew, each as one value for every label; scenarios change it as before.

    A number is in the unit of the dictionary, a text has its own (`25 ms`).

    Raises
    ------
    ContractError
        For values that a contract may not state, alone or together.
    """
    data: Any = parse_document(grid.text, grid.path).data
    for name, value in changes.items():
        *above, last = _path(name)
        holder = data
        for key in above:
            if not isinstance(holder.get(key), dict):
                holder[key] = {}
            holder = holder[key]
        holder[last] = {"value": _number(value), "source": SOURCE}
    try:
        # JSON is YAML in which every text is in quotes, so none is taken for a number.
        return loads_grid(json.dumps(data), grid.path, grid.folder)
    except ContractError as error:
        raise without_places(error) from None


def without_places(error: ContractError) -> ContractError:
    """The same problems without lines of a text that nobody wrote."""
    return ContractError([Problem(item.message, key=_last(item.key)) for item in error.problems])


def _path(name: str) -> tuple[str, ...]:
    """Where a contract states an input."""
    if name == "goodput_target":
        return "slo", "goodput"
    for label in LIMITS:
        for ending, key in (("slo_s", "limit"), ("slo_percentile", "percentile")):
            if name == f"{label}_{ending}":
                return "slo", label, key
    return dictionary()[name].section, name


def _number(value: str) -> str | float:
    """A bare number as such, in the unit of the dictionary; all else as it is written."""
    try:
        number = float(value) if "_" not in value else math.nan
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _last(key: str | None) -> str | None:
    return key.removesuffix(".value") if key else None
