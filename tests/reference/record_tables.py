"""The tables of an HTML record, read back: what the page shows, and the unrounded numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Shown", "ShownTable", "tables_of"]


@dataclass
class Shown:
    """One cell: its text and the number of its `data-value`, if it has one."""

    text: str = ""
    value: float | None = None


@dataclass
class ShownTable:
    """One table under its caption: heads, and rows of cells."""

    caption: str = ""
    heads: list[str] = field(default_factory=list)
    rows: list[list[Shown]] = field(default_factory=list)

    def row(self, name: str) -> list[Shown]:
        """The row whose first cell begins with a text."""
        return next(row for row in self.rows if row[0].text.startswith(name))

    def value(self, name: str, head: str = "value") -> float | None:
        """The number in a column of a row."""
        return self.row(name)[self.heads.index(head)].value


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[ShownTable] = []
        self._into: str | None = None
        self._in_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stated = dict(attrs)
        if tag == "table":
            self.tables.append(ShownTable())
        elif tag == "caption":
            self._into = "caption"
        elif tag == "thead":
            self._in_head = True
        elif tag == "tr" and self.tables and not self._in_head:
            self.tables[-1].rows.append([])
        elif tag in ("th", "td") and self.tables:
            if self._in_head:
                self.tables[-1].heads.append("")
                self._into = "head"
            else:
                value = stated.get("data-value")
                self.tables[-1].rows[-1].append(Shown(value=None if value is None else float(value)))
                self._into = "cell"

    def handle_endtag(self, tag: str) -> None:
        if tag == "thead":
            self._in_head = False
        if tag in ("caption", "th", "td"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into == "caption":
            self.tables[-1].caption += data
        elif self._into == "head":
            self.tables[-1].heads[-1] += data
        elif self._into == "cell":
            self.tables[-1].rows[-1][-1].text += data


def tables_of(page: str) -> dict[str, ShownTable]:
    """The tables of a page that have a caption, by it."""
    reader = _Reader()
    reader.feed(page)
    return {table.caption: table for table in reader.tables if table.caption}
