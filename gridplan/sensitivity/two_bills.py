"""Two alternatives at values of an input: what both cost in every cell of a grid, and which values are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.crossings import compared
from gridplan.sensitivity.fixed import positions, with_labels
from gridplan.sensitivity.search import to_digits
from gridplan.sensitivity.varied import Range, Varied, check_input, range_of, varied

__all__ = ["API", "LADDER_POINTS", "Comparison", "Pair", "comparison", "only_compared", "parsed", "question_problems"]

Array = NDArray[Any]

LADDER_POINTS = 257
"""Values at which two bills are compared before crossings are refined (policy)."""

API = "api"
_OWN = ("usd_per_month", "usd_per_month_released")
"""Bills of a fleet of one's own that the bill of an API is a match for: always on, and released when idle."""


@dataclass(frozen=True)
class Pair:
    """Two alternatives: measures of one cell, or two labels along an axis; the second is the one that may pay off."""

    names: tuple[str, str]
    measures: tuple[str, str]
    axis: str = ""
    place: int = -1

    def sides(self, figures: Mapping[str, Array]) -> tuple[Array, Array]:
        """What both cost, null where a fleet does not hold its plan; figures have one axis before those of the grid."""
        held = figures["fleet_sufficient"] != 0.0

        def cost(number: int) -> Array:
            found = figures[self.measures[number]]
            return found if self.names[number] == API else np.where(held, found, np.nan)

        return self._own(cost(0), 0), self._own(cost(1), 1)

    def beside(self, item: Array) -> tuple[Array, Array]:
        """What goes with each of both of a measure that is none of their bills."""
        return self._own(item, 0), self._own(item, 1)

    def _own(self, item: Array, number: int) -> Array:
        """The part of one alternative, where they are labels of an axis."""
        if not self.axis or item.shape[self.place + 1] == 1:
            return np.asarray(item)
        return np.asarray(item.take([number], axis=self.place + 1))


@dataclass(frozen=True)
class Comparison:
    """Two alternatives over the range of one input, in every cell of the grid that `moved` has."""

    moved: Varied
    pair: Pair
    span: Range
    points: int

    def costs(self, values: Array) -> tuple[Array, Array]:
        """What both cost at values of shape (n, *dimensions), NaN where there is no plan or a fleet does not hold."""
        names = [*dict.fromkeys(self.pair.measures), "fleet_sufficient"]
        return self.pair.sides(self.moved.figures(values, names))

    def plans(self, values: Array) -> dict[str, tuple[Array, Array]]:
        """Beside the bills at these values: the nodes of both, and why there is no plan (None where there is one)."""
        found = self.moved.figures(values, ["nodes", "infeasible_reason", "fleet_sufficient"])
        reasons = found["infeasible_reason"]
        lacking = (reasons == np.array(None)) & (found["fleet_sufficient"] == 0.0)
        why = np.where(lacking, "the fleet is too small", reasons)
        return {"nodes": self.pair.beside(found["nodes"]), "no_plan": self.pair.beside(why)}

    def state(self, values: Array) -> Array:
        """1 where the second alternative costs at most what the first does, 0 where it does not, NaN where unknown."""
        first, second = self.costs(values)
        return np.where(np.isnan(first) | np.isnan(second), np.nan, (second <= first).astype(np.float64))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the grid, of size 1 where they change nothing and where they are compared."""
        rank = len(space_of(self.moved.grid).names)
        ends = np.array([self.span.low, self.span.high]).reshape(2, *(1,) * rank)
        return np.broadcast_shapes(*(side.shape[1:] for side in self.costs(ends)))

    def compared(self) -> Array:
        """The values at which both are compared before crossings are refined, sorted, of shape (n, *dimensions)."""
        return compared(self.span.low, self.span.high, self.shape, self.points, self.span.integer, self.edges)

    @property
    def edges(self) -> Callable[[Array], Array] | None:
        """Edges of stairs beside which both are compared too, of values; only those of arrival rates are known."""
        return self._edges if self.moved.name == "arrival_rate" else None

    def _edges(self, steps: Array) -> Array:
        """Both sides of the edges of the stair of nodes on which each arrival rate lies, as contracts state rates."""
        rate = self.moved.figures(steps, ["arrival_rate_next_step"])["arrival_rate_next_step"]
        stated = (rate - self.moved.plus) / np.where(self.moved.times == 0.0, np.nan, self.moved.times)
        stated = np.where(stated > 0.0, stated, np.nan)
        if stated.shape[1:] != self.shape:  # two alternatives along an axis have edges of their own
            longer = [place for place, size in enumerate(self.shape) if stated.shape[place + 1] > size]
            parts = [stated]
            for place in longer:
                parts = [part.take([at], axis=place + 1) for part in parts for at in range(part.shape[place + 1])]
            stated = np.concatenate([np.broadcast_to(part, (len(part), *self.shape)) for part in parts])
        return np.concatenate([to_digits(stated * (1.0 + side)) for side in (-1e-11, 1e-11)])


def comparison(
    bare: Grid,
    vary: str,
    axis: str,
    names: tuple[str, str],
    measure: str,
    ends: tuple[float | None, float | None],
    points: int,
) -> Comparison:
    """Two alternatives at values of `vary`, in a grid that holds only what is compared (`only_compared`).

    `ends` are None for the usual ones. Raises ContractError for an input or a range that cannot be
    searched.
    """
    span = _range(bare, vary, *ends)
    moved = varied(bare, vary)
    measures = (measure, measure) if axis else ("api_usd_per_month", measure)
    place = space_of(moved.grid).names.index(axis) if axis else -1
    return Comparison(moved, Pair(names, measures, axis, place), span, points)


def only_compared(grid: Grid, axis: str, names: tuple[str, str], at: Mapping[str, str | float]) -> Grid:
    """The grid with the two labels that are compared along `axis`, in that order; itself against an API.

    Raises ContractError for an axis that is fixed by `at` or is not there, and for labels that are not on it.
    """
    if not axis:
        return grid
    if axis in at:
        raise ContractError([Problem(f"{axis} cannot be fixed: its labels are compared", key="at")])
    if axis not in space_of(grid).names:
        hint = suggestion(axis, space_of(grid).names)
        raise ContractError([Problem(f"{axis} is not an axis of this grid{hint}", key="against")])
    return with_labels(grid, {axis: positions(grid, axis, names, "against")})


def parsed(against: str) -> tuple[str, tuple[str, str]]:
    """The axis and its two labels; no axis for an API. Raises ContractError for a text that names no two."""
    if against == API:
        return "", (API, "self_host")
    axis, _, said = against.partition("=")
    labels = [label.strip() for label in said.split(",") if label.strip()]
    if not axis.strip() or len(labels) != 2 or labels[0] == labels[1]:
        due = "api, or two labels of an axis as purchase=on_demand,reserved"
        raise ContractError([Problem(f"{against!r} names no two alternatives: {due}", key="against")])
    return axis.strip(), (labels[0], labels[1])


def question_problems(measure: str, axis: str, vary: str | None, points: int) -> list[Problem]:
    """What is wrong with a question before any grid is looked at."""
    problems = []
    row = dictionary().get(measure)
    if measure not in all_measures():
        problems.append(Problem(f"{measure} is not a measure{suggestion(measure, all_measures())}", key="measure"))
    elif row is not None and (row.is_label or row.dtype == "bool"):
        problems.append(Problem(f"{measure} is no number that two alternatives could have in common", key="measure"))
    elif not axis and measure not in _OWN:
        problems.append(Problem(f"against an API {' or '.join(_OWN)} is compared, not {measure}", key="measure"))
    if vary is None and axis and axis != "purchase":
        problems.append(Problem(f"say which input is varied: along {axis} nothing is exact", key="vary"))
    if vary is None and measure != "usd_per_month":
        problems.append(Problem("belongs to an input that is varied", key="measure"))
    if vary is not None:
        try:
            check_input(vary)
        except ContractError as error:
            problems += [Problem(problem.message, key="vary") for problem in error.problems]
    if vary is not None and vary == axis:
        problems.append(Problem(f"{vary} cannot be both varied and compared", key="vary"))
    if points < 2:
        problems.append(Problem(f"at least 2 values are compared, not {points}", key="points"))
    return problems


def _range(grid: Grid, name: str, low: float | None, high: float | None) -> Range:
    """The range that is asked for, else the ends of the axis, else the usual one."""
    axis = grid.axis(name)
    if axis is not None and len(axis.labels) > 1:
        numbers = [float(label) for label in axis.labels]
        low, high = min(numbers) if low is None else low, max(numbers) if high is None else high
    return range_of(grid, name, low, high)
