"""The difference of two plans as text: labels, inputs, measures, flips, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_quantity
from gridplan.report.frames import plain_rows, text_table

if TYPE_CHECKING:
    from gridplan.sensitivity.diff import Difference

__all__ = ["diff_data", "diff_page"]

SHOWN_ROWS = 40
"""Rows of a table that are printed (policy); the others are counted, and in --json."""

_TABLES = ("labels", "inputs", "measures", "flips", "why")


def diff_data(found: Difference) -> dict[str, Any]:
    """Plain data for JSON."""
    return {
        "cells": found.cells,
        "fixed_a": dict(found.fixed[0]),
        "fixed_b": dict(found.fixed[1]),
        "why_at": found.cell,
        "left_out": list(found.left_out),
        "of_contracts": found.of_contracts,
        **{name: plain_rows(getattr(found, name)) for name in _TABLES},
    }


def diff_page(found: Difference) -> str:
    """Each table with its head; those without rows say so in a line."""
    data = diff_data(found)
    lines = [f"{found.cells:,} {'cell is' if found.cells == 1 else 'cells are'} on both sides"]
    for which, fixed in zip("AB", found.fixed, strict=True):
        if fixed:
            lines.append(f"{which} at {', '.join(f'{name}={label}' for name, label in fixed.items())}")
    if found.left_out:
        lines.append(f"{', '.join(found.left_out)}: not held by a cube, so not compared")
    for row in _few(data["labels"], lines):
        lines.append(f"only {row['only_in']} has {row['axis']}={row['label']}: not compared")
    if not found.of_contracts:
        lines.append("a cube holds few inputs: others may differ, and which one did it is not known; compare contracts")
    lines += _part(
        _inputs(data["inputs"]),
        "no input differs" if found.of_contracts else "no input that both sides hold differs",
        {"input": "inputs", "count": "cells", "a": "A", "b": "B", "a_source": "source of A", "b_source": "source of B"},
    )
    lines += _part(
        _measures(data["measures"]),
        "",
        {
            "measure": "measures",
            "count": "cells",
            "change": "largest",
            "of": "A -> B",
            "change_at": "at",
            "pct": "in %",
            "change_pct_at": "at ",
            "nulls": "nulls",
        },
    )
    lines += _part(
        [{**row, "a": row["a"] or "-", "b": row["b"] or "-"} for row in data["flips"]],
        "no limit and no status flips",
        {"measure": "flips", "a": "A", "b": "B", "cells": "cells", "first_at": "first at"},
    )
    if data["why"]:
        lines += ["", f"why{f', at {found.cell}' if found.cell else ''}: A with one change at a time"]
        why = _why(data["why"])
        lines += _part(why, "", {name: name for name in why[0]})[1:]
    return "\n".join(lines)


def _part(rows: list[dict[str, Any]], nothing: str, columns: dict[str, str]) -> list[str]:
    if not rows:
        return ["", nothing] if nothing else []
    kept = {name: head for name, head in columns.items() if any(row[name] not in (None, "") for row in rows)}
    more = [f"... {len(rows) - SHOWN_ROWS:,} more rows: all are in --json"] if len(rows) > SHOWN_ROWS else []
    return ["", *text_table(rows[:SHOWN_ROWS], kept), *more]


def _few(rows: Sequence[dict[str, Any]], lines: list[str]) -> Sequence[dict[str, Any]]:
    if len(rows) > SHOWN_ROWS:
        lines.append(f"{len(rows):,} labels are on one side only, and not compared; the first {SHOWN_ROWS}:")
    return rows[:SHOWN_ROWS]


def _inputs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **row,
            "count": f"{row['changed']:,} of {row['cells']:,}",
            "a": format_quantity(row["a"], row["unit"]),
            "b": format_quantity(row["b"], row["unit"]),
            "a_source": _first_source(row["a_source"]),
            "b_source": _first_source(row["b_source"]),
        }
        for row in rows
    ]


def _first_source(text: str) -> str:
    """Of several sources the first one; all are in --json."""
    first, more, _ = text.partition("; ")
    return f"{first}; ..." if more else first


def _measures(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    shown = []
    for row in rows:
        unit, moved = row["unit"], bool(row["change"])
        nulls = [
            f"{row[name]:,} {said}" for name, said in (("became_null", "lost"), ("became_number", "new")) if row[name]
        ]
        shown.append(
            {
                "measure": row["measure"],
                "count": f"{row['changed']:,} of {row['cells']:,}",
                "change": _signed(row["change"], unit) if moved else "0" if row["change"] == 0 else None,
                "of": f"{format_quantity(row['change_a'], unit)} -> {format_quantity(row['change_b'], unit)}"
                if moved
                else "",
                "change_at": row["change_at"] if moved else "",
                "pct": f"{row['change_pct']:+.1f}%" if row["change_pct"] else "",
                "change_pct_at": row["change_pct_at"] if row["change_pct"] else "",
                "nulls": ", ".join(nulls),
            }
        )
    return shown


def _signed(value: float, unit: str) -> str:
    text = format_quantity(abs(value), unit)
    return f"-{text}" if value < 0 else f"+{text}"


def _why(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per input, one column per measure with its effect."""
    found: dict[str, dict[str, Any]] = {}
    names = list(dict.fromkeys(row["measure"] for row in rows))
    for row in rows:
        line = found.setdefault(row["input"], {"input": row["input"], **dict.fromkeys(names), "note": ""})
        effect = row["effect"]
        line[row["measure"]] = (
            None
            if effect is None
            else "0"
            if effect == 0
            else f"{effect:+,.4g}"
            if abs(effect) < 1e4
            else f"{effect:+,.0f}"
        )
        line["note"] = row["note"] or line["note"]
    return list(found.values())
