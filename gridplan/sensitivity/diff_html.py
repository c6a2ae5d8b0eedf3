"""The difference of two plans as notebooks show it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gridplan.dictionary import dictionary
from gridplan.markup import columns, element, number, page, section, table
from gridplan.quantities import format_label, format_labels, format_quantity

if TYPE_CHECKING:
    import pandas as pd

    from gridplan.sensitivity.diff import Difference

__all__ = ["diff_html"]

SHOWN_ROWS = 40
"""Rows of a table that are shown (policy); the others are counted, and in the frames."""

Row = Mapping[Hashable, Any]
Cells = Callable[[Row], tuple[object, ...]]
Heads = Mapping[str, bool]
"""Heads of a table, and which of its columns hold numbers."""

_MEASURES = {"measure": False, "cells changed": True, "largest change": True, "A": True, "B": True, "at": False}
_MEASURES |= {"values lost": True, "values new": True}
_INPUTS = {"input": False, "cells changed": True, "A": True, "B": True, "source of A": False, "source of B": False}
_FLIPS = {"measure": False, "A": False, "B": False, "cells": True, "first at": False}
_WHY = {"input": False, "measure": False, "A": True, "A with that input of B": True, "effect": True, "note": False}
_LABELS = {"axis": False, "only in": False, "label": False}


def diff_html(found: Difference) -> str:
    """The page: what was compared, measures, inputs, labels that changed, and which input did it."""
    cause = f"Which input did it{f', at {found.cell}' if found.cell else ''}"
    parts = (
        _rows("Measures", found.measures, _MEASURES, _measure),
        _rows("Inputs", found.inputs, _INPUTS, _input),
        _rows("Labels that changed", found.flips, _FLIPS, _flip),
        _rows(cause, found.why, _WHY, _why, unfolded=False),
        _rows("Not compared: on one side only", found.labels, _LABELS, _label),
    )
    return page("What changed from A to B", columns(_about(found)), *parts)


def _about(found: Difference) -> Iterator[tuple[str, object]]:
    yield "cells on both sides", number(f"{found.cells:,}", found.cells)
    for which, fixed in zip("AB", found.fixed, strict=True):
        if fixed:
            yield f"{which} at", format_labels(fixed.items())
    if found.left_out:
        yield "not held by a cube, so not compared", ", ".join(found.left_out)
    if not found.of_contracts:
        yield "inputs", "a cube holds few: others may differ, and which one did it is not known; compare contracts"


def _rows(title: str, frame: pd.DataFrame, heads: Heads, cells: Cells, unfolded: bool = True) -> Markup:
    """A section with the rows of a frame; nothing where it has none."""
    if not len(frame):
        return Markup("")
    shown = map(cells, frame.head(SHOWN_ROWS).to_dict("records"))
    left = len(frame) - SHOWN_ROWS
    more = element("p", f"{left:,} more rows are not shown", cls="gp-small") if left > 0 else ""
    return section(
        f"{title} ({len(frame):,})",
        table(tuple(heads), shown, [head for head in heads if heads[head]]),
        more,
        unfolded=unfolded,
    )


def _measure(row: Row) -> tuple[object, ...]:
    unit = row["unit"]
    values = [_number(row[name], unit) for name in ("change", "change_a", "change_b")]
    return (
        *_changed("measure", row),
        *values,
        _text(row["change_at"]),
        _count(row["became_null"]),
        _count(row["became_number"]),
    )


def _input(row: Row) -> tuple[object, ...]:
    values = (_number(row[name], row["unit"]) for name in ("a", "b"))
    return (*_changed("input", row), *values, _text(row["a_source"]), _text(row["b_source"]))


def _changed(name: str, row: Row) -> tuple[Markup, Markup]:
    return element("code", row[name]), number(f"{row['changed']:,} of {row['cells']:,}", row["changed"])


def _flip(row: Row) -> tuple[object, ...]:
    labels = (_text(row[name]) or "-" for name in ("a", "b"))
    return element("code", row["measure"]), *labels, _count(row["cells"]), row["first_at"]


def _why(row: Row) -> tuple[object, ...]:
    unit = dictionary()[row["measure"]].unit
    values = (_number(row[name], unit) for name in ("a", "alone", "effect"))
    return element("code", row["input"]), element("code", row["measure"]), *values, _text(row["note"])


def _label(row: Row) -> tuple[object, ...]:
    return element("code", row["axis"]), row["only_in"], format_label(row["label"])


def _count(count: int) -> Markup:
    return number(f"{count:,}", count)


def _text(value: Any) -> str:
    """A text of a frame; pandas has NaN or None where there is none."""
    return value if isinstance(value, str) else ""


def _number(value: Any, unit: str) -> Markup | str:
    """A value of an input or a measure; labels of inputs are texts."""
    if value is None or isinstance(value, str):
        return value or "-"
    return number(format_quantity(value, unit), float(value))
