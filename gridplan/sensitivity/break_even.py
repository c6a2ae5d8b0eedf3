"""`gridplan.break_even`: where two alternatives cost the same, and which of them costs less on each side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError
from gridplan.sensitivity.answers import about, answer_dataset, either
from gridplan.sensitivity.break_even_exact import api_columns, hours_columns
from gridplan.sensitivity.crossings import Crossings, crossings
from gridplan.sensitivity.fixed import fixed_at
from gridplan.sensitivity.two_bills import (
    LADDER_POINTS,
    Comparison,
    comparison,
    only_compared,
    parsed,
    question_problems,
)

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["LADDER_POINTS", "break_even"]

Array = NDArray[Any]


def break_even(
    grid: Grid,
    vary: str | None = None,
    *,
    against: str = "api",
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
    axis, names = parsed(against)
    problems = question_problems(measure, axis, vary, points)
    if problems:
        raise ContractError(problems)
    bare = only_compared(fixed_at(grid, at or {}), axis, names, at or {})
    said = {"question": "break_even", "against": against}
    if vary is None:
        found = hours_columns(bare, names) if axis else api_columns(bare)
        return answer_dataset(found, bare, about(bare, grid, **said), without=(axis,))
    asked = comparison(bare, vary, axis, names, measure, (low, high), points)
    moved, span = asked.moved.grid, asked.span
    said |= {"vary": vary, "measure": measure, "first": names[0], "second": names[1]}
    attrs = about(moved, grid, **said, low=span.low, high=span.high, points=points)
    return answer_dataset(_columns(asked), moved, attrs, without=(axis,))


def _columns(asked: Comparison) -> dict[str, Array]:
    span, pair = asked.span, asked.pair
    found = crossings(asked.state, span.low, span.high, asked.shape, asked.points, span.integer, asked.edges)
    columns = {
        "answer": _answers(found),
        "crossings": found.count.astype(np.float64),
        "points_unknown": found.unknown.astype(np.float64),
    }
    for tail, values in (("below", found.below), ("above", found.above)):
        columns[f"{asked.moved.label}_{tail}"] = np.moveaxis(values, 0, -1)
        sides = asked.costs(np.where(np.isnan(values), span.low, values))
        first, second = (np.where(np.isnan(values), np.nan, side) for side in sides)
        names_of = either(second <= first, pair.names[1], pair.names[0])
        names_of = either(np.isnan(first) | np.isnan(second), None, names_of)
        columns[f"cheaper_{tail}"] = np.moveaxis(names_of, 0, -1)
        columns[f"first_{pair.measures[0]}_{tail}"] = np.moveaxis(first, 0, -1)
        columns[f"second_{pair.measures[1]}_{tail}"] = np.moveaxis(second, 0, -1)
    return {**columns, "method": np.full(asked.shape, "search", dtype=object)}


def _answers(found: Crossings) -> Array:
    first_ever, second_ever = found.ever
    known = first_ever | second_ever
    cases = [~known | ((found.count == 0) & (found.hidden > 0)), found.count > 0, second_ever]
    return np.select(cases, ["unknown", "between", "always"], "never").astype(object)
