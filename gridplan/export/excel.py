"""An Excel workbook written row by row: a summary, the data dictionary, the winners, the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from gridplan.errors import MissingExtraError, StoreError
from gridplan.spreadsheet import FORMULA_SIGNS, ROWS

__all__ = ["CREATED", "LONGEST_TEXT", "MOST_COLUMNS", "Sheet", "needs_excel", "write_workbook"]

LONGEST_TEXT = 32_767
"""Characters that a cell holds, in UTF-16 (fact: Microsoft, Excel specifications and limits)."""

MOST_COLUMNS = 16_384
"""Columns of a worksheet (fact: the same)."""

CREATED = datetime(1980, 1, 1)
"""When every workbook says that it was made, as its parts do (policy): same rows, same bytes."""

_WIDEST = 60
"""Most characters that a column is made wide for (policy)."""


@dataclass(frozen=True)
class Sheet:
    """A worksheet: a head, then rows as they come."""

    name: str
    schema: pa.Schema
    tables: Iterable[pa.Table]
    labels: int = 0
    """Columns that stay in sight."""

    def width(self, place: int) -> int:
        """Characters that a column is made wide for: its head, and its texts where the rows are at hand."""
        name, texts = self.schema.names[place], list[str]()
        if isinstance(self.tables, list) and self.schema.types[place] == pa.string():
            texts = [text for table in self.tables for text in table.column(place).to_pylist() if text]
        return min(_WIDEST, max(10, len(name) + 4, *map(len, texts)))


def needs_excel() -> None:
    """Refuse where the library is not installed. Raises MissingExtraError."""
    if find_spec("xlsxwriter") is None:
        raise MissingExtraError("workbooks are written by xlsxwriter", "excel")


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> dict[str, int]:
    """Write the sheets in order; count the rows of each.

    Text is always text: nothing becomes a formula, a link or a number, and what begins like a formula is marked as text
    for the day when somebody edits the cell. Null is an empty cell. Rows go to disk as they come.

    Raises StoreError for a sheet of more rows or columns than Excel has; it or OSError for a disk that refuses.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxFileError

    from gridplan.export.worksheet import ExactWorksheet

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with TemporaryDirectory(prefix="gridplan-") as temporary:  # xlsxwriter leaves its own there where it fails
        book = xlsxwriter.Workbook(str(path), {**options, "tmpdir": temporary})
        book.set_properties({"created": CREATED})
        try:
            styles = {"head": {"bold": True}, "marked": {"quote_prefix": True}, "whole": {"num_format": "#,##0"}}
            formats = _Formats(**{name: book.add_format(style) for name, style in styles.items()})
            written = {
                sheet.name: _write_sheet(book.add_worksheet(sheet.name, ExactWorksheet), sheet, formats)
                for sheet in sheets
            }
            book.close()
        except XlsxFileError as error:
            raise StoreError(f"{path} cannot be written: {error}") from error
        finally:
            for worksheet in book.worksheets():
                worksheet.release()
    return written


@dataclass(frozen=True)
class _Formats:
    """Formats of a workbook: of heads, of texts that begin like a formula, of whole numbers."""

    head: Any
    marked: Any
    whole: Any


def _write_sheet(worksheet: Any, sheet: Sheet, formats: _Formats) -> int:
    if len(sheet.schema) > MOST_COLUMNS:
        raise StoreError(f"sheet {sheet.name} would have {len(sheet.schema):,} columns, Excel has {MOST_COLUMNS:,}")
    for place, field in enumerate(sheet.schema):
        worksheet.set_column(place, place, sheet.width(place), formats.whole if field.type == pa.int64() else None)
    worksheet.freeze_panes(1, sheet.labels)
    worksheet.set_landscape()
    worksheet.fit_to_pages(1, 0)
    worksheet.repeat_rows(0)
    for place, name in enumerate(sheet.schema.names):
        worksheet.write_string(0, place, name, formats.head)
    writers = [_writer(worksheet, field.type, place, formats.marked) for place, field in enumerate(sheet.schema)]
    row = 0
    for table in sheet.tables:
        if row + table.num_rows >= ROWS:
            raise StoreError(f"sheet {sheet.name} would have more than the {ROWS - 1:,} rows that Excel has")
        for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
            row += 1
            for write, value in zip(writers, values, strict=True):
                if value is not None:
                    write(row, value)
    worksheet.autofilter(0, 0, max(row, 1), len(sheet.schema) - 1)
    return row


def _writer(worksheet: Any, kind: pa.DataType, place: int, marked: Any) -> Callable[[int, Any], None]:
    """What writes a value of a column to a row; the type of the column decides, never the look of a text."""

    def text(row: int, value: str) -> None:
        if len(value) > LONGEST_TEXT // 2 and (length := len(value.encode("utf-16-le")) // 2) > LONGEST_TEXT:
            raise StoreError(f"{value[:60]}... has {length:,} characters, a cell of Excel holds {LONGEST_TEXT:,}")
        worksheet.write_string(row, place, value, marked if value.startswith(FORMULA_SIGNS) else None)

    if kind == pa.string():
        return text
    if kind == pa.bool_():
        return lambda row, value: worksheet.write_boolean(row, place, value)
    if kind == pa.date32():
        return lambda row, value: text(row, value.isoformat())
    return lambda row, value: worksheet.write_number(row, place, value)
