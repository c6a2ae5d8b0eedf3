"""What a study found, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity

__all__ = ["finding_of", "flip_text"]

_ENDS = ("low", "base", "high")


def finding_of(rows: Sequence[Mapping[str, Any]], measure: str) -> str:
    """The input that moves the measure most, by how much, and what flips; `rows` are sorted.

    Where nothing moves it, the next measure that something moves is told too.
    """
    own = [row for row in rows if row["measure"] == measure]
    top = own[0]
    unit = dictionary()[measure].unit
    ends = f"from {_input(top, 'low')} to {_input(top, 'high')}"
    if all(math.isnan(row["base"]) for row in own):
        said = f"{measure} has no value in this cell: {top['why_base']}"
    elif math.isnan(top["swing"]):
        lost = " and ".join(
            f"at {_input(top, end)} ({top[f'why_{end}']})" for end in ("low", "base", "high") if top[f"why_{end}"]
        )
        said = f"{top['input']} matters most: {measure} has no value {lost}"
    elif top["swing"] == 0:
        said = f"none of these inputs moves {measure}, which stays {format_quantity(top['base'], unit)}"
        moving = max(own, key=lambda row: 0.0 if math.isnan(row["swing_unrounded"]) else row["swing_unrounded"])
        if moving["swing_unrounded"] > 0:
            said += f"; before rounding up {moving['input']} moves it most, by {moving['swing_unrounded']:.4g}"
        wide = [row for row in rows if row["swing"] > 0]
        if wide:
            named = wide[0]["measure"]
            most = max((row for row in wide if row["measure"] == named), key=lambda row: row["swing"])
            figures = ", ".join(format_quantity(most[end], most["measure_unit"]) for end in _ENDS)
            swing = format_quantity(most["swing"], most["measure_unit"])
            said += f"; {most['input']} moves {named} most, by {swing} ({figures})"
    else:
        figures = ", ".join(format_quantity(top[end], unit) for end in _ENDS)
        said = f"{top['input']} {ends} moves {measure} most, by {format_quantity(top['swing'], unit)} ({figures}"
        said += f"; {top['swing_unrounded']:.4g} before rounding up)" if not math.isnan(top["swing_unrounded"]) else ")"
    flipped = [f"{row['input']} {flip_text(row)}" for row in own if row["flips"]]
    return f"{said}; " + ("what limits the plan flips: " + "; ".join(flipped) if flipped else "no limit flips") + "."


def flip_text(row: Mapping[str, Any]) -> str:
    """What binds, or why there is no plan, at the base and at the ends where that differs."""
    words = {end: row[f"binds_{end}"] or row[f"why_{end}"] or "no plan" for end in ("base", "low", "high")}
    parts = [f"{words[end]} at {_input(row, end)}" for end in ("low", "high") if words[end] != words["base"]]
    return f"{words['base']} -> {', '.join(parts)}" if parts else ""


def _input(row: Mapping[str, Any], end: str) -> str:
    return format_quantity(row[f"input_{end}"], row["unit"])
