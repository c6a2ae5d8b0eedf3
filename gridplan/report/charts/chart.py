"""A chart: what it found, the numbers behind it, and the same picture as SVG, PNG, Vega-Lite or a page element."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.errors import MissingExtraError
from gridplan.report.charts.rows import collected
from gridplan.report.charts.texts import lines
from gridplan.report.charts.theme import HATCHES, configuration, hatches_svg
from gridplan.report.plain_text import printable
from gridplan.spreadsheet import harmless

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NARROW", "SUFFIXES", "WIDE", "Chart", "needs_extra"]

WIDE, NARROW = 760, 340
"""Widths in pixels: a page on a screen or on A4, and a phone."""

DOTS = 2.0
"""Dots a pixel of a PNG."""

SUFFIXES = (".svg", ".png", ".csv", ".json")
"""What a chart can be saved as: pictures, its numbers, its Vega-Lite specification."""


def needs_extra() -> None:
    """Refuse to draw where the libraries are missing. Raises MissingExtraError."""
    from importlib.util import find_spec

    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise MissingExtraError("charts are drawn by altair and vl-convert-python", "report")


@dataclass(frozen=True)
class Chart:
    """One chart.

    `finding` is its title, a sentence made from its numbers; `notes` stand below it. `data` has the numbers, unrounded,
    one row per mark, units in the column names. `alt` says in words what is drawn. `draw` makes the Altair chart,
    without title, for a width in pixels. Channels are given to it as objects, `text=alt.Text("said:N")`: for a bare
    text or `alt.value` Altair hashes all of its schemas anew, which takes longer than the picture.
    """

    kind: str
    finding: str
    notes: tuple[str, ...]
    data: pd.DataFrame
    alt: str
    draw: Callable[[float], Any]

    def view(self, width: float = WIDE) -> Any:
        """The Altair chart with its title, to be changed further or put beside others."""
        needs_extra()
        import altair as alt

        size = 14 if width < 500 else 16
        note = [line for text in self.notes for line in lines(text, width - 12, size - 3)]
        title = alt.Title(lines(self.finding, width - 12, size + 0.6), subtitle=note)
        with collected() as rows:
            drawn = self.draw(width)
        # Nobody else holds what was just drawn: `properties` and `configure` would copy all of it twice more.
        drawn.title, drawn.config, drawn.datasets = title, alt.Config(**configuration(width)), rows
        return drawn

    def spec(self, width: float = WIDE) -> dict[str, Any]:
        """The Vega-Lite specification, data included."""
        needs_extra()
        from altair.utils.schemapi import debug_mode

        # Altair checks every piece against its schema, which takes longer than drawing; tests do that for each kind.
        with debug_mode(False):
            found: dict[str, Any] = self.view(width).to_dict(validate=False)
        return found

    def svg(self, width: float = WIDE, name: str = "", title: bool = True) -> str:
        """The picture as SVG, the same bytes for the same chart.

        With a `name` the picture is to stand in a page: its ids start with it, it has no background and no `title`
        inside, unless that is asked for, and it scales to the width it is given.
        """
        import vl_convert

        spec = self.spec(width)
        if not title:
            spec.pop("title", None)
        drawn: str = vl_convert.vegalite_to_svg(spec)
        return _finished(drawn, self, name)

    def png(self, width: float = WIDE, scale: float = DOTS) -> bytes:
        """The picture as PNG, `scale` dots a pixel."""
        return _png(self.svg(width), scale)

    def csv(self) -> str:
        """The numbers as CSV: unrounded, nulls empty, texts that a spreadsheet would run as formulas made harmless."""
        buffer = io.StringIO()
        safe = self.data.copy()
        for name in (name for name in safe if safe[name].dtype == object):
            safe[name] = safe[name].map(_harmless)
        safe.to_csv(buffer, index=False, lineterminator="\n")
        return buffer.getvalue()

    def save(self, path: str | Path, width: float = WIDE) -> Path:
        """Write the chart as its suffix says: .svg, .png, .csv (its numbers) or .json (its Vega-Lite specification).

        Raises StoreError if the file cannot be written, ValueError for another suffix.
        """
        from gridplan.store.files import write_bytes

        target = Path(path)
        write_bytes(target, self.to_bytes(target.suffix, width))
        return target

    def to_bytes(self, suffix: str, width: float = WIDE) -> bytes:
        """What a file with this suffix holds. Raises ValueError for a suffix that is not in `SUFFIXES`."""
        return self.to_files((suffix,), width)[suffix]

    def to_files(self, suffixes: Iterable[str], width: float = WIDE) -> dict[str, bytes]:
        """What files with these suffixes hold, the picture drawn once for all of them. Raises as `to_bytes` does."""
        import json

        svg, files = cache(self.svg), {}
        for suffix in suffixes:
            if suffix == ".png":
                files[suffix] = _png(svg(width), DOTS)
            elif suffix == ".svg":
                files[suffix] = svg(width).encode()
            elif suffix == ".csv":
                files[suffix] = self.csv().encode()
            elif suffix == ".json":
                spec = json.dumps(self.spec(width), indent=1, ensure_ascii=False, allow_nan=False)
                files[suffix] = f"{spec}\n".encode()
            else:
                raise ValueError(f"a file that ends in {', '.join(SUFFIXES)} is due, not {suffix!r}")
        return files

    def __repr__(self) -> str:
        return f"<Chart {self.kind}: {self.finding}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _png(svg: str, scale: float) -> bytes:
    import vl_convert

    found: bytes = vl_convert.svg_to_png(svg, scale=scale)
    return found


def _harmless(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value


def _finished(drawn: str, chart: Chart, name: str) -> str:
    """Vega's SVG with hatches, a text for who cannot see it and, inside a page, ids of its own."""
    used = [hatch for hatch in HATCHES if f'"url(#{hatch})"' in drawn]
    head_end = drawn.index(">") + 1
    head, body = drawn[:head_end], drawn[head_end:]
    about = escape(printable(chart.alt))
    if name:
        head = re.sub(r' (?:width|height)="[0-9.]+"', "", head)
        body = re.sub(r'^<rect width="[^"]*" height="[^"]*" fill="(?:white|#ffffff)"/>', "", body)
    label = f' role="img" aria-label="{about}">'
    numbers: dict[str, str] = {}
    body = _TAG.sub(lambda tag: _plain_tag(tag[0], numbers), body)
    text = head[:-1] + label + (hatches_svg(used) if used else "") + body
    return _with_own_ids(text, name) if name else text + "\n"


_TAG = re.compile(r"<[^<>]*>")
"""A tag with its attributes, never the text between tags: Vega writes `<` and `>` of a label as entities."""


def _plain_tag(tag: str, numbers: dict[str, str]) -> str:
    """A tag of Vega's without roles (the chart is one picture), in hundredths of a pixel, clip paths counted from 1.

    Hundredths are enough, and the same on every machine; Vega counts clip paths on from picture to picture.
    """
    tag = re.sub(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*")', "", tag)
    tag = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), tag)
    return re.sub(
        r'(id="|url\(#)clip(\d+)', lambda m: f"{m[1]}clip{numbers.setdefault(m[2], str(len(numbers) + 1))}", tag
    )


def _with_own_ids(text: str, name: str) -> str:
    """Ids and what refers to them, made unique in a page that holds several charts."""

    def own(tag: re.Match[str]) -> str:
        named = re.sub(r"""( id=["'])([\w-]+)""", rf"\g<1>{name}-\g<2>", tag[0])
        return re.sub(r'(="url\(#)([\w-]+)', rf"\g<1>{name}-\g<2>", named)

    return _TAG.sub(own, text)
