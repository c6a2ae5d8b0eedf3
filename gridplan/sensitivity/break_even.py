"""`gridplan.break_even`: where two alternatives cost the same, and which of them costs less on each side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.answers import about, answer_dataset, either
from gridplan.sensitivity.break_even_exact import api_columns, hours_columns
from gridplan.sensitivity.crossings import Crossings, crossings
from gridplan.sensitivity.fixed import fixed_at, positions, with_labels
from gridplan.sensitivity.search import to_digits
from gridplan.sensitivity.varied import Range, Varied, check_input, range_of, varied

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["LADDER_POINTS", "break_even"]

Array = NDArray[Any]

LADDER_POINTS = 257
"""Values at which two bills are compared before crossings are refined (policy)."""

API = "api"
_OWN = ("usd_per_month", "usd_per_month_released")
"""Bills of a fleet of one's own that the bill of an API is a match for: always on, and released when idle."""


@dataclass(frozen=True)
class _Pair:
    """Two alternatives: measures of one cell, or two labels along an axis; the second is the one that may pay off."""

    names: tuple[str, str]
    measures: tuple[str, str]
    axis: str = ""
    place: int = -1

    def sides(self, figures: Mapping[str, Array]) -> tuple[Array, Array]:
        """What both cost, null where a fleet does not hold its plan; figures have one axis before those of the grid."""
        held = figures["fleet_sufficient"] != 0.0

        def side(number: int) -> Array:
            cost = figures[self.measures[number]]
            if self.names[number] != API:
                cost = np.where(held, cost, np.nan)
            if not self.axis or cost.shape[self.place + 1] == 1:
                return np.asarray(cost)
            return np.asarray(cost.take([number], axis=self.place + 1))

        return side(0), side(1)


def break_even(
    grid: Grid,
    vary: str | None = None,
    *,
    against: str = API,
    measure: str = "usd_per_month",
    at: Mapping[str, str | float] | None = None,
    low: float | None = None,
    high: float | None = None,
    points: int = LADDER_POINTS,
) -> xr.Dataset:
    """Find where two alternatives cost the same, in every cell of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    vary
        The input at whose values both are planned and compared: arrival_rate, a price, any number; an axis of that name
        is taken away. Without it the answer is exact: against an API, the average rate at which the bill of each fleet
        equals that of the API (always on), and the share of its rate at which a replica does (released when idle); of
        two kinds of purchase, the share of the hours of a month from which the one that is owed always costs at most
        what the one that is paid by the hour does.
    against
        `api` (the API against one's own fleet), or two labels of an axis, as `gpu=h100-sxm,b200` or
        `purchase=on_demand,reserved`: the second is asked to pay off.
    measure
        What is compared; against an API usd_per_month, or usd_per_month_released for a fleet that idles for nothing.
    at
        Labels at which other axes are fixed.
    low, high
        Range of `vary` [unit of the input]; by default the ends of its axis, or its bounds, or 1/1000 and 1000 times
        what the grid has.
    points
        Values compared first, in equal ratios over the range; crossings between two of them are refined to 12 digits.
        Of arrival rates the edges of the stairs of nodes on which these values lie are compared as well. Two crossings
        between neighbours of all these are not seen.

    Returns
    -------
    xarray.Dataset
        With `vary`: along `crossing` the values below and above (`<vary>_below`, `<vary>_above`), the cheaper
        alternative on both sides, and what both cost there. `answer` says whether the second one pays off: `between`
        (from some crossing on, or up to it), always, never, or unknown. `points_unknown` counts values where a bill is
        null. Of equal bills the second is the cheaper. Without `vary`, the exact columns.

    Raises
    ------
    ContractError
        For anything wrong with the question, the range or the grid, with every problem.
    """
    if not isinstance(grid, Grid):
        raise TypeError(f"a grid is due, from gridplan.load_grid, not {type(grid).__name__}")
    axis, names = _parsed(against)
    problems = _problems(measure, axis, names, vary, points)
    if problems:
        raise ContractError(problems)
    bare = fixed_at(grid, at or {})
    said = {"question": "break_even", "against": against}
    if axis:
        if axis in (at or {}):
            raise ContractError([Problem(f"{axis} cannot be fixed: its labels are compared", key="at")])
        if axis not in space_of(bare).names:
            hint = suggestion(axis, space_of(bare).names)
            raise ContractError([Problem(f"{axis} is not an axis of this grid{hint}", key="against")])
        bare = with_labels(bare, {axis: positions(bare, axis, names, "against")})
    if vary is None:
        found = hours_columns(bare, names) if axis else api_columns(bare)
        return answer_dataset(found, bare, about(bare, grid, **said), without=(axis,))
    span = _range(bare, vary, low, high)
    moved = varied(bare, vary)
    measures = (measure, measure) if axis else ("api_usd_per_month", measure)
    place = space_of(moved.grid).names.index(axis) if axis else -1
    pair = _Pair(names if axis else (API, "self_host"), measures, axis, place)
    found = _columns(moved, pair, span, points)
    said |= {"vary": vary, "measure": measure, "first": pair.names[0], "second": pair.names[1]}
    attrs = about(moved.grid, grid, **said, low=span.low, high=span.high, points=points)
    return answer_dataset(found, moved.grid, attrs, without=(axis,))


def _parsed(against: str) -> tuple[str, tuple[str, str]]:
    """The axis and its two labels; no axis for an API."""
    if against == API:
        return "", (API, "self_host")
    axis, _, said = against.partition("=")
    labels = [label.strip() for label in said.split(",") if label.strip()]
    if not axis.strip() or len(labels) != 2 or labels[0] == labels[1]:
        due = "api, or two labels of an axis as purchase=on_demand,reserved"
        raise ContractError([Problem(f"{against!r} names no two alternatives: {due}", key="against")])
    return axis.strip(), (labels[0], labels[1])


def _problems(measure: str, axis: str, names: tuple[str, str], vary: str | None, points: int) -> list[Problem]:
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
    if vary is not None and vary == axis:
        problems.append(Problem(f"{vary} cannot be both varied and compared", key="vary"))
    if points < 2:
        problems.append(Problem(f"at least 2 values are compared, not {points}", key="points"))
    return problems


def _range(grid: Grid, name: str, low: float | None, high: float | None) -> Range:
    """The range that is asked for, else the ends of the axis, else the usual one."""
    try:
        check_input(name)
    except ContractError as error:
        raise ContractError([Problem(problem.message, key="vary") for problem in error.problems]) from None
    axis = grid.axis(name)
    if axis is not None and len(axis.labels) > 1:
        numbers = [float(label) for label in axis.labels]
        low, high = min(numbers) if low is None else low, max(numbers) if high is None else high
    return range_of(grid, name, low, high)


def _columns(moved: Varied, pair: _Pair, span: Range, points: int) -> dict[str, Array]:
    rank = len(space_of(moved.grid).names)
    names = [*dict.fromkeys(pair.measures), "fleet_sufficient"]

    def costs(values: Array) -> tuple[Array, Array]:
        return pair.sides(moved.figures(values, names))

    def state(values: Array) -> Array:
        first, second = costs(values)
        return np.where(np.isnan(first) | np.isnan(second), np.nan, (second <= first).astype(np.float64))

    ends = np.array([span.low, span.high]).reshape(2, *(1,) * rank)
    shape = np.broadcast_shapes(*(side.shape[1:] for side in costs(ends)))
    edges = _edges(moved, shape) if moved.name == "arrival_rate" else None
    found = crossings(state, span.low, span.high, shape, points, span.integer, edges)
    columns = {
        "answer": _answers(found),
        "crossings": found.count.astype(np.float64),
        "points_unknown": found.unknown.astype(np.float64),
    }
    for tail, values in (("below", found.below), ("above", found.above)):
        columns[f"{moved.label}_{tail}"] = np.moveaxis(values, 0, -1)
        sides = costs(np.where(np.isnan(values), span.low, values))
        first, second = (np.where(np.isnan(values), np.nan, side) for side in sides)
        names_of = either(second <= first, pair.names[1], pair.names[0])
        names_of = either(np.isnan(first) | np.isnan(second), None, names_of)
        columns[f"cheaper_{tail}"] = np.moveaxis(names_of, 0, -1)
        columns[f"first_{pair.measures[0]}_{tail}"] = np.moveaxis(first, 0, -1)
        columns[f"second_{pair.measures[1]}_{tail}"] = np.moveaxis(second, 0, -1)
    return {**columns, "method": np.full(shape, "search", dtype=object)}


def _edges(moved: Varied, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """The edges of the stair of nodes on which each arrival rate lies, and the rates just beyond, as contracts say."""

    def edges(steps: Array) -> Array:
        rate = moved.figures(steps, ["arrival_rate_next_step"])["arrival_rate_next_step"]
        stated = (rate - moved.plus) / np.where(moved.times == 0.0, np.nan, moved.times)
        stated = np.where(stated > 0.0, stated, np.nan)
        if stated.shape[1:] != shape:  # two alternatives along an axis have edges of their own
            longer = [place for place, size in enumerate(shape) if stated.shape[place + 1] > size]
            parts = [stated]
            for place in longer:
                parts = [part.take([at], axis=place + 1) for part in parts for at in range(part.shape[place + 1])]
            stated = np.concatenate([np.broadcast_to(part, (len(part), *shape)) for part in parts])
        return np.concatenate([to_digits(stated * (1.0 + side)) for side in (-1e-11, 1e-11)])

    return edges


def _answers(found: Crossings) -> Array:
    first_ever, second_ever = found.ever
    known = first_ever | second_ever
    cases = [~known | ((found.count == 0) & (found.hidden > 0)), found.count > 0, second_ever]
    return np.select(cases, ["unknown", "between", "always"], "never").astype(object)
