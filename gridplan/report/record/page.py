"""A record as one HTML page that needs nothing else: no network, no script, charts and their numbers inside."""

from __future__ import annotations

import base64
import re
from functools import partial
from typing import Any

from gridplan.report.charts.chart import NARROW, WIDE, Chart
from gridplan.report.charts.theme import DARK
from gridplan.report.plain_text import printable
from gridplan.report.record.document import ROLES, STATES, Figure, Note, Record, Table

__all__ = ["html_page"]

MOST_ROWS = 60
"""Rows of a chart's numbers that the page itself shows (policy); the file has all of them."""

UNBROKEN, UNBROKEN_IN_CELL = 22, 10
"""Signs of a word up to which it is not broken, in a sentence and in a narrow column (policy)."""


def html_page(record: Record) -> str:
    """The page; the same record gives the same bytes. Every text is escaped."""
    from jinja2 import Environment, PackageLoader

    room = Environment(
        loader=PackageLoader("gridplan.report.record", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    room.filters["line"] = _line
    room.filters["in_cell"] = partial(_line, unbroken=UNBROKEN_IN_CELL)
    room.globals.update(kind_of=_kind, pictures=_pictures, numbers=_numbers, csv_of=_csv, states=STATES, roles=ROLES)
    body = [part for part in record.sections if not part.appendix]
    shown = room.get_template("record.html.j2").render(
        record=record, body=body, appendix=[part for part in record.sections if part.appendix], dark=_dark_rules()
    )
    return shown if shown.endswith("\n") else f"{shown}\n"


def _line(text: str, unbroken: int = UNBROKEN) -> Any:
    """A text in one line, escaped; words longer than `unbroken` may break after their joints, or where they must."""
    from markupsafe import Markup, escape

    def joined(word: str) -> str:
        if len(word) <= unbroken:
            return str(escape(word))
        pieces = [piece for piece in re.split("(?<=[-_/=])(?=[A-Za-z0-9])", word) if piece]
        short = [piece[at : at + UNBROKEN] for piece in pieces for at in range(0, len(piece), UNBROKEN)]
        return "<wbr>".join(str(escape(piece)) for piece in short)

    return Markup(" ".join(map(joined, printable(text).split(" "))))


def _kind(block: object) -> str:
    return {Table: "table", Figure: "figure", Note: "note"}[type(block)]


def _pictures(figure: Figure) -> list[tuple[str, Any]]:
    """The chart for a page and for a phone, as marked-up text."""
    from markupsafe import Markup

    found = []
    for size, width in (("wide", WIDE), ("narrow", NARROW)):
        # Vega escapes what it writes; what is added stands in `_finished`, escaped as well.
        found.append((size, Markup(figure.chart.svg(width, name=f"{figure.name}-{size}", title=False))))
    return found


def _numbers(chart: Chart) -> dict[str, Any]:
    """The first rows of a chart's numbers as text, and how many there are."""
    data = chart.data
    rows = [["" if _null(value) else _text(value) for value in row] for row in data.head(MOST_ROWS).values.tolist()]
    return {"heads": [str(name) for name in data.columns], "rows": rows, "count": len(data)}


def _null(value: Any) -> bool:
    return value is None or value != value


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _csv(chart: Chart) -> str:
    return base64.b64encode(chart.csv().encode()).decode()


def _dark_rules() -> Any:
    """Colours of charts on a dark page: Vega writes them as attributes, which any style overrides."""
    from markupsafe import Markup

    rules = [
        f'.picture [{kind}="{light}"]{{{kind}:{dark}}}' for light, dark in DARK.items() for kind in ("fill", "stroke")
    ]
    return Markup("\n".join(rules))
