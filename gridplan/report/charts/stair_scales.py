"""The axes of stairs, in pixels as Vega will place them, and what colours, dashes and shapes stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridplan.report.charts.stair_walk import Stair
from gridplan.report.charts.texts import axis_lines
from gridplan.report.charts.theme import SERIES

__all__ = ["STRIP", "Picture", "Scale", "encodings", "scales"]

_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [5, 2, 1, 2, 1, 2], [12, 4])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDE = 30.0
"""A ratio of ends from which an axis is logarithmic (policy)."""

STRIP = 14.0
"""Pixels of a strip that says where a series has no plan."""


@dataclass(frozen=True)
class Picture:
    """What is drawn: the series, of which measure and axis, how, and a value with an upright line."""

    series: Sequence[Stair]
    measure: str
    x: str
    own: float | None
    span: tuple[float, float]
    level: bool
    walked: bool
    own_name: str = "the contract"


@dataclass(frozen=True)
class Scale:
    """One axis in pixels, as Vega will place it."""

    low: float
    high: float
    log: bool
    room: float

    def at(self, value: float) -> float:
        """Where a value stands, in pixels from the low end."""
        turned = math.log if self.log else float
        width = turned(self.high) - turned(self.low)
        return float(self.room * (turned(value) - turned(self.low)) / width) if width else self.room / 2

    def back(self, pixels: float) -> float:
        """The value so many pixels from the low end, which may lie before it."""
        share = pixels / self.room
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


def _values(picture: Picture) -> list[float]:
    steps = [step.figures[picture.measure] for stair in picture.series for step in stair.steps if step.why is None]
    points = [plan.figures[picture.measure] for stair in picture.series for plan in stair.points]
    return [float(value) for value in [*steps, *points]]


def scales(picture: Picture, width: float, height: float) -> tuple[Scale, Scale]:
    """Both axes; the lower end of the second leaves room for a strip per series that lacks a plan somewhere."""
    low, high = picture.span
    across = Scale(low, high, low > 0 and high / low >= _WIDE, width - 80)
    values = _values(picture) or [1.0]
    least, most = min(values), max(values)
    log = least > 0 and most / least >= _WIDE
    if log:
        bare = Scale(least / 1.15, most * 1.25, True, height)
    else:
        bare = Scale(min(0.0, least), (most or 1.0) * 1.12 if most > 0 else 1.0, False, height)
    strips = sum(any(step.why for step in stair.steps) for stair in picture.series)
    return across, Scale(bare.back(-STRIP * strips - 2), bare.high, log, height)


def encodings(picture: Picture, across: Scale, up: Scale, names: Mapping[str, str], wide: bool) -> dict[str, Any]:
    import altair as alt

    values = _values(picture) or [0.0]
    domain = list(names.values())
    count = len(domain)
    size = 400 if picture.level and picture.walked else 90
    legend = alt.Legend(title=None, symbolSize=size, symbolOpacity=1, symbolStrokeWidth=2.4) if count > 1 else None

    def scale(axis: Scale) -> Any:
        return alt.Scale(type="log" if axis.log else "linear", domain=[axis.low, axis.high], nice=False)

    # Below the least value there are strips, not values: no ticks there.
    lowest = min(values) / 1.15 if up.log else min(0.0, *values)
    shown = f"datum.value < {lowest!r} ? '' : datum.label" if _values(picture) else "''"
    measured = alt.Axis(
        title=axis_lines(picture.measure, up.room),
        labelExpr=shown,
        format="~s" if max(values) >= 1e4 else "~g",
        tickCount=5,
    )
    rates = alt.Axis(
        title=axis_lines(picture.x, across.room),
        labelExpr="datum.label === '' ? '' : format(datum.value, ',.6~r')",
        tickCount=9 if wide else 5,
        grid=False,
    )
    colours = alt.Scale(domain=domain, range=list(SERIES[:count]))
    dashes: Any = [list(dash) for dash in _DASHES[:count]]
    shapes = alt.Scale(domain=domain, range=list(_SHAPES[:count]))
    return {
        "x": alt.X("x:Q", scale=scale(across), axis=rates),
        "y": alt.Y("y:Q", scale=scale(up), axis=measured),
        "colour": alt.Color("s:N", scale=colours, legend=legend),
        "dash": alt.StrokeDash(
            "s:N", scale=alt.Scale(domain=domain, range=dashes), legend=legend if picture.level else None
        ),
        "shape": alt.Shape("s:N", scale=shapes, legend=None if picture.level else legend),
    }
