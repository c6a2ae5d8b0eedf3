"""What LibreOffice makes of the workbook and of the CSV file: the same cells, and no formula that anybody wrote."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from awkward_cube import GPUS
from flat_sheets import Cell, sheets_of
from system_office import CSV, converted, require_office
from table_view import View

Sheet = Sequence[Sequence[Cell]]
HALF = "context = '16k'"
"""The cells that are opened: LibreOffice is slow, and the labels are all there."""


@pytest.fixture(scope="module")
def half(truth: View) -> View:
    """These cells."""
    return truth.taken([place for place, context in enumerate(truth.values["context"]) if context == "16k"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where files are converted, with one profile: LibreOffice takes its time to make one."""
    return tmp_path_factory.mktemp("office")


@pytest.fixture(scope="module")
def book(export: Callable[..., Any], folder: Path) -> Mapping[str, Sheet]:
    """The sheets of the workbook."""
    office = require_office()
    path = export("excel", "book.xlsx", best="gpu", where=HALF).output
    (made,) = converted(office, [path], folder)
    return sheets_of(made)


@pytest.fixture(scope="module")
def csv(export: Callable[..., Any], folder: Path) -> Mapping[str, Sheet]:
    """The sheets of the CSV file, and of one by somebody who thought of no formula."""
    office = require_office()
    path = export("csv", "cells.csv", where=HALF).output
    control = path.with_name("control.csv")
    control.write_text('"a"\n"=1+1"\n"+1+2"\n', encoding="utf-8")
    made = converted(office, [path, control], folder, CSV)
    return {name: rows for file in made for name, rows in sheets_of(file).items()}


def column(sheet: Sheet, name: str) -> list[Cell]:
    """A column by its head; a row ends with its last value."""
    place = [cell.value for cell in sheet[0]].index(name)
    return [row[place] if place < len(row) else Cell(None, None) for row in sheet[1:]]


def read(text: str) -> str:
    """A text with lines that end as LibreOffice may end them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def same(found: Any, wanted: Any) -> bool:
    """Numbers have 15 digits, and truth is 1."""
    if wanted is None:
        return found is None
    if isinstance(wanted, str):
        return isinstance(found, str) and read(found) == read(wanted)
    return isinstance(found, float | bool) and math.isclose(found, wanted, rel_tol=1e-14)


def test_the_workbook_holds_the_cube(book: Mapping[str, Sheet], half: View) -> None:
    assert list(book) == ["summary", "dictionary", "best", "cells"]
    assert [cell.value for cell in book["cells"][0]] == list(half.kinds)
    for name, wanted in half.values.items():
        found = [cell.value for cell in column(book["cells"], name)]
        assert len(found) == half.rows
        wrong = [pair for pair in zip(found, wanted, strict=True) if not same(*pair)]
        assert not wrong, (name, wrong[:3])
    assert [read(cell.value) for cell in column(book["best"], "gpu")] == [read(gpu) for gpu in GPUS]


def test_no_text_of_the_workbook_became_a_formula(book: Mapping[str, Sheet], half: View) -> None:
    formulas = {cell.formula for rows in book.values() for row in rows for cell in row}
    # That is how it keeps a flag: a number which shows as one.
    assert formulas == {None, "of:=TRUE()", "of:=FALSE()"}
    for name, kind in half.kinds.items():
        if kind != "bool":
            assert {cell.formula for cell in column(book["cells"], name)} == {None}


def test_no_text_of_the_csv_file_became_a_formula(csv: Mapping[str, Sheet], half: View) -> None:
    assert [cell.formula for row in csv["control"] for cell in row] == [None, "of:=1+1", None]
    sheet = csv["cells"]
    assert len(sheet) == half.rows + 1
    assert {cell.formula for row in sheet for cell in row} == {None}
    found = {cell.value for cell in column(sheet, "gpu")}
    assert {"'=cmd()", "'=1+1", "'+1+2", "'-1+1", "'@x", "'\t=1+1", "h100", "H100", "two\nlines"} <= found


def test_numbers_of_the_csv_file_are_numbers(csv: Mapping[str, Sheet], half: View) -> None:
    for name in ("usd_per_month", "replicas", "gpu_memory_bytes", "slo_held", "none_int"):
        found = [cell.value for cell in column(csv["cells"], name)]
        wrong = [pair for pair in zip(found, half.values[name], strict=True) if not same(*pair)]
        assert not wrong, (name, wrong[:3])
