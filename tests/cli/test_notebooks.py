"""Notebooks of the documentation show what they show when they are run again, cell by cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from notebook_runs import FOLDER, METADATA, NOTEBOOKS, executed, stored
from picture_words import said_by

LARGEST = 300_000
"""Bytes of a notebook (policy)."""

EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def shown(output: Any) -> dict[str, Any]:
    """What an output says: texts and HTML as they are, of a picture what it says."""
    if output.output_type == "stream":
        return {output.name: output.text}
    assert output.output_type in ("execute_result", "display_data"), output
    return {kind: said_by(data) if kind == "image/svg+xml" else data for kind, data in output.data.items()}


def code_of(book: Any) -> list[Any]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


@pytest.mark.slow
@EACH
def test_a_notebook_run_again_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    before, again = stored(path), executed(path, tmp_path)
    for old, new in zip(code_of(before), code_of(again), strict=True):
        assert list(map(shown, new.outputs)) == list(map(shown, old.outputs)), old.source
        assert new.execution_count == old.execution_count
    left = {place.name for place in (tmp_path / "docs" / "notebooks").iterdir()}
    assert left == {"out"}, "files are written to one folder, which is ignored"


def test_there_are_two_and_the_page_names_them() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in NOTEBOOKS} == {"contract-to-decision.ipynb", "sweep-to-plan.ipynb"}
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


@EACH
def test_every_cell_was_run_once_and_in_order(path: Path) -> None:
    book = stored(path)
    cells = code_of(book)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert cell.outputs, cell.source
        assert all(output.get("name") != "stderr" for output in cell.outputs), cell.source
    assert book.metadata == METADATA


@EACH
def test_a_notebook_is_small_and_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) <= LARGEST
    assert not re.search(r"/(?:home|root|tmp|usr|Users)/|[A-Z]:\\\\|0x[0-9a-f]{6}|data:image", text)


@EACH
def test_figures_of_the_prose_are_figures_of_a_cell(path: Path) -> None:
    """Of three digits or more; smaller ones are counted by hand."""
    book = stored(path)
    said = " ".join(str(shown(output)) for cell in code_of(book) for output in cell.outputs)
    known = {number.replace(",", "").rstrip("0").rstrip(".") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", said)}
    for cell in (cell for cell in book.cells if cell.cell_type == "markdown"):
        for number in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", cell.source):
            plain = number.replace(",", "").strip(".")
            if len(plain.replace(".", "")) >= 3:
                assert plain.rstrip("0").rstrip(".") in known, (number, cell.source)


@EACH
def test_links_of_the_prose_lead_somewhere(path: Path) -> None:
    for cell in stored(path).cells:
        for target in re.findall(r"\]\(([^)#]+)\)", cell.source if cell.cell_type == "markdown" else ""):
            assert (FOLDER / target).exists(), target
