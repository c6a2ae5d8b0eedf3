"""What a spreadsheet would do with a text or a table: run it as a formula, or cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMULA_SIGNS", "ROWS", "harmless", "harmless_texts", "rows_warning"]

FORMULA_SIGNS = (*"=+-@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")
"""Signs that a cell of a CSV file may not begin with; the last four are the first ones in full width (fact: OWASP, CSV
Injection)."""

ROWS = 1_048_576
"""Rows of a worksheet, the header among them (fact: Microsoft, Excel specifications and limits)."""


def harmless(text: str) -> str:
    """A text that no spreadsheet runs: what begins like a formula gets an apostrophe in front.

    >>> harmless("=cmd()"), harmless("\\uff1d1")[0], harmless("h100-sxm")
    ("'=cmd()", "'", 'h100-sxm')
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def harmless_texts(table: pa.Table) -> tuple[pa.Table, int]:
    """The table with an apostrophe before each text that a spreadsheet would run, and how many texts these are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changed = 0
    for place, field in enumerate(table.schema):
        if field.type != pa.string():
            continue
        column = table.column(place)
        formulas = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), value_set=pa.array(FORMULA_SIGNS))
        count = pc.sum(formulas).as_py() or 0
        if count:
            quoted = pc.binary_join_element_wise("'", column, "")
            table = table.set_column(place, field, pc.if_else(formulas, quoted, column))
            changed += count
    return table, changed


def rows_warning(rows: int) -> str | None:
    """A sentence when a spreadsheet would cut a table of `rows` rows and a header, else None.

    >>> rows_warning(1_048_575) is None, rows_warning(2_000_000)
    (True, '2,000,000 rows: a spreadsheet shows the first 1,048,575 and cuts the rest; slice the cube or use SQL or BI')
    """
    shown = ROWS - 1
    if rows <= shown:
        return None
    return f"{rows:,} rows: a spreadsheet shows the first {shown:,} and cuts the rest; slice the cube or use SQL or BI"
