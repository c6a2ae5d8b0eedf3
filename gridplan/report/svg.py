"""Pieces of an SVG chart, written by hand: text, lines, marks, axes with round ticks. Every label is escaped.

Colours are those of Okabe and Ito, which the colour-blind can tell apart; what a colour says, a shape says too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["BLUE", "GREY", "INK", "VERMILION", "Scale", "document", "line", "mark", "path", "text"]

BLUE, VERMILION, INK, GREY = "#0072b2", "#d55e00", "#222222", "#cccccc"
_FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Scale:
    """A linear scale from `low` to `high` (values) to `start` and `end` (pixels)."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Pixel of a value; values beyond the scale stay at its ends."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> Iterator[float]:
        """Round values on the scale, at most so many.

        >>> list(Scale(0.0, 14.0, 0, 100).ticks())
        [0.0, 5.0, 10.0]
        """
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(m * power for m in (1, 2, 5, 10, 20) if span / (m * power) <= most - 1)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        yield from (float(f"{number * step:.12g}") for number in range(first, last + 1))


def document(width: float, height: float, title: str, parts: list[str]) -> str:
    """A whole SVG file."""
    size = f"viewBox='0 0 {width:g} {height:g}' width='{width:g}' height='{height:g}'"
    rows = [f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img'>", f"<title>{_escaped(title)}</title>"]
    rows.append(f"<rect width='{width:g}' height='{height:g}' fill='white'/>")
    return "\n".join([*rows, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, said: str, size: int = 13, anchor: str = "middle", more: str = "") -> str:
    """A label; `more` are further attributes."""
    style = f"{_FONT} font-size='{size}' text-anchor='{anchor}' fill='{INK}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style} {more}>{_escaped(said)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    """A straight line."""
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' {more}/>"


def path(places: list[tuple[float, float]], colour: str) -> str:
    """A line through places."""
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f"<polyline points='{shown}' fill='none' stroke='{colour}' stroke-width='1.6'/>"


def mark(kind: str, x: float, y: float) -> str:
    """A point: a filled blue `dot` holds, a vermilion `cross` fails, a hollow grey `ring` is not known or not used."""
    if kind == "dot":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' fill='{BLUE}'/>"
    if kind == "cross":
        places = f"M{x - 4.5:.1f} {y - 4.5:.1f} l9 9 m0 -9 l-9 9"
        return f"<path d='{places}' stroke='{VERMILION}' stroke-width='2.4' fill='none'/>"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' fill='white' stroke='#777777' stroke-width='1.6'/>"


def _escaped(said: str) -> str:
    """The text for XML, in one line; signs that XML cannot hold become `?`.

    >>> _escaped("a<b & \\x00")
    'a&lt;b &amp; ?'
    """
    return escape("".join(sign if sign.isprintable() else "?" for sign in " ".join(said.split(" "))))
