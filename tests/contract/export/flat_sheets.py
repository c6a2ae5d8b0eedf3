"""Flat OpenDocument sheets, as LibreOffice writes them: the cells of every sheet with type, value and formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

__all__ = ["Cell", "sheets_of"]

SPACE = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
OFFICE, TABLE, TEXT = (SPACE % name for name in ("office", "table", "text"))
MOST = 1_000
"""Repeated cells and rows beyond which they are the empty rest of a sheet."""


@dataclass(frozen=True)
class Cell:
    """A cell: text, bool or float, None where it is empty; and the formula that it is computed by."""

    value: Any
    formula: str | None


def sheets_of(path: Path) -> dict[str, list[list[Cell]]]:
    """The rows of each sheet, up to their last value, without those that have none."""
    found: dict[str, list[list[Cell]]] = {}
    for _, element in ElementTree.iterparse(path):
        if element.tag == f"{TABLE}table":
            rows = [row for child in element.iter(f"{TABLE}table-row") for row in _rows(child)]
            found[element.attrib[f"{TABLE}name"]] = [row for row in rows if row]
            element.clear()
    return found


def _rows(element: ElementTree.Element) -> Iterator[list[Cell]]:
    row = [cell for child in element for cell in _cells(child)]
    while row and row[-1].value is None:
        row.pop()
    times = int(element.get(f"{TABLE}number-rows-repeated", 1))
    yield from [row] * (times if times < MOST else 1)


def _cells(element: ElementTree.Element) -> list[Cell]:
    times = int(element.get(f"{TABLE}number-columns-repeated", 1))
    return [Cell(_value(element), element.get(f"{TABLE}formula"))] * (times if times < MOST else 1)


def _value(element: ElementTree.Element) -> Any:
    kind = element.get(f"{OFFICE}value-type")
    if kind is None:
        return None
    if kind == "string":
        return "\n".join(_text(line) for line in element.findall(f"{TEXT}p"))
    if kind == "boolean":
        return element.get(f"{OFFICE}boolean-value") == "true"
    # Currencies, dates and times are numbers that somebody took for more.
    return float(element.get(f"{OFFICE}value", "nan")) if kind == "float" else kind


def _text(element: ElementTree.Element) -> str:
    """The text of a line: runs of blanks, tabs and breaks are elements."""
    signs = {f"{TEXT}s": " " * int(element.get(f"{TEXT}c", 1)), f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n"}
    own = signs.get(element.tag, element.text or "")
    return own + "".join(_text(child) + (child.tail or "") for child in element)
