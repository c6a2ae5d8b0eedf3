"""The workbook, cell by cell: types, whole numbers, all digits, and nothing that is a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pandas as pd
import pytest
from awkward_cube import GPUS
from openpyxl.utils.escape import unescape
from table_view import View, assert_same, pandas_view

DATA_TYPES = {"text": "s", "float": "n", "int": "n", "bool": "b"}

NULLABLE = {"text": "string", "float": "Float64", "int": "Int64", "bool": "boolean"}


@pytest.fixture(scope="module")
def path(export: Callable[..., Any]) -> Path:
    """The file."""
    found: Path = export("excel", "cube.xlsx", best="gpu").output
    return found


@pytest.fixture(scope="module")
def book(path: Path) -> Iterator[Any]:
    """The workbook as openpyxl opens it, styles of cells and all."""
    found = openpyxl.load_workbook(path, read_only=True)
    yield found
    found.close()


def typed(kind: str, value: Any) -> Any:
    """A value as the column has it: a workbook knows one kind of number, and escapes signs that XML does not hold."""
    if value is None:
        return None
    if kind == "text":
        return unescape(value)
    return float(value) if kind == "float" else value


def view_of_rows(rows: list[tuple[Any, ...]], kinds: dict[str, str]) -> View:
    """A head and rows as a table."""
    assert list(rows[0]) == list(kinds)
    values = {name: [typed(kind, row[at]) for row in rows[1:]] for at, (name, kind) in enumerate(kinds.items())}
    return View(kinds, values)


def test_openpyxl_sees_the_cube(book: Any, truth: View) -> None:
    assert_same(view_of_rows(list(book["cells"].iter_rows(values_only=True)), truth.kinds), truth)


def test_cells_have_the_type_of_their_column_and_none_is_a_formula(book: Any, truth: View) -> None:
    wanted = [DATA_TYPES[kind] for kind in truth.kinds.values()]
    for row in book["cells"].iter_rows(min_row=2):
        found = [cell.data_type for cell in row]
        assert found == [kind if cell.value is not None else "n" for kind, cell in zip(wanted, row, strict=True)]


def test_what_begins_like_a_formula_is_marked_as_text_and_nothing_else_is(book: Any) -> None:
    marked = 0
    for sheet in book:
        for cell in (cell for row in sheet.iter_rows(min_row=2) for cell in row if cell.value is not None):
            assert cell.data_type in ("s", "n", "b")
            formula = cell.data_type == "s" and unescape(cell.value).startswith(tuple("=+-@\t\r\n"))
            assert bool(cell.style_array.quotePrefix) == formula, cell.value
            marked += formula
    assert marked > 5_000


def test_pandas_sees_the_cube(path: Path, truth: View) -> None:
    kinds: Any = {name: NULLABLE[kind] for name, kind in truth.kinds.items()}
    texts = {name: kind for name, kind in kinds.items() if kind == "string"}
    frame = pd.read_excel(path, sheet_name="cells", dtype=texts, keep_default_na=False, na_values=[""])
    # Whole numbers and flags with a null among them come as floats.
    assert_same(pandas_view(frame.astype(kinds)).mapped(unescape), truth)


def test_all_sheets_are_there(book: Any, truth: View) -> None:
    assert book.sheetnames == ["summary", "dictionary", "best", "cells"]
    summary = {row[:2]: row[2:] for row in book["summary"].iter_rows(values_only=True)}
    assert summary["rows", "rows"] == (None, 3600)
    assert summary["cube", "description"] == ("=cmd() of <all>", None)
    names = [row[0] for row in book["dictionary"].iter_rows(min_row=2, values_only=True)]
    assert names == list(truth.kinds)
    assert [unescape(row[0]) for row in book["best"].iter_rows(min_row=2, values_only=True)] == list(GPUS)


def test_all_17_digits_are_written(path: Path) -> None:
    with ZipFile(path) as files:
        cells = files.read("xl/worksheets/sheet4.xml").decode("utf-8")
    for digits in ("0.30000000000000004", "1.7976931348623157e+308", "5e-324", str(2**53), "10", "0.1", "1000000"):
        assert f"<v>{digits}</v>" in cells
    assert "<f>" not in cells
    assert "hyperlink" not in cells


def test_the_workbook_says_of_no_run_when_it_was(path: Path) -> None:
    with ZipFile(path) as files:
        assert b">1980-01-01T00:00:00Z</dcterms:created>" in files.read("docProps/core.xml")
        assert {entry.date_time[0] for entry in files.infolist()} == {1980}


def test_without_cells_it_is_the_small_sheets(export: Callable[..., Any]) -> None:
    found = export("excel", "small.xlsx", best="gpu", cells=False)
    with pd.ExcelFile(found.output) as book:
        assert book.sheet_names == ["summary", "dictionary", "best"]
    assert found.rows["best"] == len(GPUS)
