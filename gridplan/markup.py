"""Pieces of HTML for notebooks: text escaped by construction, tables, sections, and a page that needs nothing else.

Whatever is not markup already is made printable and escaped. There is no script, no id and no address; colours are
those of the notebook around, so light and dark both do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from markupsafe import Markup, escape

__all__ = ["columns", "element", "number", "page", "printable", "section", "table", "warnings"]

STYLE = """\
div.gridplan{font-size:.93em;line-height:1.45;max-width:70em;overflow-wrap:anywhere}
div.gridplan .gp-title{font-size:1.15em;font-weight:bold;margin:0 0 .2em}
div.gridplan p{margin:.2em 0}
div.gridplan .gp-small{font-size:.9em;opacity:.8}
div.gridplan .gp-warning{border-left:3px solid #bf8700;padding-left:.6em}
div.gridplan .gp-scroll{overflow-x:auto}
div.gridplan table{border-collapse:collapse;margin:.4em 0;color:inherit;background:transparent}
div.gridplan caption{text-align:left;font-weight:bold;padding:.2em 0}
div.gridplan th,div.gridplan td{text-align:left;vertical-align:top;padding:.15em .6em .15em 0;max-width:30em;\
white-space:normal;border:0;border-bottom:1px solid rgba(128,128,128,.35)}
div.gridplan tbody th{font-weight:normal}
div.gridplan .gp-number{text-align:right;font-variant-numeric:tabular-nums}
div.gridplan code{color:inherit;background:transparent;font-size:.92em}
div.gridplan summary{cursor:pointer;padding:.15em 0}
"""


def printable(text: object) -> str:
    """The text in one line, without signs that XML cannot hold or that would turn its direction.

    >>> printable("a\\nb\\x00")
    'a b?'
    """
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(str(text).split()))


def element(tag: str, *parts: object, cls: str = "", **attributes: str) -> Markup:
    """An element around its parts; attributes are escaped as texts are.

    >>> print(element("p", "a < b ", element("b", "&"), cls="x"))
    <p class="x">a &lt; b<b>&amp;</b></p>
    """
    named = {**({"class": cls} if cls else {}), **attributes}
    said = "".join(f' {name}="{_shown(value)}"' for name, value in named.items())
    return Markup(f"<{tag}{said}>") + _joined(parts) + Markup(f"</{tag}>")


def number(text: str, value: float | None) -> Markup:
    """A number as people read it, with all its digits as the value of the element; the text alone where it has none.

    >>> print(number("10.4 ms", 0.0104), number("-", None))
    <data value="0.0104">10.4 ms</data> -
    """
    if value is None or math.isnan(value):
        return _shown(text)
    return element("data", text, value=str(value))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], numeric: Collection[str] = (), caption: str = ""
) -> Markup:
    """A table; the first cell of a row is its head, columns whose head is in `numeric` stand to the right."""
    classes = ["gp-number" if name in numeric else "" for name in heads]
    top = element("tr", *(element("th", name, cls=cls, scope="col") for name, cls in zip(heads, classes, strict=True)))
    body = []
    for first, *rest in rows:
        cells = (element("td", part, cls=cls) for part, cls in zip(rest, classes[1:], strict=True))
        body.append(element("tr", element("th", first, scope="row"), *cells))
    named = element("caption", caption) if caption else ""
    return element("div", element("table", named, element("thead", top), element("tbody", *body)), cls="gp-scroll")


def columns(rows: Iterable[tuple[str, object]]) -> Markup:
    """Pairs of a name and what it is, one a row, without a head."""
    made = [element("tr", element("th", name, scope="row"), element("td", part)) for name, part in rows]
    return element("div", element("table", element("tbody", *made)), cls="gp-scroll")


def section(title: str, *parts: object, unfolded: bool = False) -> Markup:
    """A part that a reader unfolds."""
    return element("details", element("summary", title), *parts, **({"open": ""} if unfolded else {}))


def warnings(texts: Iterable[str]) -> Markup:
    """A paragraph for each warning."""
    return _joined(element("p", element("b", "Warning:"), Markup(" "), text, cls="gp-warning") for text in texts)


def page(title: str, *parts: object) -> str:
    """What a notebook shows: the parts below a title, with the style that they need and no other element has."""
    head = element("div", title, cls="gp-title")
    return str(element("div", element("style", Markup(STYLE)), head, *parts, cls="gridplan"))


def _shown(part: object) -> Markup:
    return part if isinstance(part, Markup) else escape(printable(part))


def _joined(parts: Iterable[object]) -> Markup:
    return Markup("").join(map(_shown, parts))
