"""The picture of a front: dominated options small and grey below it, its own in colour with names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridplan.report.charts.chart import NARROW
from gridplan.report.charts.labels_free import beside
from gridplan.report.charts.rows import inline
from gridplan.report.charts.texts import axis_lines
from gridplan.report.charts.theme import INK, QUIET, SERIES

__all__ = ["Picture", "draw"]

_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDE = 20.0
"""A ratio of ends from which an axis is logarithmic (policy)."""


@dataclass(frozen=True)
class Picture:
    """What is drawn: objectives, options of the front (both values, group, name), dominated ones (both values).

    `differ` are the axes in the names, `common` the labels that all of the front have.
    """

    ways: tuple[str, ...]
    front: Sequence[tuple[float, float, str, str]]
    beaten: Sequence[tuple[float, float]]
    differ: Sequence[str]
    groups: Sequence[str]
    common: Mapping[str, str | float]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """How far along the axis a value stands."""
        turned = math.log if self.log else float
        return float((turned(value) - turned(self.low)) / (turned(self.high) - turned(self.low)))


def draw(picture: Picture, width: float, head: float) -> Any:
    """The Altair chart, without title; `head` are the pixels that the title will take."""
    import altair as alt

    height = 320.0
    wide = width > NARROW
    spots = [*(mark[:2] for mark in picture.front), *picture.beaten]
    axes = [_axis([spot[place] for spot in spots]) for place in (0, 1)]
    encode: list[Any] = [
        alt.X("x:Q", scale=_scale(axes[0]), axis=_ticks(axes[0], picture.ways[0], width - 90, 8 if wide else 4)),
        alt.Y("y:Q", scale=_scale(axes[1]), axis=_ticks(axes[1], picture.ways[1], height, 6)),
    ]
    groups = list(picture.groups)
    legend = alt.Legend(title=None, symbolSize=90) if len(groups) > 1 else None
    colour = alt.Color("k:N", scale=alt.Scale(domain=groups, range=list(SERIES[: len(groups)])), legend=legend)
    shape = alt.Shape("k:N", scale=alt.Scale(domain=groups, range=list(_SHAPES[: len(groups)])), legend=legend)
    layers: list[Any] = []
    if picture.beaten:
        grey = alt.Chart(inline([{"x": x, "y": y} for x, y in picture.beaten]))
        layers.append(grey.mark_circle(size=14, color=QUIET, opacity=0.55).encode(*encode))
    if picture.front:
        rows = [{"x": x, "y": y, "k": group} for x, y, group, _ in picture.front]
        base = alt.Chart(inline(rows)).mark_point(filled=True, size=75, opacity=1)
        layers.append(base.encode(*encode, color=colour, shape=shape))
        layers += _names(picture, axes, encode, (width - 90, height))
    if not layers:
        nothing = alt.Chart(inline([{"text": "no option can be chosen"}]))
        layers = [nothing.mark_text(fontSize=14, color=INK).encode(text=alt.Text("text:N"))]
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    lines = math.ceil(len(groups) / (3 if width >= 500 else 1)) if len(groups) > 1 else 0
    return alt.layer(*layers, width=width, height=height + 50 + head + 22 * lines, autosize=fit)


def _axis(values: Sequence[float]) -> _Axis:
    """The ends with some room around them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low > 0 and high / low >= _WIDE:
        room = (high / low) ** 0.06
        return _Axis(low / room, high * room, True)
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return _Axis(0.0 if 0.0 <= low < room else low - room, high + room, False)


def _scale(axis: _Axis) -> Any:
    import altair as alt

    return alt.Scale(type="log" if axis.log else "linear", domain=[axis.low, axis.high], nice=False)


def _ticks(axis: _Axis, objective: str, room: float, count: int) -> Any:
    import altair as alt

    style = "'~s'" if axis.high >= 1e5 else "',.6~r'"
    shown = f"datum.label === '' ? '' : format(datum.value, {style})"
    return alt.Axis(title=axis_lines(objective, room), tickCount=count, labelExpr=shown)


def _names(picture: Picture, axes: Sequence[_Axis], encode: Sequence[Any], room: tuple[float, float]) -> list[Any]:
    """Names beside the options, ordered along the front; options with equal values are named together, or not."""
    import altair as alt

    named: dict[tuple[float, float], list[str]] = {}
    for x, y, _, text in picture.front:
        named.setdefault((x, y), []).append(text)
    order = sorted(named)
    texts = {spot: own[0] if len(own) == 1 else f"{own[0]} +{len(own) - 1} alike" for spot, own in named.items()}
    pixels = [(axes[0].share(x) * room[0], axes[1].share(y) * room[1], texts[x, y]) for x, y in order]
    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for at, align, up in beside(pixels, room, 5.6):
        x, y = order[at]
        found.setdefault((align, up), []).append({"x": x, "y": y, "text": texts[x, y]})
    shifts = {"left": 8, "right": -8, "center": 0}
    return [
        alt.Chart(inline(rows))
        .mark_text(align=align, baseline="middle", dx=shifts[align], dy=-up, fontSize=10, color=INK)  # type: ignore[arg-type]
        .encode(*encode, text=alt.Text("text:N"))
        for (align, up), rows in found.items()
    ]
