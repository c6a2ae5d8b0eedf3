"""A slice as people and programs read it: an aligned table, a Markdown table, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gridplan.quantities import format_label
from gridplan.query.answer import AnswerColumn
from gridplan.report.aligned import aligned
from gridplan.report.frames import number_text
from gridplan.report.plain_text import escaped

__all__ = ["markdown_table", "rows_as_dicts", "slice_table"]

Rows = Sequence[Sequence[Any]]


def slice_table(columns: Sequence[AnswerColumn], rows: Rows) -> str:
    """The rows as aligned text: labels to the left, numbers to the right, a dash for null."""
    cells = [[column.name, *(_shown(column, row[place]) for row in rows)] for place, column in enumerate(columns)]
    return "\n".join(aligned(cells, [column.dtype in ("int64", "float64") for column in columns]))


def markdown_table(columns: Sequence[AnswerColumn], rows: Iterable[Sequence[Any]]) -> Iterable[str]:
    """The lines of a Markdown table; no label is markup."""
    yield "| " + " | ".join(escaped(column.name) for column in columns) + " |"
    yield "|" + "|".join("---:" if column.dtype in ("int64", "float64") else "---" for column in columns) + "|"
    for row in rows:
        shown = (_shown(column, value) for column, value in zip(columns, row, strict=True))
        yield "| " + " | ".join(map(escaped, shown)) + " |"


def _shown(column: AnswerColumn, value: Any) -> str:
    """A value for people; a label with all its digits, since it may be pasted into the next question."""
    return format_label(value) if column.is_axis and value is not None else number_text(value)


def rows_as_dicts(columns: Sequence[AnswerColumn], rows: Rows) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    names = [column.name for column in columns]
    return [dict(zip(names, row, strict=True)) for row in rows]
