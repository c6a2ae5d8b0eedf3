"""Rules about the lengths of requests: classes, or prompt and output, or context and output."""

from __future__ import annotations

import math

from gridplan.contract.context import Context
from gridplan.contract.grid import Change, Place, Scenario, TrafficClass, Workload
from gridplan.contract.lookup import plain_values, stated_length
from gridplan.contract.traffic import has_random_lengths, weight_sum_problem

__all__ = ["check_lengths"]

_LENGTHS = ("prompt_tokens", "output_tokens", "context_tokens")
_TOO_MANY = "prompt_tokens, output_tokens and context_tokens are all given; context is prompt + output, keep two"


def check_lengths(context: Context) -> None:
    """All rules of this module."""
    _classes_or_lengths(context)
    random = _with_random_lengths(context)
    for index, workload in enumerate(context.grid.workloads):
        if workload.name in random:
            continue
        _two_of_three(context, workload.name)
        _context_above_output(context, index)
    for scenario in context.grid.scenarios:
        for workload in context.grid.workloads:
            _changed_classes(context, scenario, workload)


def _with_classes(context: Context) -> list[str]:
    """The names of the workloads that have classes."""
    sections = context.contract.workloads or {"": context.contract.workload}
    return [name for name, section in sections.items() if section.classes]


def _with_random_lengths(context: Context) -> list[str]:
    """The names of the workloads whose lengths are a distribution."""
    sections = context.contract.workloads or {"": context.contract.workload}
    return [name for name, section in sections.items() if not section.classes and has_random_lengths(section)]


def _classes_or_lengths(context: Context) -> None:
    with_classes = _with_classes(context)
    for workload in with_classes:
        for name in _LENGTHS:
            if (place := context.place_for(name, workload)) is not None:
                context.problems.at(place, f"{name} cannot stand beside classes, which state their own lengths")
    random = _with_random_lengths(context)
    for workload in random:
        if (place := context.place_for("context_tokens", workload)) is not None:
            context.problems.at(place, "context_tokens cannot stand beside a distribution of lengths")
    for scenario in context.grid.scenarios if random else ():
        if (change := scenario.changes.get("context_tokens")) is not None:
            said = f"scenario {scenario.name}: context_tokens cannot stand beside a distribution of lengths"
            context.problems.at(change.place, said)
    for scenario in context.grid.scenarios if with_classes else ():
        for name in _LENGTHS:
            change = scenario.changes.get(name)
            if change is not None and (change.op == "set" or name == "context_tokens"):
                scale = "" if name == "context_tokens" else " or scale it"
                message = f"scenario {scenario.name}: name the class under classes{scale}; {name} is that of each class"
                context.problems.at(change.place, message)


def _two_of_three(context: Context, workload: str) -> None:
    places = {name: context.place_for(name, workload) for name in _LENGTHS}
    if all(places.values()):
        context.problems.at(places["context_tokens"], _TOO_MANY)
        return
    for scenario in context.grid.scenarios:
        changed = [name for name in _LENGTHS if name in scenario.changes]
        if changed and all(name in changed or places[name] for name in _LENGTHS):
            context.problems.at(scenario.changes[changed[0]].place, f"scenario {scenario.name}: {_TOO_MANY}")


def _context_above_output(context: Context, workload: int) -> None:
    """Context must exceed output in every pair of labels, as written and in every scenario that changes one of them."""
    contexts, place = plain_values(context.grid, "context_tokens", workload)
    outputs, output_place = plain_values(context.grid, "output_tokens", workload)
    if _collide(contexts, outputs):
        _say(context, "", contexts, outputs, place, output_place)
        return
    for scenario in context.grid.scenarios:
        by_name = {name: scenario.changes.get(name) for name in ("context_tokens", "output_tokens")}
        changes = [change for change in by_name.values() if change is not None]
        if not changes:
            continue
        longer = _changed(contexts, by_name["context_tokens"])
        shorter = _changed(outputs, by_name["output_tokens"])
        if _collide(longer, shorter):
            _say(context, f"scenario {scenario.name}: ", longer, shorter, changes[0].place, output_place)


def _collide(contexts: list[float], outputs: list[float]) -> bool:
    return bool(contexts and outputs) and min(contexts) <= max(outputs)


def _say(
    context: Context, head: str, contexts: list[float], outputs: list[float], place: Place | None, other: Place | None
) -> None:
    line = f" (line {other.line})" if other else ""
    message = (
        f"{head}context_tokens {min(contexts):g} leaves no prompt beside output_tokens {max(outputs):g}{line}: "
        "context is prompt + output and must be larger than output"
    )
    context.problems.at(place, message)


def _changed(values: list[float], change: Change | None) -> list[float]:
    """Values after a scenario's change; empty where the change differs by label."""
    if change is None:
        return values
    if not isinstance(change.value, float):
        return []
    if change.op == "set":
        return [change.value]
    return [value * change.value if change.op == "multiply" else value + change.value for value in values]


def _changed_classes(context: Context, scenario: Scenario, workload: Workload) -> None:
    """Classes after a scenario: weights still shares of one whole, lengths still at least one token."""
    changed = [item for item in workload.classes if item.name in scenario.classes]
    if not changed:
        return
    weights = []
    for item in workload.classes:
        changes = scenario.classes.get(item.name, {})
        weights.append(_class_value(item, "weight", changes.get("weight")))
        for name, low in (("weight", 0.0), ("prompt_tokens", 1.0), ("output_tokens", 1.0)):
            value = _class_value(item, name, changes.get(name))
            if name in changes and (value < low or value <= 0 or not math.isfinite(value)):
                message = f"scenario {scenario.name}: {name} of class {item.name} would be {value:g}"
                context.problems.at(changes[name].place, message)
    if (reason := weight_sum_problem(weights)) is not None:
        context.problems.at(scenario.place, f"scenario {scenario.name}: {reason}")


def _class_value(item: TrafficClass, name: str, change: Change | None) -> float:
    return _changed([stated_length(getattr(item, name))], change)[0]
