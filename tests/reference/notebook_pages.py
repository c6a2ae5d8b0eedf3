"""What notebooks show, read back: elements that close in order, the text, and tables with the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Cell", "Page", "read_page"]

ELEMENTS = frozenset(
    (
        *("div", "style", "p", "b", "ul", "li", "code", "details", "summary", "br"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "data"),
    )
)
"""What a page may consist of."""

ATTRIBUTES = frozenset(("class", "scope", "value", "open"))
"""Neither ids, which would meet those of another output, nor styles, handlers and addresses."""


@dataclass
class Cell:
    """One cell: its text and the number behind it, if it has one."""

    text: str = ""
    value: float | None = None


@dataclass
class Page(HTMLParser):
    """`skeleton` has every element with the names of its attributes; `tables` their rows, heads included."""

    skeleton: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    tables: list[list[list[Cell]]] = field(default_factory=list)
    text: str = ""
    style: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert tag in ELEMENTS, tag
        assert ATTRIBUTES.issuperset(names), names
        assert len(set(names)) == len(names), names
        self.skeleton.append(" ".join([tag, *names]))
        if tag == "br":
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append(Cell())
        elif tag == "data" and {"th", "td"}.intersection(self.open):
            self.tables[-1][-1][-1].value = float(str(dict(attrs)["value"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
            return
        self.text += data
        if {"th", "td"}.intersection(self.open):
            self.tables[-1][-1][-1].text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    handle_decl = unknown_decl = handle_pi = handle_comment

    def values(self, head: str) -> dict[str, float | None]:
        """The numbers in the columns of that head, by the first cell of their rows."""
        found = {}
        for heads, *rows in self.tables:
            names = [cell.text for cell in heads]
            if head in names:
                found |= {row[0].text: row[names.index(head)].value for row in rows}
        return found

    def pairs(self) -> dict[str, Cell]:
        """Second cells by the first of their rows, of tables of two columns."""
        return {row[0].text: row[1] for rows in self.tables for row in rows if len(row) == 2}


def read_page(html: str) -> Page:
    """The page; an AssertionError where it holds what no page may, or does not close what it opens."""
    page = Page()
    page.feed(html)
    page.close()
    assert not page.open, page.open
    assert not page.rawdata, page.rawdata
    assert page.skeleton[:2] == ["div class", "style"]
    assert all(
        part.strip().startswith("div.gridplan") for part in page.style.replace(",", "\n").split("\n") if "{" in part
    )
    assert not any(word in page.style for word in ("url(", "@import", "http", "position", "<"))
    return page
