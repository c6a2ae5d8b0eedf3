"""Where the inputs of one measure stand in a tornado, by the pixel: lines of text, bars, and the scale below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridplan.quantities import format_quantity
from gridplan.report.charts.rows import Row
from gridplan.report.charts.texts import CONSTRAINTS, lines

__all__ = [
    "BAR",
    "LINE",
    "SMOOTH_BAR",
    "STUB",
    "TOP",
    "Panel",
    "bar_label",
    "flips_at",
    "has_smooth",
    "on_one_side",
    "panel_of",
]

LINE, BAR, SMOOTH_BAR, _GAP = 16, 16, 6, 14
"""Pixels: a line of text, a bar, the thin bar below it, and what is left free between two inputs."""

TOP = 20
"""Pixels above the first input: the label of the base."""

STUB = 22
"""Pixels of a hatched stub, which stands at the edge because an end without a plan has no place on the scale."""

_COLUMN = 0.33
"""Share of a wide chart that texts take, left of the bars; in a narrow one they stand above them."""

_LETTER = 6.6
"""Pixels of a letter of the labels at bars, on average."""

_ENDS = ("low", "base", "high")


@dataclass(frozen=True)
class Text:
    """A line about an input; `flip` has the sign for what binds elsewhere before it."""

    said: str
    bold: bool = False
    flip: bool = False


@dataclass(frozen=True)
class Panel:
    """The inputs of one measure: their lines of text, where these and the bars begin, and the scale of the values."""

    rows: Sequence[Row]
    texts: Sequence[Sequence[Text]]
    tops: Sequence[float]
    bars: Sequence[float]
    height: float
    left: float
    width: float
    domain: tuple[float, float]

    def bar_height(self, place: int) -> float:
        """Pixels of the bar of an input: two bars where both ends lie on one side of the base."""
        return _bar_height(self.rows[place])


def panel_of(rows: Sequence[Row], width: float, first: bool) -> Panel:
    """Lay out the inputs of one measure; the first panel says what their ends are."""
    small = width < 500
    left = 0.0 if small else round(_COLUMN * width)
    room = width if small else left - 12
    texts = [_texts(row, room, first) for row in rows]
    tops, bars, y = list[float](), list[float](), float(TOP)
    for own, row in zip(texts, rows, strict=True):
        bar = _bar_height(row) + (SMOOTH_BAR + 2 if has_smooth(row) else 0)
        tops.append(y)
        bars.append(y + LINE * len(own) + 2 if small else y)
        y += (LINE * len(own) + 2 + bar if small else max(LINE * len(own), bar)) + _GAP
    known = [row[name] for row in rows for name in _drawn_names(row) if row[name] is not None]
    longest = max(len(bar_label(row, end)) for row in rows for end in ("low", "high"))
    stubs = STUB if any(row[end] is None for row in rows for end in ("low", "high")) else 0
    domain = _domain(known, width - left, 12 + _LETTER * longest + stubs)
    return Panel(rows, texts, tops, bars, y, left, width, domain)


def has_smooth(row: Row) -> bool:
    """Whether the values before rounding up are known and others than those planned."""
    smooth = [row[f"{end}_unrounded"] for end in _ENDS]
    return None not in smooth and smooth != [row[end] for end in _ENDS]


def on_one_side(row: Row) -> bool:
    """Whether both ends lie above the base, or both below it."""
    known = None not in (row["low"], row["base"], row["high"])
    return known and (row["low"] - row["base"]) * (row["high"] - row["base"]) > 0


def bar_label(row: Row, end: str) -> str:
    """The text at an end of a bar; one for both where nothing moves.

    >>> bar_label({"low": 8, "base": 9, "high": 14, "measure_unit": "count"}, "low")
    'L 8'
    """
    value, unit = row[end], row["measure_unit"]
    if value is None:
        return ""
    if row["low"] == row["high"] == row["base"]:
        return "no change" if end == "high" else ""
    text = f"{value:,.2f}" if unit.startswith("USD") and abs(value) >= 0.1 else format_quantity(value, "count")
    return f"{'L' if end == 'low' else 'H'} {text}"


def flips_at(row: Row, end: str) -> bool:
    """Whether something else binds at an end that has a plan.

    >>> flips_at({"binds_low": "ttft", "binds_base": "tpot"}, "low")
    True
    """
    return row[f"binds_{end}"] not in (None, row["binds_base"])


def _texts(row: Row, room: float, first: bool) -> list[Text]:
    """The input with its ends, what binds elsewhere at an end, and why a value is missing."""
    found = [Text(row["input"], bold=True)]
    at = {end: format_quantity(row[f"input_{end}"], row["unit"]) for end in _ENDS}
    if first:
        ends = f"{at['low']} to {at['high']}"
        joined = lines(f"{ends}, base {at['base']}", room, 12)
        found += map(Text, joined if len(joined) == 1 else [*lines(ends, room, 12), f"base {at['base']}"])
    for end, letter in (("low", "L"), ("high", "H")):
        if row[f"why_{end}"] is not None:
            found += map(Text, lines(f"{letter} ({at[end]}) no value: {row[f'why_{end}']}", room, 12))
        elif first and flips_at(row, end):
            word = CONSTRAINTS.get(row[f"binds_{end}"], row[f"binds_{end}"])
            found += [
                Text(line, flip=number == 0)
                for number, line in enumerate(lines(f"{letter}: {word} binds", room - 14, 12))
            ]
    return found


def _bar_height(row: Row) -> float:
    return 2 * BAR - 2 if on_one_side(row) else BAR


def _drawn_names(row: Row) -> tuple[str, ...]:
    return (*_ENDS, *(f"{end}_unrounded" for end in _ENDS)) if has_smooth(row) else _ENDS


def _domain(known: Sequence[float], width: float, room: float) -> tuple[float, float]:
    """The values with so many pixels left free on both sides."""
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if low == high:
        half = abs(low) / 4 or 1.0
        low, high = low - half, high + half
    free = (high - low) * room / max(width - 2 * room, 40.0)
    return low - free, high + free
