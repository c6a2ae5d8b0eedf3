"""Tornado chart: what each input, moved alone between two ends, does to the plan of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem
from gridplan.quantities import format_quantity
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.rows import Row, frame, plain
from gridplan.report.charts.source import axes_of_source, drawn_at
from gridplan.report.charts.texts import CONSTRAINTS, place_text, short_labels
from gridplan.report.charts.tornado_marks import draw_tornado
from gridplan.report.charts.tornado_rows import flips_at

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MEASURES", "tornado", "tornado_of"]

MEASURES = ("usd_per_month", "usd_per_mtok_output")
"""What is drawn unless it is said; the first one sorts."""

_NOTES = {
    "measured_rate_not_moved": "the measured rate should follow it and was not restated",
    "scaled_by_far_anchor": "the rate is scaled by a measurement far from first principles",
}


def tornado(
    grid: Grid,
    ranges: Mapping[str, Any],
    measures: Sequence[str] = MEASURES,
    at: Mapping[str, str | float] | None = None,
) -> Chart:
    """Inputs moved one at a time between two ends: a panel per measure, a bar per input, widest swing first.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`: every end is planned anew.
    ranges
        For each input its low and high end: a pair of numbers in base units, or a text (`2:5`, `20 ms:40 ms`, factors
        `x0.5:x2`, changes `-20%:+20%`).
    measures
        Numbers of the dictionary; the first one sorts.
    at
        The cell: one label per axis; axes with one label and the nominal scenario may be left out.

    Returns
    -------
    Chart
        Its data are the rows of `gridplan.tornado`, units in columns of their own.

    Raises
    ------
    ContractError
        For anything but a contract, and for what `gridplan.tornado` refuses.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/lesson.yaml")
    >>> tornado(grid, {"rho_target": (0.6, 0.8)}, ["replicas_active"], {"instance": "aws-p4de"}).finding
    'rho_target moves replicas_active most, from 9 to 10 at 0.6 and 8 at 0.8'
    """
    if not isinstance(grid, Grid):
        said = "a tornado plans anew: a contract is due (gridplan.load_grid), no cube and no folder"
        raise ContractError([Problem(said, key="source")])
    from gridplan.sensitivity.tornado import tornado as planned

    table, axes = planned(grid, ranges, measures, at), axes_of_source(grid)
    fixed = {name: label for name, label in drawn_at(grid, (), at).items() if len(axes[name]) > 1}
    return _chart(table, place_text({name: label for name, label in fixed.items() if label != "nominal"}))


def tornado_of(table: pd.DataFrame) -> Chart:
    """The chart of a table that `gridplan.tornado` has made. Raises ContractError for any other table.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/lesson.yaml")
    >>> table = gridplan.tornado(grid, {"rho_target": (0.6, 0.8)}, ["nodes"], {"instance": "aws-p4de"})
    >>> tornado_of(table).finding
    'None of 1 inputs moves nodes, which stays 2; before rounding up rho_target moves it most, by 0.3125'
    """
    if not len(table) or "input_low" not in table or "why_base" not in table:
        raise ContractError([Problem("a table that gridplan.tornado has made is due", key="table")])
    cell = str(table.attrs.get("cell", ""))
    return _chart(table, short_labels([cell], _CELL)[cell])


_CELL = 120
"""Signs of the text of a cell, of which a table does not say which axes had a choice (policy)."""


def _chart(table: pd.DataFrame, cell: str) -> Chart:
    rows = [{str(name): plain(value) for name, value in row.items()} for row in table.to_dict("records")]
    rows = [{name: None if value != value else value for name, value in row.items()} for row in rows]
    found = _finding(rows)
    inputs = list(dict.fromkeys(row["input"] for row in rows))
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    drawn = f"{', '.join(measures)} as each input moves alone from its low to its high end, by swing of {measures[0]}"
    notes = dict.fromkeys((row["input"], row["rate_note"]) for row in rows if row["rate_note"] is not None)
    return Chart(
        kind="tornado",
        finding=found,
        notes=(
            drawn,
            *([f"at {cell}"] if cell else []),
            *(f"{name}: {_NOTES.get(note, note)}" for name, note in notes),
        ),
        data=frame(rows),
        alt=f"Tornado chart of {drawn}; inputs {', '.join(inputs)}. {found}",
        draw=lambda width: draw_tornado(rows, width),
    )


def _finding(rows: Sequence[Row]) -> str:
    """The input that moves the first measure most and what it does, and how many flip what binds."""
    measure = rows[0]["measure"]
    own = [row for row in rows if row["measure"] == measure]
    top = own[0]
    if all(row["base"] is None for row in own) and top["why_base"] is not None:
        said = f"{measure} has no value in this cell: {top['why_base']}"
    elif top["swing"] is None:
        lost = [f"{_input(top, end)} ({top[f'why_{end}']})" for end in ("low", "high") if top[f"why_{end}"] is not None]
        said = f"{top['input']} matters most: {measure} has no value at {' and '.join(lost)}"
    elif top["swing"] == 0:
        said = f"None of {len(own)} inputs moves {measure}, which stays {_figure(top['base'], top)}"
        most = max(own, key=lambda row: row["swing_unrounded"] or 0.0)
        if most["swing_unrounded"]:
            said += f"; before rounding up {most['input']} moves it most, by {most['swing_unrounded']:.4g}"
    else:
        ends = " and ".join(f"{_figure(top[end], top)} at {_input(top, end)}" for end in ("low", "high"))
        said = f"{top['input']} moves {measure} most, from {_figure(top['base'], top)} to {ends}"
    flips = [row["input"] for row in own if any(flips_at(row, end) for end in ("low", "high"))]
    if flips:
        named = ", ".join(flips) if len(flips) < 4 else f"{len(flips)} of {len(own)} inputs"
        binds = top["binds_base"]
        now = f" ({CONSTRAINTS.get(binds, binds)} now)" if binds is not None else ""
        said += f"; what binds{now} changes with {named}"
    return said


def _figure(value: float, row: Row) -> str:
    return format_quantity(value, row["measure_unit"])


def _input(row: Row, end: str) -> str:
    return format_quantity(row[f"input_{end}"], row["unit"])
