"""A contract as notebooks show it: axes, inputs with their provenance, traffic, scenarios, entries of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from markupsafe import Markup

from gridplan.contract.grid import By, Change, Given, Grid, Lengths, Scalar, Scenario, TrafficClass, Workload
from gridplan.dictionary import axis_role, dictionary
from gridplan.labels import listed
from gridplan.markup import columns, element, number, page, section, table
from gridplan.quantities import format_label, format_quantity

__all__ = ["grid_html"]

_INPUT_HEADS = ("input", "value", "class", "source", "date")


def grid_html(grid: Grid) -> str:
    """The page; all texts of the contract are escaped, every number stands with its unit."""
    cells = prod(len(labels) for labels in grid.dimensions.values())
    identity = f"{'cell' if cells == 1 else 'cells'}; SHA-256 of the text {grid.sha256[:12]}"
    parts: list[object] = [element("p", grid.description)] if grid.description else []
    parts.append(element("p", number(f"{cells:,}", cells), Markup(" "), identity, cls="gp-small"))
    if grid.dimensions:
        heads = ("axis", "role", "unit", "count", "labels")
        parts.append(table(heads, map(_axis, grid.dimensions.items()), numeric=("count",)))
    if grid.given:
        parts.append(section(f"Stated inputs ({len(grid.given)})", table(_INPUT_HEADS, _inputs(grid.given))))
    parts += [_workload(workload) for workload in grid.workloads if _says(workload)]
    if grid.scenarios:
        rows = (
            (scenario.name, "; ".join(_changes(scenario)) or "as the contract states") for scenario in grid.scenarios
        )
        parts.append(section(f"Scenarios ({len(grid.scenarios)})", table(("scenario", "changes"), rows)))
    if any(grid.catalog.values()):
        own = [(kind, ", ".join(entries)) for kind, entries in grid.catalog.items() if entries]
        parts.append(section(f"Catalog entries of the contract ({_count(grid)})", columns(own)))
    if measured := list(_measured(grid)):
        parts.append(section("Measured rate", columns(measured)))
    asked = ", ".join("those of every cube" if name == "default" else name for name in grid.outputs)
    parts.append(element("p", f"Measures: {asked or 'those of every cube'}", cls="gp-small"))
    return page(grid.name or "Contract", *parts)


def _axis(item: tuple[str, Sequence[Scalar]]) -> tuple[object, ...]:
    name, labels = item
    row = dictionary().get(name)
    unit = "" if row is None or row.unit in ("label", "1", "count") else row.unit
    return element("code", name), axis_role(name), unit, number(f"{len(labels):,}", len(labels)), listed(labels)


def _inputs(given: Mapping[str, Given]) -> Iterator[tuple[object, ...]]:
    for name, item in given.items():
        yield element("code", name), _value(name, item.value), item.cls, item.source, item.as_of


def _value(name: str, value: Scalar | By) -> Markup | str:
    """A stated value with its unit; one that follows an axis as it is written."""
    text = _text(value, _unit(name))
    return text if isinstance(value, (By, str)) else number(text, value)


def _text(value: Scalar | By, unit: str) -> str:
    if not isinstance(value, By):
        return format_quantity(value, unit)
    each = [f"{label} {format_quantity(one, unit)}" for label, one in value.values.items()]
    other = [] if value.default is None else [f"else {format_quantity(value.default, unit)}"]
    return f"by {value.dimension}: {', '.join([*each, *other])}"


def _unit(name: str) -> str:
    row = dictionary().get(name)
    return "1" if row is None else row.unit


def _says(workload: Workload) -> bool:
    return bool(workload.name or workload.classes or workload.given or workload.hourly_load)


def _workload(workload: Workload) -> Markup:
    """Traffic: what is stated, the classes of requests, the hours of a cycle."""
    parts: list[object] = []
    if workload.given:
        parts.append(table(_INPUT_HEADS, _inputs(workload.given)))
    if workload.classes:
        heads = ("class of requests", "share", "prompt [tokens]", "output [tokens]", "own settings")
        parts.append(table(heads, map(_class, workload.classes), numeric=heads[1:4]))
    if workload.hourly_load:
        shares = ", ".join(map(format_label, workload.hourly_load))
        parts.append(element("p", f"Mean load of each of {len(workload.hourly_load)} hours, of the highest: {shares}"))
    return section(f"Workload {workload.name}".rstrip(), *parts)


def _class(item: TrafficClass) -> tuple[object, ...]:
    own = "; ".join(f"{name} {_text(given.value, _unit(name))}" for name, given in item.own.items())
    return (
        item.name or "all requests",
        number(f"{item.weight:.4g}", item.weight),
        _length(item.prompt_tokens),
        _length(item.output_tokens),
        own,
    )


def _length(length: float | Lengths) -> Markup:
    """Tokens, or the mean of random lengths with their law."""
    if not isinstance(length, Lengths):
        return number(format_quantity(length, "count"), length)
    longest = "" if length.longest is None else f", at most {format_quantity(length.longest, 'count')}"
    mean = format_quantity(length.mean, "count")
    return number(f"{length.kind}, mean {mean}, scv {length.scv:.4g}{longest}", length.mean)


_OPERATIONS = {"set": "=", "multiply": "x", "add": "+"}


def _changes(scenario: Scenario) -> Iterator[str]:
    for name, change in scenario.changes.items():
        yield f"{name} {_change(name, change)}"
    for owner, changes in scenario.classes.items():
        for name, change in changes.items():
            yield f"{owner}: {name} {_change(name, change)}"


def _change(name: str, change: Change) -> str:
    """What is done to an input: its unit stands where a value is set or added; a factor has none."""
    return f"{_OPERATIONS[change.op]} {_text(change.value, '1' if change.op == 'multiply' else _unit(name))}"


def _measured(grid: Grid) -> Iterator[tuple[str, object]]:
    """What a measured rate belongs to, where the contract says so."""
    if grid.measured.measured_at:
        yield "measured at", ", ".join(f"{name}={format_label(at)}" for name, at in grid.measured.measured_at.items())
    if grid.measured.applies_to:
        yield "applies to any", ", ".join(sorted(grid.measured.applies_to))
    if grid.measured.fallback != "none":
        yield "elsewhere", grid.measured.fallback


def _count(grid: Grid) -> int:
    return sum(map(len, grid.catalog.values()))
