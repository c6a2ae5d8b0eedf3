"""Entries of the catalog as text: cells, and a table that is never cut."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from gridplan.report.aligned import aligned

__all__ = ["Cells", "cell_text", "print_table"]

Cells = Sequence[object]


def cell_text(value: object, digits: int = 6) -> str:
    """A cell: a number to `digits` significant digits (counts in full), `-` for what is not known."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e16 else f"{value:.{digits}g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {cell_text(item, digits)}" for key, item in value.items()) or "-"
    return str(value)


def _is_number(column: Sequence[object]) -> bool:
    known = [value for value in column if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def _plain_table(head: Sequence[str], rows: Sequence[Cells]) -> str:
    """Aligned columns, numbers to the right."""
    columns = list(zip(*rows, strict=True))
    cells = [[title, *map(cell_text, column)] for title, column in zip(head, columns, strict=True)]
    return "\n".join(aligned(cells, [_is_number(column) for column in columns]))


def print_table(head: Sequence[str], rows: Sequence[Cells]) -> None:
    """The table with a bold heading on a terminal that is wide enough; elsewhere plain lines, which are never cut."""
    plain = _plain_table(head, rows)
    if not sys.stdout.isatty():
        click.echo(plain)
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    if console.width < max(map(len, plain.splitlines())):
        click.echo(plain)
        return
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title, column in zip(head, zip(*rows, strict=True), strict=True):
        table.add_column(title, justify="right" if _is_number(column) else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(cell_text, row))
    console.print(table)
