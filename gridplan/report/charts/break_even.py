"""Break-even chart: two bills over the values of an input, where they cross, and where the second is the cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, Problem
from gridplan.report.charts.break_even_lines import Bills, has_jumps
from gridplan.report.charts.break_even_marks import draw_bills
from gridplan.report.charts.break_even_words import finding_of, gap_notes, spoken_names
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.rows import Row, frame, plain
from gridplan.report.charts.source import axes_of_source, drawn_at
from gridplan.report.charts.texts import axis_title, place_text
from gridplan.sensitivity.break_even import break_even as crossings_of
from gridplan.sensitivity.cells import gathered, refuse
from gridplan.sensitivity.fixed import fixed_at
from gridplan.sensitivity.two_bills import LADDER_POINTS, comparison, only_compared, parsed, question_problems

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.sensitivity.two_bills import Comparison

__all__ = ["break_even"]

_BESIDE = [(name, side) for name in ("nodes", "no_plan") for side in ("first", "second")]
"""Columns beside the bills."""


def break_even(
    grid: Grid,
    vary: str = "arrival_rate",
    against: str = "api",
    measure: str = "usd_per_month",
    at: Mapping[str, str | float] | None = None,
    low: float | None = None,
    high: float | None = None,
    points: int = LADDER_POINTS,
) -> Chart:
    """Two bills of one cell over the values of an input, with every crossing that `gridplan.break_even` finds.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`: every value is planned anew.
    vary
        The input along the chart; an axis of that name is taken away.
    against
        `api` (the API against one's own fleet), or two labels of an axis, as `purchase=on_demand,reserved`.
    measure
        What is compared; against an API usd_per_month or usd_per_month_released.
    at
        Labels of all other axes that have several; the scenario is `nominal` unless it is given.
    low, high
        Range of `vary` [unit of the input], as in `gridplan.break_even`; for an arrival rate that is no axis from a
        tenth of the contract's to ten times it.
    points
        Values compared first; of arrival rates the edges of stairs of nodes are drawn as well.

    Returns
    -------
    Chart
        Its data has a row per value compared and one on each side of every crossing: `value` of the input in its
        `unit`, what both cost in `cost_unit`, why one has no plan, which is cheaper, the number of the crossing.

    Raises
    ------
    ContractError
        For anything but a contract, for axes left open, and for what `gridplan.break_even` refuses.
    """
    if not isinstance(grid, Grid):
        said = "bills are planned anew: a contract is due (gridplan.load_grid), no cube and no folder"
        raise ContractError([Problem(said, key="source")])
    problems: list[Problem] = []
    axis, names, fixed = "", ("", ""), dict[str, str | float]()
    with gathered(problems):
        axis, names = parsed(against)
    problems += question_problems(measure, axis, vary, points)
    axes = axes_of_source(grid)
    if not any(problem.key == "vary" for problem in problems):  # else it is not known which axes are left open
        with gathered(problems):
            fixed = drawn_at(grid, [name for name in (vary, axis) if name in axes], at)
    refuse(problems)
    if low is None and high is None:
        low, high = _usual(grid, vary, axes, fixed)
    cell = only_compared(fixed_at(grid, fixed), axis, names, fixed)
    compared = comparison(cell, vary, axis, names, measure, (low, high), points)
    answer = crossings_of(grid, vary, against=against, measure=measure, at=fixed, low=low, high=high, points=points)
    shown = {name: label for name, label in fixed.items() if len(axes[name]) > 1 and label != "nominal"}
    return _chart(_rows(compared, answer, names), compared, answer, shown)


def _usual(
    grid: Grid, vary: str, axes: Mapping[str, Sequence[str | float]], fixed: Mapping[str, str | float]
) -> tuple[float | None, float | None]:
    """A range about the contract's own arrival rate, where it states one; else that of the question."""
    own = next((item for item in grid.workloads if item.name in (fixed.get("workload", ""), "")), None)
    stated = own.given.get(vary) if own is not None and len(axes.get(vary, ())) < 2 else None
    if stated is None or not isinstance(stated.value, float) or vary != "arrival_rate":
        return None, None
    return stated.value / 10.0, stated.value * 10.0


def _chart(rows: list[Row], asked: Comparison, answer: xr.Dataset, at: Mapping[str, str | float]) -> Chart:
    vary, measure, names = asked.moved.name, asked.pair.measures[1], asked.pair.names
    first, second = spoken_names(names)
    found = finding_of(rows, answer, vary, names)
    drawn = f"{axis_title(measure)} of {first} and {second}, over {axis_title(vary)}"
    shaded = any(row["cheaper"] == names[1] for row in rows)
    values = len({row["value"] for row in rows})
    bills = Bills(rows, vary, measure, names, (first, second))
    notes = (
        f"{drawn}; {values:,} values planned" + (f"; shaded where {second} costs at most as much" if shaded else ""),
        *([f"{vary} as the contract states it: the scenario changes it"] if _moved_by_scenario(asked) else []),
        *(["lines break where nodes are added somewhere between two planned values"] if has_jumps(bills) else []),
        *gap_notes(rows),
        *([f"at {place_text(at)}"] if at else []),
    )
    about = f"Lines of {drawn}. {found}"
    return Chart("break_even", found, notes, frame(rows), about, lambda width: draw_bills(bills, width))


def _moved_by_scenario(asked: Comparison) -> bool:
    return bool((asked.moved.times != 1.0).any() or (asked.moved.plus != 0.0).any())


def _rows(asked: Comparison, answer: xr.Dataset, names: tuple[str, str]) -> list[Row]:
    """What both cost at every value compared, and on both sides of every crossing, in rising order."""
    vary = asked.moved.label
    marked = [
        (value, number, tail)
        for tail in ("below", "above")
        for number, value in enumerate(np.ravel(answer[f"{vary}_{tail}"].values).tolist(), 1)
        if value == value
    ]
    beside = sorted({value for value, *_ in marked})
    others = np.setdiff1d(np.ravel(asked.compared()), np.array(beside)).tolist()
    places: list[tuple[float, int | None, str | None]] = [*((value, None, None) for value in others), *marked]
    places.sort(key=lambda place: (place[0], place[1] or 0))
    stacked = np.array([place[0] for place in places]).reshape(-1, *(1,) * len(asked.shape))
    plans = asked.plans(stacked)
    sides = (*asked.costs(stacked), *plans["nodes"], *plans["no_plan"])
    columns = [np.broadcast_to(np.ravel(side), len(places)).tolist() for side in sides]
    unit, cost_unit = dictionary()[asked.moved.name].unit, dictionary()[asked.pair.measures[1]].unit
    rows: list[Row] = []
    for (value, number, tail), first, second, *own in zip(places, *columns, strict=True):
        known = first == first and second == second
        rows.append(
            {
                **{"input": asked.moved.name, "value": value, "unit": unit},
                **{"first": names[0], "second": names[1], "cost_unit": cost_unit},
                **{"cost_first": plain(first), "cost_second": plain(second)},
                **{f"{name}_{side}": value for (name, side), value in zip(_BESIDE, map(plain, own), strict=True)},
                "cheaper": (names[1] if second <= first else names[0]) if known else None,
                **{"crossing": number, "side": tail},
            }
        )
    return rows
