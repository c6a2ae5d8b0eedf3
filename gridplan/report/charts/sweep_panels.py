"""Panels of a load test, one above the other over one axis of rates: limits, points by verdict, what lies beyond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridplan.report.charts.chart import NARROW
from gridplan.report.charts.kinds import Looks, kind_points
from gridplan.report.charts.rows import inline
from gridplan.report.charts.theme import BLUE, INK, MUTED, PAPER, QUIET, SKY, VERMILION
from gridplan.report.sweep_words import rate_text

__all__ = ["FAILS", "HOLDS", "UNKNOWN", "Edge", "Limit", "Panel", "Place", "Sweep", "drawn_panels"]

HOLDS, FAILS, UNKNOWN = "holds every limit", "does not", "not known, or not used"

_LOOKS: Looks = {
    HOLDS: ("circle", BLUE, BLUE),
    FAILS: ("M-.8,-.8L.8,.8M.8,-.8L-.8,.8", VERMILION, VERMILION),
    UNKNOWN: ("diamond", PAPER, QUIET),
}

_LETTER = 6.4
"""Pixels of a letter, at most (measurement of the font in use)."""


@dataclass(frozen=True)
class Limit:
    """A limit in the unit of its panel, and as people read it."""

    value: float
    text: str


@dataclass(frozen=True)
class Place:
    """A point of a panel, in its unit."""

    x: float
    y: float
    kind: str


@dataclass(frozen=True)
class Edge:
    """A point beyond a panel: where it is, and its value in words."""

    x: float
    text: str


@dataclass(frozen=True)
class Panel:
    """One limit; `line` has x, y and the number of the unbroken run; `most` is the largest x of any point."""

    title: str
    limit: Limit
    high: float
    places: tuple[Place, ...]
    beyond: tuple[Edge, ...]
    line: tuple[tuple[float, float, int], ...]
    most: float
    missing: str


@dataclass(frozen=True)
class Sweep:
    """All panels, what they are over, the rate λ* and its interval [req/s]."""

    title: str
    rate: float | None
    interval: tuple[float, float | None] | None
    panels: tuple[Panel, ...]


def drawn_panels(picture: Sweep, width: float) -> Any:
    """The panels under each other, so many pixels wide."""
    import altair as alt

    inner = width - 71
    room = min(0.4 * inner, 14 + _LETTER * max(len(word) for panel in picture.panels for word in _words(panel, width)))
    end = picture.panels[0].most / (1.0 - room / inner)
    last = len(picture.panels) - 1
    panels = [_panel(picture, number, inner, end, width) for number in range(last + 1)]
    scales = alt.Resolve(scale=alt.ScaleResolveMap(shape="shared", fill="shared", stroke="shared"))
    return alt.vconcat(*panels, spacing=14, resolve=scales)


def _words(panel: Panel, width: float) -> tuple[str, ...]:
    """The limit in words: over and under its line where there is little room."""
    return (f"limit {panel.limit.text}",) if width > NARROW else ("limit", panel.limit.text)


def _panel(picture: Sweep, number: int, inner: float, end: float, width: float) -> Any:
    import altair as alt

    panel, under = picture.panels[number], number == len(picture.panels) - 1
    y_axis = alt.Axis(title=panel.title, tickCount=4, minExtent=40, maxExtent=40)
    x_axis = alt.Axis(title=picture.title if under else None, labels=under, grid=False, tickCount=8)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, end], nice=False), axis=x_axis)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, panel.high], nice=False), axis=y_axis)
    layers = [*_interval(picture, x, end), *_rate(picture, number, x)]
    limit = [{"x": end, "y": panel.limit.value, "x0": 0}]
    rule = alt.Chart(inline(limit)).mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=1.4)
    layers.append(rule.encode(x=x, x2=alt.X2("x0:Q"), y=y))
    for row, word in enumerate(_words(panel, width)):
        text = alt.Chart(inline([{**limit[0], "said": word}])).mark_text(align="right", dx=-2, dy=-7 if not row else 9)
        layers.append(text.encode(x=x, y=y, text=alt.Text("said:N")))
    if panel.line:
        runs = [{"x": at, "y": value, "run": run} for at, value, run in panel.line]
        line = alt.Chart(inline(runs)).mark_line(color=QUIET, strokeWidth=1.6, clip=True)
        layers.append(line.encode(x=x, y=y, detail=alt.Detail("run:N")))
    layers += [*_points(picture, panel, x, y), *_edge(panel, x, inner / end)]
    if panel.missing:
        middle = [{"x": end / 2, "said": panel.missing}]
        text, place = alt.Chart(inline(middle)).mark_text(color=MUTED), alt.YValue(12)  # type: ignore[no-untyped-call]
        layers.append(text.encode(x=x, text=alt.Text("said:N"), y=place))
    return alt.layer(*layers, width=inner, height=150 if width > NARROW else 120)


def _interval(picture: Sweep, x: Any, end: float) -> Iterator[Any]:
    """The interval of the rate as a band, over the whole height of the panel."""
    import altair as alt

    if picture.interval is None or picture.interval == (0.0, None):
        return
    low, high = picture.interval
    band = alt.Chart(inline([{"x": low, "x2": end if high is None else min(high, end)}]))
    yield band.mark_rect(color=SKY, opacity=0.2).encode(x=x, x2=alt.X2("x2:Q"))


def _rate(picture: Sweep, number: int, x: Any) -> Iterator[Any]:
    """λ* as a line through all panels, with its value above the first."""
    import altair as alt

    if picture.rate is None:
        return
    base = alt.Chart(inline([{"x": picture.rate, "said": f"λ* {rate_text(picture.rate)}"}]))
    yield base.mark_rule(color=INK, strokeDash=[2, 3], strokeWidth=1.3).encode(x=x)
    if number == 0:
        above = alt.YValue(-5)  # type: ignore[no-untyped-call]
        yield base.mark_text(baseline="bottom", fontWeight="bold").encode(x=x, y=above, text=alt.Text("said:N"))


def _points(picture: Sweep, panel: Panel, x: Any, y: Any) -> Iterator[Any]:
    import altair as alt

    held = {place.kind for other in picture.panels for place in other.places}
    kinds = [kind for kind in _LOOKS if kind in held]
    if not panel.places:
        return
    legend = alt.Legend(title=None, symbolStrokeWidth=2, offset=22)
    marks = [{"x": place.x, "y": place.y, "kind": place.kind} for place in panel.places]
    yield kind_points(marks, x, y, kinds, _LOOKS, legend, size=70, stroke=2)


def _edge(panel: Panel, x: Any, per_unit: float) -> Iterator[Any]:
    """Values of the points beyond the panel under its edge, in as many of `_LINES` as keep them apart."""
    import altair as alt

    ends = [0.0] * _LINES
    marks: list[dict[str, Any]] = []
    for edge in sorted(panel.beyond, key=lambda edge: edge.x):
        half = 0.5 * _LETTER * len(edge.text) + 3
        left, right = edge.x * per_unit - half, edge.x * per_unit + half
        row = next((row for row, taken in enumerate(ends) if taken <= left), None)
        if row is not None:
            ends[row] = right
            marks.append({"x": edge.x, "said": edge.text, "row": row})
    for row in range(_LINES):
        some = [mark for mark in marks if mark["row"] == row]
        if some:
            text = alt.Chart(inline(some)).mark_text(baseline="top")
            below = alt.YValue(9 + 13 * row)  # type: ignore[no-untyped-call]
            yield text.encode(x=x, y=below, text=alt.Text("said:N"))


_LINES = 2
"""Lines of values under the edge of a panel (policy): those that have no room there stand in the chart's numbers."""
