"""Stairs: a bill, or a count of nodes, over the arrival rate, with every step where one more node is due."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.figures import at_text, head_height
from gridplan.report.charts.rows import frame
from gridplan.report.charts.source import Source, axes_of_source, drawn_at
from gridplan.report.charts.stair_contract import RATE, Walked, walked
from gridplan.report.charts.stair_cube import at_labels
from gridplan.report.charts.stair_draw import COUNTS, draw
from gridplan.report.charts.stair_finding import finding
from gridplan.report.charts.stair_scales import Picture
from gridplan.report.charts.stair_walk import MOST_STEPS, Stair
from gridplan.report.charts.texts import axis_title, place_text, short_labels

__all__ = ["MOST_SERIES", "stairs"]

MOST_SERIES = 6
"""Series of one chart (policy): as many as colours and dashes tell apart."""

_NAMED = 6


def stairs(
    source: Source,
    measure: str = "usd_per_month",
    x: str = RATE,
    by: str | None = None,
    at: Mapping[str, str | float] | None = None,
    mark: float | None = None,
) -> Chart:
    """A measure over an axis of numbers; over arrival rates with the steps at which one more node is due.

    Parameters
    ----------
    source
        A contract, a cube or the folder of one. The stair of a contract is exact: it is walked from the lowest to the
        highest label of arrival_rate, or, where that is no axis, from a tenth of the contract's rate to twice it. Of a
        cube the plan at each label is known, and up to which rate it suffices.
    measure
        A number of every cell. One that is level within a step (usd_per_month, nodes, replicas) is drawn as a stair,
        another (usd_per_mtok_output) as the points that were planned.
    x
        An axis of numbers. Other axes than arrival_rate have plans at their labels alone.
    by
        One more axis, whose labels (at most 6) are series.
    at
        Labels of all other axes that have several; the scenario is `nominal` unless it is given.
    mark
        A value of `x` that gets an upright line, such as the rate of a plan; by default the contract's own rate.

    Returns
    -------
    Chart
        Its data has a row per step, or point: the label of `by`, where it begins and ends (a step holds above its
        beginning and up to its end), the measure, the nodes, and why there is no plan.

    Raises
    ------
    ContractError
        For unknown measures, axes and labels, for axes left open, for an axis of labels, and for more than 6 series.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/lesson.yaml")
    >>> stairs(grid, "nodes", at={"instance": "aws-p4de"}).data.arrival_rate_to.tolist()
    [49.0, 105.0, 120.0]
    """
    walks = isinstance(source, Grid) and x == RATE
    _check(source, measure, x, by, at, walks)
    read = _walked if walks else _labelled
    picture, fixed, notes = read(source, measure, x, by, at)
    if mark is not None:
        picture = replace(picture, own=mark, own_name="the plan")
    _check_size(picture)
    said = finding(picture)
    if "scenario" in fixed and walks:
        said = f"{said}, in {place_text({'scenario': fixed['scenario']})}"
    drawn = f"{axis_title(measure)}, over {axis_title(x)}{'' if by is None else f', by {axis_title(by)}'}"
    if picture.level and not measure.startswith(COUNTS) and _has_nodes(picture):
        notes.append("above the lines, where there is room: nodes")
    told = (drawn, *([f"at {place_text(fixed)}"] if fixed else []), *notes, *_missing(picture.series, x))
    return Chart(
        kind="stairs",
        finding=said,
        notes=told,
        data=frame(_rows(picture, by)),
        alt=f"{'Stairs' if picture.level else 'Points'} of {drawn}. {said}",
        draw=lambda width: draw(picture, width, head_height(said, told, width)),
    )


_Read = tuple[Picture, dict[str, str | float], list[str]]


def _walked(source: Grid, measure: str, x: str, by: str | None, at: Mapping[str, str | float] | None) -> _Read:
    """The stair of a contract, the labels at which it is, and what is to be said of it."""
    axes = axes_of_source(source)
    is_axis = len(axes.get(RATE, ())) > 1
    fixed = drawn_at(source, [name for name in (by, RATE if is_axis else None) if name], at)
    found = walked(source, measure, by, {name: label for name, label in fixed.items() if name != by})
    shown = {name: label for name, label in fixed.items() if len(axes[name]) > 1 and label != "nominal"}
    picture = Picture(found.stairs, measure, x, found.own, (found.low, found.high), found.level, True)
    return picture, shown, _walk_notes(found, is_axis)


MOST_PLACES = 2000
"""Labels of the axis in all series of one chart (policy)."""


def _check_size(picture: Picture) -> None:
    """Refuse more than a picture holds, and a stair that ends before the rate it is drawn for."""
    places = sum(len(stair.steps) or len(stair.points) for stair in picture.series)
    if not picture.walked and places > MOST_PLACES:
        said = f"{places:,} plans are too many for a picture, {MOST_PLACES:,} are the most: fix or leave out labels"
        raise ContractError([Problem(f"{said} of {picture.x}", key="x")])
    reach = max((stair.steps[-1].high for stair in picture.series if stair.steps), default=math.inf)
    if picture.walked and picture.own is not None and reach < picture.own <= picture.span[1]:
        said = f"more than {MOST_STEPS} steps lie between {at_text(picture.span[0], picture.x)} and"
        raise ContractError(
            [Problem(f"{said} {at_text(picture.own, picture.x)}: make arrival_rate a short axis", key="x")]
        )


def _has_nodes(picture: Picture) -> bool:
    return any(step.figures.get("nodes") and step.why is None for stair in picture.series for step in stair.steps)


def _labelled(source: Source, measure: str, x: str, by: str | None, at: Mapping[str, str | float] | None) -> _Read:
    """What is known at the labels of an axis."""
    series, fixed = at_labels(source, measure, x, by, at)
    ends = [step.low for stair in series for step in stair.steps]
    level = any(step.high > step.low for stair in series for step in stair.steps)
    said = f"planned at the labels of {x}; nothing is known between them"
    if level:
        said = "planned at the labels of the cube (points); lines as far as each plan suffices"
    return Picture(series, measure, x, None, (min(ends), max(ends)), level, False), fixed, [said]


def _check(
    source: Source, measure: str, x: str, by: str | None, at: Mapping[str, str | float] | None, walks: bool
) -> None:
    axes = axes_of_source(source)
    row = dictionary().get(measure)
    problems = []
    if isinstance(source, Grid) and measure not in all_measures():
        problems.append(Problem(f"{measure} is not a measure{suggestion(measure, all_measures())}", key="measure"))
    elif row is not None and (row.is_label or row.dtype == "bool"):
        problems.append(Problem(f"{measure} is a {row.dtype}: stairs show a number", key="measure"))
    if x not in axes and not walks:
        problems.append(Problem(f"{x} is not an axis here{suggestion(x, axes)}", key="x"))
    elif any(isinstance(label, str) for label in axes.get(x, ())):
        problems.append(Problem(f"{x} is an axis of labels: stairs go over numbers, as arrival_rate", key="x"))
    if by is not None and by == x:
        problems.append(Problem(f"{x} is drawn across, so it cannot be the series too", key="by"))
    elif by is not None and by not in axes:
        problems.append(Problem(f"{by} is not an axis here{suggestion(by, axes)}", key="by"))
    elif by is not None and len(axes[by]) > MOST_SERIES:
        said = f"{by} has {len(axes[by])} labels, {MOST_SERIES} series are the most: choose another axis, or fix it"
        problems.append(Problem(said, key="by"))
    if walks and len(axes.get(RATE, ())) <= 1 and RATE in (at or {}):
        problems.append(Problem(f"{RATE} is drawn, so it cannot be fixed", key="at"))
    if problems:
        raise ContractError(problems)


def _walk_notes(found: Walked, is_axis: bool) -> list[str]:
    notes = []
    if not is_axis:
        notes.append("arrival_rate is no axis here: drawn from a tenth of the contract's rate to twice it")
    if found.moved:
        notes.append("rates as the contract states them; the scenario changes what arrives")
    for stair in found.stairs:
        whose = f"{short_labels([stair.label])[stair.label]}: " if stair.label else ""
        if stair.capped:
            reach = at_text(stair.reach, RATE)
            notes.append(f"{whose}{MOST_STEPS} steps are drawn, which end at {reach}; the stair goes on")
        if stair.gaps:
            notes.append(f"{whose}not known in {stair.gaps} gaps")
    return notes


def _missing(series: Sequence[Stair], x: str) -> list[str]:
    """Where there is no plan and why, for each series; the first few."""
    found = []
    for stair in series:
        whose = f"{short_labels([stair.label])[stair.label]} " if stair.label else ""
        reasons: dict[str, list[float]] = {}
        for step in stair.steps:
            if step.why is not None:
                reasons.setdefault(step.why, []).extend((step.low, step.high))
        for why, ends in reasons.items():
            low, high = (at_text(end, x) for end in (min(ends), max(ends)))
            found.append(f"no plan: {whose}{low if low == high else f'from {low} to {high}'} ({why})")
    more = [f"no plan: {len(found) - _NAMED} more ranges"] if len(found) > _NAMED else []
    return [*found[:_NAMED], *more]


def _rows(picture: Picture, by: str | None) -> list[dict[str, Any]]:
    """A row per step, of a measure that falls within steps a row per point; and one per range without a plan."""
    found = []
    as_steps = picture.level or not picture.walked
    for stair in picture.series:
        marks = [(step.low, step.high, step.why, step.figures) for step in stair.steps if as_steps or step.why]
        marks += [] if as_steps else [(point.rate, point.rate, None, point.figures) for point in stair.points]
        for low, high, why, figures in sorted(marks, key=lambda mark: mark[:2]):
            known = figures if why is None else {}
            row: dict[str, Any] = {} if by is None else {by: stair.label}
            row |= {f"{picture.x}_from": low, f"{picture.x}_to": high, picture.measure: known.get(picture.measure)}
            found.append(row | {"nodes": known.get("nodes")} | {"infeasible_reason": why})
    return found
