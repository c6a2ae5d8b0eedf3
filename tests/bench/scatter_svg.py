"""A chart of predicted against measured as SVG: logarithmic axes, the diagonal, a band around it, two kinds of dots.

Written by hand, so the project needs no plotting library and the same points always give the same file. Colours are
the blue and vermilion of Okabe and Ito, which the colour-blind can tell apart; shapes differ as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["Series", "scatter"]

WIDTH, HEIGHT = 760, 700
LEFT, RIGHT, TOP, BOTTOM, EDGE = 92, 24, 78, 66, 14
FONT = "font-family='Helvetica, Arial, sans-serif'"
INK, GREY, BAND_FILL = "#222222", "#cccccc", "#eef1f4"


@dataclass(frozen=True)
class Series:
    """Points of one kind: name in the legend, colour, `circle` or `triangle`, measured and predicted values."""

    name: str
    colour: str
    shape: str
    measured: Sequence[float]
    predicted: Sequence[float]


@dataclass(frozen=True)
class _Axis:
    """A logarithmic scale from `low` to `high`, on both axes alike, and where it lies in the picture [px]."""

    low: float
    high: float
    start: float
    length: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + self.length * share

    def ticks(self) -> Iterator[float]:
        for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            yield from (m * 10.0**power for m in (1, 2, 5) if self.low <= m * 10.0**power <= self.high)


def _text(x: float, y: float, text: str, size: int = 13, anchor: str = "middle", more: str = "") -> str:
    style = f"{FONT} font-size='{size}' text-anchor='{anchor}' fill='{INK}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style} {more}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' {more}/>"


def _marker(shape: str, x: float, y: float, colour: str) -> str:
    paint = f"fill='{colour}' fill-opacity='0.45' stroke='{colour}' stroke-width='0.8'"
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.8' {paint}/>"
    return f"<path d='M{x:.1f} {y - 4.6:.1f} l4.4 7.8 h-8.8 z' {paint}/>"


def _band(x: _Axis, y: _Axis, band: float) -> Iterator[str]:
    """The diagonal and what lies within `band` of it, as a share of what was measured."""
    edges = [(x.low, x.low * (1 + band)), (x.high, x.high * (1 + band)), (x.high, x.high * (1 - band))]
    edges.append((x.low, x.low * (1 - band)))
    corners = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in edges)
    yield f"<polygon points='{corners}' fill='{BAND_FILL}' clip-path='url(#plot)'/>"
    for share in (1 + band, 1 - band):
        ends = (x.at(x.low), y.at(x.low * share), x.at(x.high), y.at(x.high * share))
        yield _line(*ends, "#99a3ad", "stroke-dasharray='5 4' clip-path='url(#plot)'")
    yield _line(x.at(x.low), y.at(x.low), x.at(x.high), y.at(x.high), INK, "stroke-width='1.4' clip-path='url(#plot)'")


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for tick in x.ticks():
        place, name = x.at(tick), f"{tick:,.10g}"
        yield _line(place, y.at(y.low), place, y.at(y.high), GREY, "stroke-width='0.6'")
        yield _text(place, y.at(y.low) + 18, name, 12)
        yield _line(x.at(x.low), y.at(tick), x.at(x.high), y.at(tick), GREY, "stroke-width='0.6'")
        yield _text(x.at(x.low) - 8, y.at(tick) + 4, name, 12, "end")


def _legend(series: Sequence[Series], band: float, x: float, y: float) -> Iterator[str]:
    height = 22 * (len(series) + 1) + 14
    yield f"<rect x='{x:.1f}' y='{y:.1f}' width='218' height='{height}' fill='white' stroke='{GREY}'/>"
    for place, one in enumerate(series):
        line = y + 22 * place + 20
        yield _marker(one.shape, x + 16, line - 4, one.colour)
        yield _text(x + 32, line, f"{one.name} ({len(one.measured)})", 13, "start")
    line = y + 22 * len(series) + 20
    yield _line(x + 6, line - 4, x + 26, line - 4, INK, "stroke-width='1.4'")
    yield _text(x + 32, line, f"equal; dashed: within {band:.0%}", 13, "start")


def scatter(
    title: Sequence[str],
    label: str,
    series: Sequence[Series],
    band: float,
) -> str:
    """The chart as the text of an SVG file; `title` has two lines, `label` names the quantity with its unit."""
    values = [value for one in series for value in (*one.measured, *one.predicted)]
    low, high = min(values) / 1.25, max(values) * 1.25
    x = _Axis(low, high, LEFT, WIDTH - LEFT - RIGHT)
    y = _Axis(low, high, HEIGHT - BOTTOM, -(HEIGHT - TOP - BOTTOM))
    box = f"x='{LEFT}' y='{TOP}' width='{WIDTH - LEFT - RIGHT}' height='{HEIGHT - TOP - BOTTOM}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}'>",
        f"<title>{escape(' '.join(title))}</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        f"<clipPath id='plot'><rect {box}/></clipPath>",
        _text(EDGE, 30, title[0], 17, "start", "font-weight='bold'"),
        _text(EDGE, 54, title[1], 14, "start"),
        *_band(x, y, band),
        *_grid(x, y),
        f"<rect {box} fill='none' stroke='{INK}'/>",
    ]
    for one in series:
        pairs = zip(one.measured, one.predicted, strict=True)
        parts += [_marker(one.shape, x.at(a), y.at(b), one.colour) for a, b in pairs]
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    parts += [
        *_legend(series, band, LEFT + 12, TOP + 12),
        _text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 18, f"measured {label}", 14),
        _text(22, middle, f"predicted {label}", 14, "middle", f"transform='rotate(-90 22 {middle:.1f})'"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
