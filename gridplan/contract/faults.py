"""Faults of structure in words: what is wrong with a key or a shape, what goes there, and the nearest valid name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridplan.contract import models
from gridplan.contract.forms import kind_of
from gridplan.contract.models import Contract, Section, section_inputs
from gridplan.contract.shapes import Strict
from gridplan.contract.yaml import KeyPath
from gridplan.dictionary import dictionary
from gridplan.errors import suggestion

__all__ = ["fault_message", "unknown_input"]

_FORM_KEYS = {
    "<value>": ("value", "class", "source", "as_of"),
    "<multiply>": ("multiply",),
    "<add>": ("add",),
    "<linspace>": ("linspace",),
    "<geomspace>": ("geomspace",),
    "<arange>": ("arange",),
    "<catalog>": ("catalog", "where"),
    **dict.fromkeys(("<mean>", "<quantiles>", "<kind>", "<scv>"), ("mean", "scv", "kind", "quantiles", "max", "nodes")),
}
_MADE_OF_SECTIONS = {"workload": "workloads", "scenario": "scenarios"}


def unknown_input(name: str, what: str = "an input") -> str:
    """Why `name` is not an input, and the nearest that are.

    >>> unknown_input("rho_targt")
    'is not an input (did you mean rho_target, goodput_target, routing?)'
    >>> unknown_input("replicas_active")
    'is a measure: the plan computes it, a contract cannot give it'
    """
    if name in _MADE_OF_SECTIONS:
        return f"comes from the section {_MADE_OF_SECTIONS[name]}"
    row = dictionary().get(name)
    if row is not None and row.role == "answer":
        asked = "fleet" if name.startswith(("pool_", "pair_")) else "solve"
        return f"is an answer of `gridplan {asked}`: a contract cannot give it"
    if row is not None and row.role == "measure":
        return "is a measure: the plan computes it, a contract cannot give it"
    return f"is not {what}{suggestion(name, section_inputs())}"


def fault_message(kind: str, location: KeyPath, path: KeyPath, item: Mapping[str, Any]) -> str:
    """One error of pydantic (`kind` is its type, `location` its own path, `path` that in the file) in our words."""
    given = item.get("input")
    if kind == "extra_forbidden":
        return _unknown_key(location, path)
    if kind == "literal_error":
        expected = str(item["ctx"]["expected"]).replace("'", "")
        return (
            f"must be {expected}; {given!r} is not{suggestion(str(given), expected.replace(' or ', ', ').split(', '))}"
        )
    if kind in ("model_type", "dict_type"):
        return f"must be a mapping, not {kind_of(given)}"
    if kind in ("list_type", "tuple_type"):
        return f"must be a list, not {kind_of(given)}"
    if kind == "int_type":
        return f"must be a whole number; {given!r} is not"
    if kind == "too_long":
        return "must have three items"
    return str(item["msg"])


def _unknown_key(location: KeyPath, path: KeyPath) -> str:
    """A key that its place does not take: name what it takes, nearest first."""
    name, rows = str(path[-1]), dictionary()
    form = next((part for part in reversed(location) if isinstance(part, str) and part in _FORM_KEYS), None)
    if form is not None:
        return f"unknown key{suggestion(name, _FORM_KEYS[form])}; here go {', '.join(_FORM_KEYS[form])}"
    model = _model_of(path[:-1])
    keys = model.keys()
    if name in section_inputs() and (model is Contract or issubclass(model, Section)):
        return f"does not go here; write it under {rows[name].section}"
    if issubclass(model, Section):
        if name == "classes":
            return "does not go here; write it under workload"
        if name in rows:
            return unknown_input(name)
        structural = [key for key in keys if key not in rows]
        return f"unknown key{suggestion(name, [*structural, *(key for key in keys if key in rows)])}"
    return f"unknown key{suggestion(name, keys)}; here go {', '.join(keys)}"


def _model_of(path: KeyPath) -> type[Strict]:
    """The model that holds the entry at that path."""
    sections: dict[str, type[Strict]] = {
        **{"workload": models.WorkloadSection, "slo": models.Slo, "deployment": models.Deployment},
        **{"capacity": models.Capacity, "policy": models.Policy, "catalog": models.CatalogEntries},
    }
    match path:
        case (str(name),) if name in sections:
            return sections[name]
        case ("workloads", _):
            return models.WorkloadSection
        case ("slo", _):
            return models.SloLimit
        case ("scenarios", _):
            return models.ScenarioEntry
        case ("scenarios", _, "classes", _):
            return models.ClassChange
        case ("scenarios", _, "classes", _, _):
            return models.LimitChange
        case (*_, "classes", int()):
            return models.ClassEntry
        case (*_, "classes", int(), _):
            return models.SloLimit
    return Contract
