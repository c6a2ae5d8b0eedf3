"""A tornado as text: the finding, then one table per measure, as planned and before rounding up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_quantity
from gridplan.report.frames import number_text, plain_rows, text_table
from gridplan.sensitivity.finding import flip_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["tornado_cells", "tornado_page"]

_WIDTH = 24
"""Columns of the longest bar (policy)."""


def tornado_page(table: pd.DataFrame) -> str:
    """The finding, the cell, and for every measure a bar per input over the swing."""
    lines = [str(table.attrs["finding"]), *([f"at {table.attrs['cell']}"] if table.attrs["cell"] else [])]
    rows = plain_rows(table)
    for measure in dict.fromkeys(row["measure"] for row in rows):
        own = [row for row in rows if row["measure"] == measure]
        lines += ["", *text_table([_shown(row, own) for row in own], _columns(own))]
    notes = dict.fromkeys((row["input"], row["rate_note"]) for row in rows if row["rate_note"] is not None)
    if notes:
        lines += ["", *(f"{name}: {note}" for name, note in notes)]
    return "\n".join(lines)


def tornado_cells(
    rows: list[dict[str, Any]],
) -> tuple[tuple[str, ...], list[list[tuple[str, float | None]]]]:
    """Heads and rows of one measure for a table without bars: each cell its text and the number behind it, if any."""
    columns = {name: said.strip() for name, said in _columns(rows).items() if name != "bar"}
    columns["input"] = "input"
    shown = [_shown(row, rows) for row in rows]
    cells = [
        [
            (number_text(texts[name]), row[name] if name in ("low", "base", "high", "swing") else None)
            for name in columns
        ]
        for row, texts in zip(rows, shown, strict=True)
    ]
    return tuple(columns.values()), cells


def _columns(rows: list[dict[str, Any]]) -> dict[str, str]:
    measure, unit = rows[0]["measure"], rows[0]["measure_unit"]
    head = measure if unit in ("1", "count", measure) or unit.lower() in measure else f"{measure} [{unit}]"
    columns = {"input": head, "range": "from .. to", "low": "low", "base": "base", "high": "high", "swing": "swing"}
    if any(row["swing_unrounded"] is not None for row in rows) and any(
        row["swing_unrounded"] != row["swing"] for row in rows
    ):
        columns |= {"smooth": "unrounded low .. high", "smooth_swing": "swing "}
    columns["bar"] = ""
    if any(row["flips"] for row in rows):
        columns["flip"] = "binds"
    if any(row[f"why_{end}"] for row in rows for end in ("base", "low", "high")):
        columns["why"] = "no value because"
    return columns


def _shown(row: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    unit = row["measure_unit"]
    figures = {end: _figure(row[end], unit) for end in ("low", "base", "high", "swing")}
    smooth = [row["low_unrounded"], row["high_unrounded"]]
    ends = " .. ".join(format_quantity(row[f"input_{end}"], row["unit"]) for end in ("low", "high"))
    why = dict.fromkeys(row[f"why_{end}"] for end in ("low", "base", "high") if row[f"why_{end}"])
    return {
        "input": row["input"],
        "range": ends,
        **figures,
        "smooth": None if None in smooth else " .. ".join(str(_figure(value, unit)) for value in smooth),
        "smooth_swing": _figure(row["swing_unrounded"], unit),
        "bar": _bar(row, rows),
        "flip": flip_text({**row}) if row["flips"] else "",
        "why": ", ".join(why),
    }


def _figure(value: float | None, unit: str) -> str | None:
    """A number in the unit of the head: two decimals of money."""
    if value is None:
        return None
    return f"{value:,.2f}" if unit.startswith("USD") else format_quantity(value, "count")


def _bar(row: Mapping[str, Any], rows: list[dict[str, Any]]) -> str:
    """From the lowest to the highest value of an input on one scale for all, `|` at the base."""
    values = [other[end] for other in rows for end in ("low", "base", "high") if other[end] is not None]
    if not values or max(values) == min(values) or row["base"] is None:
        return ""
    scale = _WIDTH / (max(values) - min(values))
    place = {end: round((row[end] - min(values)) * scale) for end in ("low", "base", "high") if row[end] is not None}
    left, right = min(place.values()), max(place.values())
    cells = ["#" if left <= at <= right and left != right else " " for at in range(_WIDTH + 1)]
    cells[place["base"]] = "|"
    return "".join(cells).rstrip()
