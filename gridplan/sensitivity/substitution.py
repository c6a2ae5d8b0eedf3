"""Why two contracts plan differently: A with one input at a time as B has it, at one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Axis, By, Change, Given, Grid, Scenario, Workload
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cell_index
from gridplan.engine.inputs import build_inputs
from gridplan.engine.resolve import Resolver
from gridplan.errors import ContractError
from gridplan.sensitivity.cells import cube_of, inputs_at
from gridplan.sensitivity.changes import differs
from gridplan.sensitivity.rates import NOT_MOVED

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["substituted"]

LENGTHS = "lengths and classes"
CATALOG = "catalog entries"
MEASURED_AT = "settings of the measurement"
INTERACTION = "interaction"
_RATES = ("lambda_instance", "lambda_analytical")
_LENGTHS = ("prompt_tokens", "output_tokens", "context_tokens")

Cell = Mapping[str, str | float]


def substituted(a: Inputs, b: Inputs, at_a: Cell, at_b: Cell, names: tuple[str, ...]) -> pd.DataFrame:
    """The effect on each measure of each input that the contracts state differently, alone, and what remains.

    Rows `input`, `measure`, `a`, `alone`, `effect`, `note`; an input that cannot be changed alone has null effects and
    says why; what it does is then in the row `interaction`, which holds B - A less all effects known.
    """
    import pandas as pd

    first, last = _numbers(a.grid, at_a, names), _numbers(b.grid, at_b, names)
    rows = []
    totals = {name: 0.0 for name in names}
    for unit, (numbers, note) in _each_alone(a, b, at_a, at_b, names).items():
        for name in names:
            effect = numbers[name] - first[name]
            totals[name] += 0.0 if np.isnan(effect) else effect
            said = note or _note(unit, first, numbers, name)
            rows.append((unit, name, first[name], numbers[name], effect, said))
    rows += [
        (INTERACTION, name, first[name], last[name], _rest(last[name] - first[name] - totals[name], last[name]), None)
        for name in names
    ]
    return pd.DataFrame(rows, columns=["input", "measure", "a", "alone", "effect", "note"])


def _note(unit: str, first: Mapping[str, float], numbers: Mapping[str, float], name: str) -> str | None:
    """No plan, or a measured rate that should have followed and was not restated."""
    if np.isnan(numbers[name]) and not np.isnan(first[name]):
        return "no plan with this change alone"
    if first["capacity_source"] != 1.0 or numbers["capacity_source"] != 1.0:
        return None
    changed = {key: not np.isclose(numbers[key], first[key], rtol=1e-9, equal_nan=True) for key in _RATES}
    kept = unit == LENGTHS or not changed["lambda_instance"]
    return NOT_MOVED if changed["lambda_analytical"] and kept else None


def _rest(value: float, scale: float) -> float:
    """What is left, without the noise of arithmetic."""
    return 0.0 if abs(value) <= 1e-9 * abs(scale) else value


def _each_alone(
    a: Inputs, b: Inputs, at_a: Cell, at_b: Cell, names: tuple[str, ...]
) -> dict[str, tuple[Mapping[str, float], str | None]]:
    """The measures of A with each unit of change alone, and why there are none.

    The contract itself is edited, not a scenario added: a scenario would scale a measured rate, while a contract that
    states another setting says that the rate was measured there.
    """
    grid = _with_entries_of(a.grid, b.grid, a.grid)
    found = {}
    for name in _stated_changes(a, b, at_a, at_b):
        try:
            found[name] = _alone(*_edited(grid, b.grid, name, at_a, at_b), names)
        except ContractError as error:
            found[name] = (dict.fromkeys(names, np.nan), f"not alone: {error.problems[0].message}")
    if _lengths_differ(a, b, at_a, at_b):
        found[LENGTHS] = _alone(_with_lengths(grid, b.grid, at_b), at_a, names)
    if a.grid.catalog != b.grid.catalog or _folder(a.grid) != _folder(b.grid):
        found[CATALOG] = _alone(replace(_with_entries_of(b.grid, a.grid, a.grid), folder=b.grid.folder), at_a, names)
    if replace(a.grid.measured, place=None) != replace(b.grid.measured, place=None):
        found[MEASURED_AT] = _alone(replace(grid, measured=b.grid.measured), at_a, names)
    return found


def _stated_changes(a: Inputs, b: Inputs, at_a: Cell, at_b: Cell) -> list[str]:
    """Inputs that a contract states, and that differ in the cell or in what the contracts say for it."""
    speaks = [Resolver(side.grid) for side in (a, b)]
    index = [cell_index(side, at) for side, at in ((a, at_a), (b, at_b))]
    found = []
    for name in dict.fromkeys([*a.stated, *b.stated]):
        row = dictionary().get(name)
        if row is None or name in _LENGTHS or not any(resolver.is_given(name) for resolver in speaks):
            continue
        none = None if row.is_label else np.nan
        left, right = (
            np.array([side.stated[name].at(side.space, place) if name in side.stated else none], _kind(row))
            for side, place in zip((a, b), index, strict=True)
        )
        said = [_said(side.grid, name, at)[1:] for side, at in ((a, at_a), (b, at_b))]
        if bool(differs(left, right)[0]) or said[0] != said[1]:
            found.append(name)
    return found


def _said(grid: Grid, name: str, at: Cell) -> tuple[Given | None, Any, Any]:
    """What a contract states of an input for a cell, its value, and what the cell's scenario does to it."""
    workload = _workload(grid, at)
    given = grid.given.get(name) or (workload.given.get(name) if workload is not None else None)
    if grid.axis(name) is not None:
        given = Given(at[name], dictionary()[name].cls, "axis of the contract")
    change = next((item.changes.get(name) for item in grid.scenarios if item.name == at.get("scenario")), None)
    return given, None if given is None else given.value, None if change is None else (change.op, change.value)


def _kind(row: Any) -> Any:
    return object if row.is_label else np.float64


def _edited(grid: Grid, other: Grid, name: str, at: Cell, at_other: Cell) -> tuple[Grid, Cell]:
    """The contract that states one input for the cell as the other one does, and the labels of the cell in it."""
    given, value, change = _said(other, name, at_other)
    edited, cell = _without(grid, name), dict(at)
    if grid.axis(name) is not None:
        if given is None or isinstance(value, By):
            raise ContractError(f"{name} is an axis of A, and B states no single value of it")
        cell[name] = value if isinstance(value, str) else float(value)
        axes = tuple(Axis(name, (cell[name],)) if axis.name == name else axis for axis in edited.axes)
        edited = replace(edited, axes=axes)
    elif given is not None:
        edited = replace(edited, given={**edited.given, name: given})
    if change is not None:
        scenarios = edited.scenarios or (Scenario("nominal", {}, {}),)
        own = at.get("scenario", "nominal")
        moved = {name: Change(*change)}
        edited = replace(
            edited,
            scenarios=tuple(
                replace(item, changes={**item.changes, **moved}) if item.name == own else item for item in scenarios
            ),
        )
    return edited, cell


def _alone(grid: Grid, at: Cell, names: tuple[str, ...]) -> tuple[Mapping[str, float], str | None]:
    try:
        return _numbers(grid, at, names), None
    except ContractError as error:
        return dict.fromkeys(names, np.nan), f"not alone: {error.problems[0].message}"


def _numbers(grid: Grid, at: Cell, names: tuple[str, ...]) -> dict[str, float]:
    wanted = (*dict.fromkeys((*names, *_RATES)), "capacity_source")
    cube = cube_of(inputs_at(grid, cell_index(build_inputs(grid), at)), wanted)
    return {name: _number(cube[name]) for name in wanted}


def _number(item: xr.DataArray) -> float:
    """A single value; of the source of a rate 1 where a measurement is behind it."""
    value = item.values.ravel()[0]
    return float(value in ("measured", "scaled")) if item.dtype == object else float(value)


def _with_entries_of(first: Grid, other: Grid, into: Grid) -> Grid:
    """`into` with the catalog entries of both, those of `first` where both have one: labels of either can be used."""
    kinds = {*first.catalog, *other.catalog}
    merged = {kind: {**other.catalog.get(kind, {}), **first.catalog.get(kind, {})} for kind in kinds}
    return replace(into, catalog=merged)


def _folder(grid: Grid) -> Mapping[str, str] | None:
    return None if grid.folder is None else grid.folder.sha256


def _without(grid: Grid, name: str) -> Grid:
    """The grid where nothing states the input."""
    workloads = tuple(
        replace(item, given={key: value for key, value in item.given.items() if key != name}) for item in grid.workloads
    )
    scenarios = tuple(
        replace(item, changes={key: value for key, value in item.changes.items() if key != name})
        for item in grid.scenarios
    )
    given = {key: value for key, value in grid.given.items() if key != name}
    return replace(grid, given=given, workloads=workloads, scenarios=scenarios)


def _workload(grid: Grid, at: Cell) -> Workload | None:
    return next((item for item in grid.workloads if item.name in ("", at.get("workload"))), None)


def _lengths_differ(a: Inputs, b: Inputs, at_a: Cell, at_b: Cell) -> bool:
    """Whether lengths of the cell differ by their effective values, or what classes state of themselves."""
    arrays, own = [], []
    for side, at in ((a, at_a), (b, at_b)):
        index = cell_index(side, at)
        names = ("class_weight", "class_prompt_tokens", "class_output_tokens", "class_output_tokens_scv")
        arrays.append([side.values[name].at(side.space, index) for name in names])
        workload = _workload(side.grid, at)
        classes = workload.classes if workload is not None else ()
        own.append([{name: given.value for name, given in item.own.items()} for item in classes])
    pairs = zip(*arrays, strict=True)
    return own[0] != own[1] or any(x.shape != y.shape or bool(differs(x, y).any()) for x, y in pairs)


def _with_lengths(grid: Grid, other: Grid, at_other: Cell) -> Grid:
    """The grid with the classes and lengths of the other one's workload."""
    source = _workload(other, at_other)
    if source is None:
        return grid
    lengths = {name: source.given[name] for name in _LENGTHS if name in source.given}
    workloads = tuple(
        replace(
            item,
            classes=source.classes,
            given={**{key: value for key, value in item.given.items() if key not in _LENGTHS}, **lengths},
        )
        for item in grid.workloads
    )
    return replace(grid, workloads=workloads)
