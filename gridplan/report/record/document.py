"""What a record consists of, whatever it is written as: sections of sentences, tables and charts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.charts.chart import Chart

__all__ = [
    "ROLES",
    "STATES",
    "Block",
    "Cell",
    "Figure",
    "Note",
    "Record",
    "Section",
    "Table",
    "Value",
    "cell",
    "head",
    "table",
]

Value = str | float | None

STATES = {"plan": "Plan", "infeasible": "No plan", "overview": "Overview"}
"""What a record has to say: a plan, that there is none, or an overview of a cube."""

ROLES = ("Prepared by", "Reviewed by", "Approved by")
"""Who signs."""


@dataclass(frozen=True)
class Cell:
    """What one cell of a table shows, and the unrounded number behind it."""

    text: str
    value: float | None = None
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row is its head. `numeric` says which columns hold numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart under a name that is unique in its record and fit for a file."""

    name: str
    chart: Chart


@dataclass(frozen=True)
class Note:
    """A paragraph; `kind` is `text`, `warning` (what a reader must know) or `ask` (what is still to be done)."""

    text: str
    kind: str = "text"


Block = Table | Figure | Note


@dataclass(frozen=True)
class Section:
    """A part of a record; `name` is its anchor. An appendix comes after the signatures."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    appendix: bool = False


@dataclass(frozen=True)
class Record:
    """A whole record.

    `state` is `plan`, `infeasible` or `overview` (no single plan was asked for). `decision` is one sentence, `setting`
    what it is about, `findings` are sentences computed from the numbers, `tiles` the few figures that everybody asks
    for, `identity` what it was made from.
    """

    title: str
    description: str
    state: str
    decision: str
    place: str
    findings: tuple[str, ...]
    sections: tuple[Section, ...]
    identity: Mapping[str, str] = field(default_factory=dict)
    tiles: tuple[tuple[str, str], ...] = ()
    setting: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All charts, in their order."""
        return tuple(block for part in self.sections for block in part.blocks if isinstance(block, Figure))

    def __repr__(self) -> str:
        return f"<Record {self.title!r}: {STATES[self.state]}>"

    def _repr_html_(self) -> str:
        from gridplan.report.record.record_html import record_html

        return record_html(self)


_UNIT_IN_HEAD = ("USD", "req/s", "tokens")


def head(name: str, words: str | None = None) -> str:
    """The head of a column of one quantity: what it is, with its unit where cells are bare numbers.

    >>> head("usd_per_month", "bill"), head("nodes")
    ('bill [USD/month]', 'nodes')
    """
    row = dictionary()[name]
    said = words or row.long_name
    return f"{said} [{row.unit}]" if row.unit.startswith(_UNIT_IN_HEAD) else said


def cell(name: str, value: Value, strong: bool = False) -> Cell:
    """The value of one quantity under `head(name)`: bare where the head has the unit.

    >>> cell("usd_per_month", 59965.44).text, cell("nodes", None).text, cell("ttft_s", 0.0301).text
    ('59,965.44', '-', '30.10 ms')
    """
    if value is None or isinstance(value, str):
        return Cell(value or "-", None, strong)
    number = float(value)
    if math.isnan(number):
        return Cell("-", None, strong)
    unit = dictionary()[name].unit
    text = format_quantity(number, unit)
    if unit.startswith(_UNIT_IN_HEAD):
        text = text.removesuffix(f" {unit}")
    return Cell(text, number, strong)


_OF_NUMBERS = ("", *"+-<>=0123456789")
"""How the text of a number begins."""


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell | str]],
    note: str = "",
    words: Collection[str] = (),
) -> Table:
    """A table of these rows; columns in which every filled cell is a number, with or without a unit, are numeric.

    `words` are the heads of columns that are texts, whatever they begin with.
    """
    made = tuple(tuple(Cell(one) if isinstance(one, str) else one for one in row) for row in rows)
    columns = list(zip(*made, strict=True)) if made else [() for _ in heads]
    numeric = tuple(
        place > 0  # the first cell of a row is its head
        and title not in words
        and any(one.text[:1].isdigit() for one in column)
        and all(one.text[:1] in _OF_NUMBERS for one in column)
        for place, (title, column) in enumerate(zip(heads, columns, strict=True))
    )
    return Table(caption, tuple(heads), made, numeric, note)
