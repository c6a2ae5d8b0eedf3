"""`gridplan.invert`: how far an input may go while a plan still does what is asked of it, in every cell at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Given, Grid
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.answers import about, answer_dataset, answer_labels, axes_of, either, folded
from gridplan.sensitivity.conditions import Condition, conditions_of, judged, read_for, reasons
from gridplan.sensitivity.exact import exact_rate
from gridplan.sensitivity.fixed import fixed_at
from gridplan.sensitivity.next_steps import NEXT_STEPS, next_step
from gridplan.sensitivity.search import Threshold, threshold
from gridplan.sensitivity.varied import Range, Varied, check_input, range_of, varied

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["QUESTIONS", "invert"]

Array = NDArray[Any]

QUESTIONS = ("max:INPUT", "min:INPUT", *NEXT_STEPS)
"""What can be asked."""

MANY_CELLS = 20_000
"""Cells above which a search halves instead of asking for 15 values at once (policy)."""

_CAPS = {"nodes": "nodes_given", "budget": "budget_usd_per_month", "power": "power_budget_kw"}
"""Arguments that state a cap for a question, and the input behind each."""


def invert(
    grid: Grid,
    question: str,
    *,
    where: str | Iterable[str] = (),
    at: Mapping[str, str | float] | None = None,
    low: float | None = None,
    high: float | None = None,
    factor: bool = False,
    nodes: int | None = None,
    budget: float | None = None,
    power: float | None = None,
    by: str | Sequence[str] | None = None,
) -> xr.Dataset:
    """Find how far one input may go while every condition holds, in every cell of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    question
        `max:INPUT` or `min:INPUT`: the largest or smallest value of any input that is a number, as a contract would
        state it (scenarios change it as they change that); an axis of that name is taken away. `next_replica`,
        `next_node`: the arrival rate up to which the replicas that carry the peak, or the nodes, suffice.
    where
        Conditions on measures, all of which must hold: `usd_per_month <= 150000`, `nodes <= 4`,
        `survives_node_loss_slo`. That a plan exists (`status = ok`) is always one of them, and that the nodes of the
        contract hold it (`fleet_sufficient`) where a cap is asked for by `nodes`.
    at
        Labels at which axes are fixed.
    low, high
        Ends of the range [unit of the input]; by default its bounds, or 1/1000 and 1000 times what the grid has.
    factor
        Search a factor of the input as it is in each cell, not a value.
    nodes, budget, power
        A fleet [nodes], a bill [USD/month] and a power [kW] that cap the plan, over those of the contract.
    by
        Axes that stay; of the others that are chosen the best answer, of those that are not the worst.

    Returns
    -------
    xarray.Dataset
        `max_<input>` (or `min_`) holds, `fails_at_<input>` next to it does not, `fails_reason` says why. `answer` is
        between, always (up to the end of the range), never, not_monotone (it holds again beyond a failure: no answer)
        or unknown (a measure of a condition is null). `method` is exact or search. The measures of the conditions and
        what binds a replica stand on both sides (`..._at_answer`, `..._at_failure`).

    Raises
    ------
    ContractError
        For anything wrong with the question, the range or the grid, with every problem.
    """
    if not isinstance(grid, Grid):
        raise TypeError(f"a grid is due, from gridplan.load_grid, not {type(grid).__name__}")
    whole = grid
    grid = _capped(grid, {"nodes": nodes, "budget": budget, "power": power})
    grid = fixed_at(grid, at or {})
    if question in NEXT_STEPS:
        _refuse_range(where, low, high, factor)
        axes_of(by, grid)
        answer, found = next_step(grid, question)
        return _result(grid, whole, found, answer, by, question=question, conditions="")
    sense, name = _parsed(question)
    check_input(name, factor)
    conditions = conditions_of(where)
    capped = {item.name for item in grid.axes} | set(grid.given) | set(grid.shifts)
    if "nodes_given" in capped and not any(item.measure == "fleet_sufficient" for item in conditions):
        conditions = (*conditions, Condition("fleet_sufficient", "=", 1.0))
    span = range_of(grid, name, low, high, factor)
    moved = varied(grid, name, factor)
    axes_of(by, moved.grid)
    answer, found = _searched(moved, sense, conditions, span)
    said = {"question": question, "low": span.low, "high": span.high}
    return _result(moved.grid, whole, found, answer, by, **said, conditions=" and ".join(map(str, conditions)))


def _result(
    grid: Grid, whole: Grid, found: dict[str, Array], answer: str, by: str | Sequence[str] | None, **said: Any
) -> xr.Dataset:
    keep = axes_of(by, grid)
    if keep is not None:
        found = folded(found, answer, grid, keep)
    return answer_dataset(found, grid, about(grid, whole, **said), keep)


def _capped(grid: Grid, caps: Mapping[str, float | None]) -> Grid:
    """The grid with the caps of the question in the place of its own."""
    for key, value in caps.items():
        if value is None:
            continue
        name = _CAPS[key]
        if not value > 0.0 or (key == "nodes" and value != int(value)):
            due = "a whole number of at least 1" if key == "nodes" else "above 0"
            raise ContractError([Problem(f"must be {due}, not {value:g}", key=key)])
        if grid.axis(name) is not None:
            raise ContractError([Problem(f"{name} is an axis of this grid: fix it instead", key=key)])
        grid = replace(grid, given={**grid.given, name: Given(float(value), "policy", "question")})
    return grid


def _refuse_range(where: str | Iterable[str], low: float | None, high: float | None, factor: bool) -> None:
    stated = {"while": bool(where), "low": low is not None, "high": high is not None, "factor": factor}
    problems = [Problem("belongs to max:INPUT and min:INPUT", key=key) for key, given in stated.items() if given]
    if problems:
        raise ContractError(problems)


def _parsed(question: str) -> tuple[str, str]:
    sense, _, name = question.partition(":")
    if sense not in ("max", "min") or not name:
        hint = suggestion(question, NEXT_STEPS)
        raise ContractError([Problem(f"{question} is not asked so; one of {', '.join(QUESTIONS)}{hint}", key="for")])
    return sense, name


def _searched(moved: Varied, sense: str, conditions: Sequence[Condition], span: Range) -> tuple[str, dict[str, Array]]:
    """The name of the answer, and its columns with one array axis per dimension of the grid."""
    names = read_for(conditions)
    rank = len(space_of(moved.grid).names)
    shape = _shape_of(moved, names, span, rank)
    answer = f"{sense}_{moved.label}"
    exact = exact_rate(moved, conditions, span) if sense == "max" else None
    if exact is not None and np.all(exact[1] == "exact"):
        return answer, {**columns_of(moved, answer, exact[0], conditions, span), "method": exact[1]}

    def statement(values: Array) -> Array:
        return judged(conditions, moved.figures(values, names))

    def search() -> Threshold:
        low, high = np.full(shape, span.low), np.full(shape, span.high)
        return threshold(statement, low, high, sense == "min", span.integer, width=15 if many else 1)

    many = np.prod(shape) <= MANY_CELLS
    found = _reached(search, span)
    method = np.full(shape, "search", dtype=object)
    if exact is not None:
        method = either(exact[1] == "exact", "exact", method)
        pairs = zip(_parts(exact[0]), _parts(found), strict=True)
        found = Threshold(*(np.where(method == "exact", known, looked) for known, looked in pairs))
    return answer, {**columns_of(moved, answer, found, conditions, span), "method": method}


def _parts(found: Threshold) -> tuple[Array, Array, Array]:
    return found.holds_at, found.fails_at, found.code


def _shape_of(moved: Varied, names: Sequence[str], span: Range, rank: int) -> tuple[int, ...]:
    """Shape of the cells that can have answers of their own: along the axes that change a measure of a condition."""
    ends = np.array([span.low, span.high]).reshape(2, *(1,) * rank)
    figures = _reached(lambda: moved.figures(ends, names), span)
    return np.broadcast_shapes(*(item.shape[1:] for item in figures.values()))


def _reached(search: Any, span: Range) -> Any:
    """What the search finds; a value that the contract refuses is a matter of the range."""
    try:
        return search()
    except ContractError as error:
        hint = Problem(f"looked at from {span.low:g} to {span.high:g}: a narrower range may do", key="low, high")
        raise ContractError([*error.problems, hint]) from None


def columns_of(
    moved: Varied, answer: str, found: Threshold, conditions: Sequence[Condition], span: Range
) -> dict[str, Array]:
    """The answer, its neighbour that fails, why, and the measures of the conditions on both sides."""
    names = list(dict.fromkeys([*read_for(conditions), "infeasible_reason", "binding_constraint"]))
    sides = np.stack([found.holds_at, found.fails_at])
    figures = moved.figures(np.where(np.isnan(sides), span.high, sides), names)
    unless = np.isnan(sides)
    why = reasons(conditions, figures)

    def side(values: Array, place: int) -> Array:
        own = np.broadcast_to(values, (2, *values.shape[1:]))[place, ...]
        return either(unless[place], None, own) if values.dtype == object else np.where(unless[place], np.nan, own)

    columns = {
        answer: found.holds_at,
        f"fails_at_{moved.label}": found.fails_at,
        "answer": answer_labels(found.code),
        "fails_reason": side(why, 1),
        "binding_constraint_at_answer": side(figures["binding_constraint"], 0),
    }
    for item in conditions:
        if item.measure not in ("status", "infeasible_reason"):
            columns[f"{item.measure}_at_answer"] = side(figures[item.measure], 0)
            columns[f"{item.measure}_at_failure"] = side(figures[item.measure], 1)
    return columns
