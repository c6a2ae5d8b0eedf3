"""Panels of predicted over measured figures: logarithmic squares with the diagonal, points labelled by their load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gridplan.report.charts.chart import NARROW
from gridplan.report.charts.kinds import Looks, kind_points
from gridplan.report.charts.rows import inline
from gridplan.report.charts.theme import BLUE, GREEN, INK, MUTED, PAPER, QUIET, VERMILION

__all__ = ["CLOSED", "DOUBTED", "MISSED", "OPEN", "Mark", "Panel", "drawn_panels"]

Align = Literal["left", "center", "right"]

OPEN, CLOSED = "open loop", "closed loop"
DOUBTED, MISSED = "not counted", "measured, not predicted"

_LOOKS: Looks = {
    OPEN: ("circle", BLUE, BLUE),
    CLOSED: ("square", GREEN, GREEN),
    DOUBTED: ("diamond", PAPER, QUIET),
    MISSED: ("triangle-up", PAPER, VERMILION),
}

_AROUND: tuple[tuple[int, int, Align], ...] = ((8, 4, "left"), (-8, -4, "right"), (0, -10, "center"), (0, 11, "center"))
"""Places of a label beside its point: pixels across and down, and how the text is aligned."""

_LETTER, _LINE = 6.6, 12.0
"""Pixels of a letter of a label, at most, and of its line."""


@dataclass(frozen=True)
class Mark:
    """One point: measured, predicted (None where nothing is), its kind and its load in few signs."""

    x: float
    y: float | None
    kind: str
    label: str


@dataclass(frozen=True)
class Panel:
    """One figure in its unit, between the least and the largest value that it has on either side."""

    title: str
    unit: str
    low: float
    high: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class _Frame:
    """A panel on the page: its values, with room around them, over so many pixels."""

    low: float
    high: float
    width: float
    height: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        span = math.log(self.high / self.low)
        across, up = math.log(x / self.low) / span, math.log(y / self.low) / span
        return across * self.width, (1.0 - up) * self.height


def drawn_panels(panels: Sequence[Panel], width: float) -> Any:
    """All panels, side by side where there is room, so many pixels wide together."""
    import altair as alt

    columns = 1 if width <= NARROW else {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
    inner = (width - 12 - 20 * (columns - 1)) / columns - _SIDE
    height = min(inner, 300.0 if columns == 1 and width > NARROW else 230.0)
    kinds = [kind for kind in _LOOKS if any(mark.kind == kind for panel in panels for mark in panel.marks)]
    views = [_panel(panel, inner, height, kinds) for panel in panels]
    scales = alt.Resolve(scale=alt.ScaleResolveMap(shape="shared", fill="shared", stroke="shared"))
    return alt.concat(*views, columns=columns, spacing=20, resolve=scales)


_SIDE = 56
"""Pixels of a vertical axis with its numbers and its title."""


def _panel(panel: Panel, width: float, height: float, kinds: Sequence[str]) -> Any:
    import altair as alt

    room = max((panel.high / panel.low) ** 0.12, 1.04)
    frame = _Frame(panel.low / room, panel.high * room, width, height)
    ticks = _ticks(frame.low, frame.high)
    scale = alt.Scale(type="log", domain=[frame.low, frame.high], nice=False)
    x_axis = alt.Axis(title=f"measured [{panel.unit}]", values=ticks, format="~g")
    y_axis = alt.Axis(title=f"predicted [{panel.unit}]", values=ticks, format="~g", minExtent=38, maxExtent=38)
    x = alt.X("x:Q", scale=scale, axis=x_axis)
    y = alt.Y("y:Q", scale=scale, axis=y_axis)
    layers = [*_diagonal(panel, x, y), _points(panel, frame, x, y, kinds), *_labels(panel, frame, x, y)]
    title = alt.Title(panel.title, fontSize=13, offset=6, frame="group", anchor="start")
    return alt.layer(*layers, width=width, height=height, title=title)


def _diagonal(panel: Panel, x: Any, y: Any) -> Iterator[Any]:
    """Where predicted is measured, from the least to the largest value of the panel."""
    import altair as alt

    if panel.high > panel.low:
        ends = [{"x": value, "y": value} for value in (panel.low, panel.high)]
        yield alt.Chart(inline(ends)).mark_line(color=INK, strokeDash=[6, 4], strokeWidth=1.2).encode(x=x, y=y)


def _points(panel: Panel, frame: _Frame, x: Any, y: Any, kinds: Sequence[str]) -> Any:
    import altair as alt

    marks = [{"x": m.x, "y": frame.low if m.y is None else m.y, "kind": m.kind} for m in panel.marks]
    legend = alt.Legend(title=None, symbolStrokeWidth=2)
    return kind_points(marks, x, y, kinds, _LOOKS, legend, size=55, stroke=1.8)


def _labels(panel: Panel, frame: _Frame, x: Any, y: Any) -> Iterator[Any]:
    """The load of each point beside it, where no other point or label is in the way."""
    import altair as alt

    places = [frame.at(mark.x, frame.low if mark.y is None else mark.y) for mark in panel.marks]
    taken = [(across - 5, down - 5, across + 5, down + 5) for across, down in places]
    found: dict[tuple[int, int, Align], list[dict[str, Any]]] = {}
    said: set[tuple[float, float, str]] = set()
    for number, (mark, (across, down)) in enumerate(zip(panel.marks, places, strict=True)):
        if (across, down, mark.label) in said:
            continue
        for dx, dy, align in _AROUND:
            box = _box(across + dx, down + dy, align, len(mark.label))
            others = [other for other in taken if other != taken[number]]
            if _inside(box, frame) and not any(_meet(box, other) for other in others):
                taken.append(box)
                said.add((across, down, mark.label))
                y_value = frame.low if mark.y is None else mark.y
                found.setdefault((dx, dy, align), []).append({"x": mark.x, "y": y_value, "said": mark.label})
                break
    for (dx, dy, align), texts in found.items():
        text = alt.Chart(inline(texts)).mark_text(align=align, dx=dx, dy=dy, fontSize=11, color=MUTED)
        yield text.encode(x=x, y=y, text=alt.Text("said:N"))


Box = tuple[float, float, float, float]


def _box(across: float, down: float, align: Align, letters: int) -> Box:
    width = _LETTER * letters
    left = across - {"left": 0.0, "center": 0.5 * width, "right": width}[align]
    return left, down - _LINE / 2, left + width, down + _LINE / 2


def _inside(box: Box, frame: _Frame) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= frame.width and box[3] <= frame.height


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


_DIGITS = (
    (1.0,),
    (1.0, 3.0),
    (1.0, 2.0, 5.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0),
)


def _ticks(low: float, high: float) -> list[float]:
    """Round values from `low` to `high`, three to six of them where there are any, none at the very ends.

    >>> _ticks(0.8, 40.0), _ticks(11.0, 38.0), _ticks(18.2, 19.9)
    ([1.0, 3.0, 10.0, 30.0], [15.0, 20.0, 30.0], [18.5, 19.0, 19.5])
    """
    rim = (high / low) ** 0.03
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in _DIGITS:
        values = [float(f"{digit}e{power}") for power in powers for digit in digits]
        inside = [value for value in values if low * rim <= value <= high / rim]
        if 3 <= len(inside) <= 6:
            return inside
    if high > 100 * low:
        return _decades(low, high)
    power = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(digit * power for digit in (1, 2, 5, 10, 20) if (high - low) / (digit * power) <= 5)
    first, last = math.ceil(low * rim / step), math.floor(high / rim / step)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, so far apart that there are six at most."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [float(f"1e{power}") for power in range(first, last + 1, (last - first) // 6 + 1)]
