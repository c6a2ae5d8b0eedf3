"""Trade-off: options by two objectives, those that nothing beats in both in colour, the others grey."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import format_label
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.figures import figure_text, head_height
from gridplan.report.charts.pareto_draw import Picture, draw
from gridplan.report.charts.rows import Row, frame, plain
from gridplan.report.charts.source import Source, axes_of_source
from gridplan.report.charts.texts import axis_title, place_text, short_labels
from gridplan.report.plain_text import printable
from gridplan.sensitivity.axes import named, split_axes
from gridplan.sensitivity.pareto import directions
from gridplan.sensitivity.pareto import pareto as front_of

__all__ = ["MOST_DRAWN", "MOST_POINTS", "pareto_chart"]

MOST_DRAWN = 1500
"""Dominated options that are drawn (policy): more of them are a cloud to the eye."""

MOST_POINTS = 6
"""Points of `by` in one chart (policy): as many as colours and shapes tell apart."""


def pareto_chart(
    source: Source,
    objectives: str | Iterable[str],
    by: str | Iterable[str] | None = None,
    at: Mapping[str, str | float] | None = None,
    *,
    levers: str | Iterable[str] | None = None,
    where: str | Iterable[str] = (),
    accept: Mapping[str, str | Sequence[str]] | None = None,
    survives: str | None = None,
    mixed: bool = False,
) -> Chart:
    """Options by two objectives: what no other option beats in both in colour and by name, the others small and grey.

    Parameters
    ----------
    source
        A contract, a cube or the folder of one.
    objectives
        Two measures, the first across, the second up, each with `:min` or `:max` where the usual direction is not
        meant.
    by
        Axes that stay: each of their points (at most 6) has a front of its own.
    at
        Labels at which axes are fixed; the scenario is `nominal` unless it is given, stays or is a lever.
    levers, where, accept, survives, mixed
        As in `gridplan.cheapest`.

    Returns
    -------
    Chart
        Its data has a row per candidate: the labels of its point and its option, both objectives, `on_front`, and
        `dominated_by`, the row of an option that beats it.

    Raises
    ------
    ContractError
        As `gridplan.pareto`; for more or less than two objectives, and for more than 6 points.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/latency.yaml")
    >>> pareto_chart(grid, "usd_per_mtok_output, tpot_s").finding.split(":")[0]
    '2 of 9 options are on the front'
    """
    ways = directions(objectives)
    if len(ways) != 2:
        raise ContractError([Problem(f"a chart has two objectives, not {len(ways)}", key="objectives")])
    axes = axes_of_source(source)
    fixed = dict(at or {})
    free = {*(named(by) or ()), *(named(levers) or ()), *fixed}
    if len(axes.get("scenario", ())) > 1 and "nominal" in axes["scenario"] and "scenario" not in free:
        fixed["scenario"] = "nominal"
    sizes = {name: 1 if name in fixed else len(labels) for name, labels in axes.items()}
    stay = [name for name in split_axes(sizes, by, levers)[0] if sizes[name] > 1]
    _check(source, ways, stay, axes)
    found = front_of(
        source, objectives, by, levers=levers, where=where, accept=accept, survives=survives, at=fixed, mixed=mixed
    )
    chosen = [name for name in (named(found.attrs.get("levers", "")) or ()) if sizes.get(name, 1) > 1]
    names = [*stay, *chosen, *ways, "on_front", "dominated_by"]
    columns = {name: [plain(value) for value in found[name].values.tolist()] for name in names}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    picture = _picture(rows, tuple(ways), stay, chosen)
    said = _finding(rows, ways, stay, picture, found.attrs)
    x, y = ways
    drawn = f"{axis_title(y)} ({ways[y]}) over {axis_title(x)} ({ways[x]})"
    shown = {
        name: label for name, label in fixed.items() if name in axes and len(axes[name]) > 1 and label != "nominal"
    }
    told = (drawn, *([f"at {place_text(shown)}"] if shown else []), *_notes(rows, picture, found.attrs))
    return Chart(
        kind="pareto",
        finding=said,
        notes=told,
        data=frame([{**row, "on_front": bool(row["on_front"])} for row in rows]),
        alt=f"Scatter of {drawn}. {said}",
        draw=lambda width: draw(picture, width, head_height(said, told, width)),
    )


def _check(source: Source, ways: Iterable[str], stay: Sequence[str], axes: Mapping[str, Sequence[Any]]) -> None:
    """Refuse what is no measure, and more points than a chart can tell apart."""
    known = _measures(source)
    problems = [
        Problem(f"{name} is not a measure here{suggestion(name, known)}", key="objectives")
        for name in ways
        if name not in known
    ]
    count = math.prod(len(axes[name]) for name in stay)
    if count > MOST_POINTS:
        sizes = ", ".join(f"{name} ({len(axes[name]):,})" for name in stay)
        said = f"{count:,} points have a front each, {MOST_POINTS} are the most in one chart: fix some of {sizes}"
        problems.append(Problem(said, key="at"))
    if problems:
        raise ContractError(problems)


def _measures(source: Source) -> list[str]:
    """What can be an objective: of a contract every measure, of a cube those that it holds."""
    if isinstance(source, Grid):
        return list(all_measures())
    if isinstance(source, (str, Path)):
        from gridplan.store.manifest import read_manifest

        return [column.name for column in read_manifest(source).layout.given]
    return [str(name) for name in source.variables]


def _picture(rows: Sequence[Row], ways: tuple[str, ...], stay: Sequence[str], chosen: Sequence[str]) -> Picture:
    """What is drawn: names of what distinguishes the options of the front, and what colour and shape stand for."""
    front = [row for row in rows if row["on_front"]]
    differ = [name for name in chosen if len({row[name] for row in front}) > 1]
    common = {name: front[0][name] for name in chosen if front and name not in differ}
    short = {
        name: short_labels(dict.fromkeys(format_label(row[name]) for row in front if row[name] is not None), 22)
        for name in differ
    }

    def text(row: Row) -> str:
        return ", ".join(short[name].get(format_label(row[name]), "null") for name in differ)

    of_points = [_place(row, stay) for row in rows]
    if stay:
        groups = of_points
    elif differ and len({row[differ[0]] for row in front}) <= MOST_POINTS:
        groups = [f"{differ[0]} {short[differ[0]].get(format_label(row[differ[0]]), '')}" for row in rows]
    else:
        groups = ["on the front"] * len(rows)
    beaten = [at for at, row in enumerate(rows) if not row["on_front"]]
    if len(beaten) > MOST_DRAWN:
        beaten = [beaten[place * len(beaten) // MOST_DRAWN] for place in range(MOST_DRAWN)]
    marks = [(row[ways[0]], row[ways[1]], group, text(row)) for row, group in zip(rows, groups, strict=True)]
    on_front = [mark for mark, row in zip(marks, rows, strict=True) if row["on_front"]]
    groups_used = list(dict.fromkeys(mark[2] for mark in on_front))
    return Picture(ways, on_front, [marks[at][:2] for at in beaten], differ, groups_used, common)


def _place(row: Row, stay: Sequence[str]) -> str:
    return printable(place_text({name: row[name] for name in stay}))


def _finding(
    rows: Sequence[Row], ways: Mapping[str, str], stay: Sequence[str], picture: Picture, attrs: Mapping[str, Any]
) -> str:
    """How many options nothing beats, and what the trade is from one end of the front to the other."""
    if not rows:
        why = attrs.get("left_out", "")
        return f"No option can be chosen among {attrs['cells']:,}{f': {why}' if why else ''}"
    front = [row for row in rows if row["on_front"]]
    points = len({_place(row, stay) for row in rows}) if stay else 1
    verb, on = "is" if len(front) == 1 else "are", "the front" if points == 1 else f"the fronts of {points} points"
    said = f"{len(front):,} of {len(rows):,} options {verb} on {on}"
    x, y = ways
    first = [row for row in front if not stay or _place(row, stay) == _place(front[0], stay)]
    best_x, best_y = _end(first, x, y, ways), _end(first, y, x, ways)

    def text(row: Row) -> str:
        values = " and ".join(figure_text(row[name], name) for name in ways)
        labels = {name: row[name] for name in (picture.differ or picture.common)}
        name = place_text(labels, 24) if len(labels) < 3 else ", ".join(_short(label) for label in labels.values())
        return f"{values} ({name})" if name else values

    where = f"; at {_place(front[0], stay)}" if points > 1 else ""
    if all(best_x[name] == best_y[name] for name in ways):
        alike = f", {len(first) - 1:,} more alike" if len(first) > 1 else ""
        return f"{said}{where}: best in both is {text(best_x)}{alike}"
    return f"{said}{where}: from {text(best_x)} to {text(best_y)}"


def _short(label: Any) -> str:
    return short_labels([format_label(label)], 24).popitem()[1] if label is not None else "null"


def _end(front: Sequence[Row], name: str, other: str, ways: Mapping[str, str]) -> Row:
    """The option that is best in one objective, of equal ones the best in the other."""

    def cost(row: Row, of: str) -> float:
        return float(row[of]) if ways[of] == "min" else -float(row[of])

    return min(front, key=lambda row: (cost(row, name), cost(row, other)))


def _notes(rows: Sequence[Row], picture: Picture, attrs: Mapping[str, Any]) -> list[str]:
    found = []
    if picture.common:
        found.append(f"every option of the front has {place_text(picture.common)}")
    if picture.differ:
        found.append(f"names of the front, where there is room: {', '.join(picture.differ)}")
    beaten = sum(not row["on_front"] for row in rows)
    if beaten > len(picture.beaten):
        found.append(f"grey: {len(picture.beaten):,} of {beaten:,} dominated options, evenly spaced in declared order")
    elif beaten:
        found.append(f"grey: {beaten:,} dominated options")
    if attrs.get("left_out"):
        found.append(f"not candidates: {attrs['left_out']}")
    if empty := attrs.get("points_without_candidate"):
        found.append(f"points without a candidate: {empty:,}")
    return found
