"""CSV as rows of cells with their line numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from gridplan.errors import ContractError, Problem

__all__ = ["Row", "cell", "header_of", "record", "table"]

Row = tuple[int, list[str]]
"""The line that a row ends on, and its cells."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")


def table(text: str, file: str) -> list[Row]:
    """Rows of a CSV text, empty ones included; the delimiter is a comma, or a semicolon or a tab where the first line
    has no comma.

    >>> table("a;b\\n1;2\\n", "f")
    [(1, ['a', 'b']), (2, ['1', '2'])]
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in (",", ";", "\t") if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, [item.strip() for item in row]) for row in reader]
    except csv.Error as error:
        raise ContractError([Problem(f"is not CSV: {error}", file, reader.line_num or 1)]) from None


def header_of(rows: Sequence[Row]) -> tuple[int, list[str]]:
    """The first row that is not empty, and its index."""
    for index, (_, cells) in enumerate(rows):
        if any(cells):
            return index, cells
    return 0, []


def record(header: Sequence[str], row: Row, file: str) -> dict[str, Any]:
    """A row by the names of the header, its cells as numbers where they are; empty ones are None."""
    line, cells = row
    if len(cells) != len(header):
        shown = f"the row has {len(cells)} cells, the header {len(header)}"
        raise ContractError([Problem(shown, file, line)])
    return {name: cell(text) for name, text in zip(header, cells, strict=True)}


def cell(text: str) -> str | int | float | None:
    """A cell as a number where it is one; None where it is empty.

    >>> cell("480"), cell("7.8176"), cell("inf"), cell("")
    (480, 7.8176, 'inf', None)
    """
    if not text:
        return None
    if len(text) > 40 or _NUMBER.fullmatch(text) is None:
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)
