"""One input of a grid that a search moves: many values at once, as a contract that states them would have it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.bounds import bounds_of
from gridplan.contract.grid import Given, Grid, Shift
from gridplan.dictionary import dictionary, inputs
from gridplan.engine.resolve import Resolver, space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.fixed import figures_of, inputs_of
from gridplan.sensitivity.search import to_digits

__all__ = ["Range", "Varied", "check_input", "range_of", "varied"]

Array = NDArray[Any]

REACH = 1000.0
"""How far from what a contract states an input is looked for, up and down (policy)."""

CELLS_AT_ONCE = 2_000_000
"""Cells that are planned in one call (policy): a few hundred MB."""


@dataclass(frozen=True)
class Range:
    """Where an input is looked for, and whether it is a whole number."""

    low: float
    high: float
    integer: bool


@dataclass(frozen=True)
class Varied:
    """A grid and the input that is moved in it.

    A value stands for what the contract states: scenarios change it as they change that (`times` and `plus`, of the
    dimensions of the cube). With `factor` it multiplies the input as it is in each cell.
    """

    grid: Grid
    name: str
    factor: bool
    times: Array
    plus: Array

    @property
    def label(self) -> str:
        """What columns call the input."""
        return f"{self.name}_factor" if self.factor else self.name

    def figures(self, values: Array, names: Iterable[str]) -> dict[str, Array]:
        """Measures at values of shape (n, *dimensions), of size 1 where they do not differ; so are the measures."""
        wanted = list(names)
        cells = math.prod(space_of(self.grid).shape)
        step = 1 if self.grid.samples else max(1, CELLS_AT_ONCE // cells)
        parts = [self._at_once(values[at : at + step], wanted) for at in range(0, len(values), step)]
        if len(parts) == 1:
            return parts[0]
        return {name: _stacked([part[name] for part in parts], values, step) for name in wanted}

    def _at_once(self, values: Array, names: list[str]) -> dict[str, Array]:
        moved = values if self.factor else np.where(self.times == 0.0, np.nan, self.plus + self.times * values)
        op = "multiply" if self.factor else "set"
        if self.grid.samples:
            shifted = replace(self.grid, shifts={**self.grid.shifts, self.name: Shift(op, moved[0])})  # type: ignore[arg-type]
            return {name: found[np.newaxis] for name, found in self._planned(shifted, names).items()}
        others = {name: Shift(shift.op, shift.values[np.newaxis]) for name, shift in self.grid.shifts.items()}
        shifts = {**others, self.name: Shift(op, moved)}  # type: ignore[arg-type]
        return self._planned(replace(self.grid, shifts=shifts, samples=len(values)), names)

    def _planned(self, moved: Grid, names: list[str]) -> dict[str, Array]:
        try:
            return figures_of(moved, names)
        except ValueError as error:  # of a formula: a factor leaves its bounds, which no contract may state
            raise ContractError([Problem(f"{error}: narrow the range", key="low, high")]) from None


def _stacked(parts: list[Array], values: Array, step: int) -> Array:
    """Parts along the first axis; a measure that does not depend on the values has size 1 there."""
    lengths = [len(values[at : at + step]) for at in range(0, len(values), step)]
    shape = np.broadcast_shapes(*(part.shape[1:] for part in parts))
    full = [np.broadcast_to(part, (length, *shape)) for part, length in zip(parts, lengths, strict=True)]
    return np.concatenate(full, axis=0)


def check_input(name: str, factor: bool = False) -> None:
    """Refuse what no search can move. Raises ContractError with the nearest inputs."""
    row = dictionary().get(name)
    if row is None or not row.is_input:
        raise ContractError([Problem(f"{name} is not an input{suggestion(name, inputs())}", key="input")])
    if row.is_label or row.unit in ("label", ""):
        raise ContractError([Problem(f"{name} is a label, not a number: make it an axis and compare", key="input")])
    if name == "sample":
        raise ContractError([Problem("sample is no input of a contract", key="input")])
    if factor and row.dtype == "int64":
        raise ContractError([Problem(f"{name} is a whole number: no factor of it can be searched", key="input")])


def varied(grid: Grid, name: str, factor: bool = False) -> Varied:
    """The grid ready to have `name` moved: its axis is taken away, or with `factor` left.

    Raises
    ------
    ContractError
        If a study already moves the input, or it is no number.
    """
    check_input(name, factor)
    if name in grid.shifts:
        raise ContractError([Problem(f"{name} is moved by a study already", key="input")])
    one = np.ones((1,) * len(space_of(grid).names))
    if factor:
        return Varied(grid, name, True, one, np.zeros_like(one))
    bare = without_axis(grid, name)
    resolver = Resolver(bare)
    base = [resolver.space.constant(value, np.float64) for value in (0.0, 1.0)]
    changes = [scenario.changes.get(name) for scenario in bare.scenarios]
    if not any(changes):
        one = base[1].data
        return Varied(bare, name, False, one, np.zeros_like(one))
    low, high = (
        resolver.space.stack("scenario", [resolver.changed(name, item, change) for change in changes]).data
        for item in base
    )
    return Varied(bare, name, False, high - low, low)


def without_axis(grid: Grid, name: str) -> Grid:
    """The grid with one value in the place of an axis; itself where `name` is none."""
    axis = grid.axis(name)
    if axis is None:
        return grid
    place = space_of(grid).names.index(name)
    shifts = {}
    for other, shift in grid.shifts.items():
        if shift.values.shape[place] > 1:
            raise ContractError([Problem(f"a study moves {other} along {name}", key="input")])
        shifts[other] = Shift(shift.op, shift.values.squeeze(place))
    stands = Given(axis.labels[0], dictionary()[name].cls, "searched")
    axes = tuple(each for each in grid.axes if each.name != name)
    return replace(grid, axes=axes, given={**grid.given, name: stands}, shifts=shifts)


def range_of(grid: Grid, name: str, low: float | None, high: float | None, factor: bool = False) -> Range:
    """Where to look: the ends that are asked for, else 1/1000 to 1000 times what the grid has, within bounds.

    Raises
    ------
    ContractError
        If an end is out of bounds or not below the other, or cannot be guessed because the grid has no value.
    """
    row, bounds = dictionary()[name], bounds_of(name)
    integer = not factor and (row.dtype == "int64" or row.unit == "tokens")
    usual = _usual_factor(grid, name) if factor else _usual(grid, name, integer)
    problems = []
    ends: list[float] = []
    for key, asked, guess in (("low", low, usual[0]), ("high", high, usual[1])):
        end = guess if asked is None else float(asked)
        if not math.isfinite(end):
            problems.append(Problem(f"{name} has no value above 0 to start from: say where to look", key=key))
        elif asked is not None and not factor and not bounds.holds(end):
            problems.append(Problem(f"{name} must be {bounds}, not {end:g}", key=key))
        elif asked is not None and (factor and end <= 0.0):
            problems.append(Problem(f"a factor is above 0, not {end:g}", key=key))
        elif asked is not None and integer and end != int(end):
            problems.append(Problem(f"{name} is searched in whole numbers, not {end:g}", key=key))
        ends.append(end)
    if not problems and not ends[0] < ends[1]:
        problems.append(Problem(f"the range of {name} must rise, not {ends[0]:g} to {ends[1]:g}", key="low"))
    if problems:
        raise ContractError(problems)
    return Range(ends[0], ends[1], integer)


def _usual_factor(grid: Grid, name: str) -> tuple[float, float]:
    """1/1000 to 1000 times, as far as that leaves every value within its bounds."""
    found, bounds = inputs_of(grid), bounds_of(name)
    known = _stated({**found.values, **found.stated}, name)
    above = known[known > 0.0]
    if not above.size:
        return 1.0 / REACH, REACH
    low, high = max(1.0 / REACH, bounds.low / float(above.min())), min(REACH, bounds.high / float(above.max()))
    return float(to_digits(np.array(low * (1.0 + 1e-11)))), float(to_digits(np.array(high * (1.0 - 1e-11))))


def _usual(grid: Grid, name: str, integer: bool) -> tuple[float, float]:
    """The ends that are taken where none is asked for; NaN where there is nothing to start from."""
    found = inputs_of(grid)
    stated: Mapping[str, Any] = {**found.values, **found.stated}
    known = _stated(stated, name)
    if name == "context_tokens" and not known.size:
        known = np.ravel(_stated(stated, "prompt_tokens")[:, np.newaxis] + _stated(stated, "output_tokens"))
    bounds = bounds_of(name)
    closed = math.isfinite(bounds.high)
    above = known[known > 0.0]
    if not known.size and not closed:
        return math.nan, math.nan
    low = float(known.min()) / REACH if known.size else 0.0
    high = float(above.max()) * REACH if above.size else math.nan
    if closed:
        high = bounds.high if bounds.high_included else bounds.high - 1e-6
        low = low if low > 0.0 else bounds.low + (0.0 if bounds.low_included else 1e-6)
    if name == "context_tokens":
        low = max(low, float(_stated(stated, "output_tokens").max(initial=1.0)) + 1.0)  # a prompt must be left
    low = max(low, bounds.low)
    if integer:
        return math.ceil(low), math.floor(high) if math.isfinite(high) else high
    return float(to_digits(np.array(low))), float(to_digits(np.array(high)))


def _stated(fields: Mapping[str, Any], name: str) -> Array:
    """All distinct numbers that the grid has for an input."""
    found = np.unique(np.asarray(fields[name].data, np.float64)) if name in fields else np.empty(0)
    return found[np.isfinite(found)]
