"""The picture of a memory budget: pieces in a fixed order, a line at usable memory, hatches beyond it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.quantities import format_label
from gridplan.report.charts.chart import NARROW
from gridplan.report.charts.memory_bars import KINDS, MEASURED, OVER, POOL, REST, UNEXPLAINED, Bar
from gridplan.report.charts.rows import inline
from gridplan.report.charts.texts import axis_lines, short_labels
from gridplan.report.charts.theme import AMBER, BLUE, COLOUR_OF, GREEN, INK, MUTED, PAPER, PINK, QUIET, SKY, VERMILION

__all__ = ["draw"]

GIB = 2.0**30

_FILLS: Mapping[str, str] = {
    **{"weights": BLUE, "non-torch": QUIET, "activation peak": AMBER, "CUDA graphs": PINK, "LoRA slots": SKY},
    **{"draft model": VERMILION, "multimodal": COLOUR_OF["e2e"], "reserve": COLOUR_OF["balanced"]},
    **{"workspace": AMBER, POOL: GREEN, MEASURED: GREEN},
    **{UNEXPLAINED: "url(#hatch-dots)", OVER: "url(#hatch-down)", REST: "url(#hatch-level)"},
}
_MISSING = "url(#hatch-up)"
_SIGN = 6.2
"""Pixels of one sign in a piece."""

_STRENGTH = 0.5
"""Opacity of a piece: ink stays legible on all of them, on white and on black."""


def draw(bars: Sequence[Bar], along: str | None, width: float, head: float) -> Any:
    """The Altair chart, without title; `head` are the pixels that the title will take."""
    import altair as alt

    wide = width > NARROW
    keys = ["" if bar.label is None else format_label(bar.label) for bar in bars]
    names = short_labels(keys, 28 if wide else 16)
    end = max([piece.high for bar in bars for piece in bar.pieces] or [GIB]) / GIB * 1.01
    room = width - (40 if along is None else 60 + 6.0 * max(map(len, names.values())))
    step = 64.0 if len(bars) == 1 else max(22.0, min(38.0, 480.0 / len(bars)))
    texts = _legend(bars)
    rows = [
        {"y": names[key], "x": piece.low / GIB, "x2": piece.high / GIB, "k": texts[piece.name]}
        for bar, key in zip(bars, keys, strict=True)
        for piece in bar.pieces
    ]
    axis = alt.Axis(title=None, labels=False, ticks=False, domain=False)
    if along is not None:
        axis = alt.Axis(title=axis_lines(along, max(step * len(bars), 90.0)), labelOverlap=False)
    encode = [
        alt.X("x:Q", scale=alt.Scale(domain=[0, end], nice=False), axis=alt.Axis(title="memory of one GPU [GiB]")),
        alt.Y("y:N", sort=list(names.values()), axis=axis, scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1)),
    ]
    used = [name for name in KINDS if name in texts]
    fill = alt.Fill(
        "k:N",
        scale=alt.Scale(domain=[texts[name] for name in used], range=[_FILLS[name] for name in used]),
        legend=alt.Legend(title=None, symbolType="square", symbolOpacity=_STRENGTH, symbolStrokeColor=QUIET),
    )
    bar_mark = alt.Chart(inline(rows)).mark_bar(fillOpacity=_STRENGTH, stroke=PAPER, strokeWidth=1)
    layers: list[Any] = [bar_mark.encode(*encode, x2=alt.X2("x2:Q"), fill=fill)]
    layers += _limits(bars, keys, names, encode, step)
    layers += _figures(bars, keys, names, encode, room / end, len(bars) == 1)
    lines = math.ceil(len(used) / (3 if width >= 500 else 1))
    height = step * len(bars) + 50 + head + 22 * lines
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    return alt.layer(*layers, width=width, height=height, autosize=fit)


def _legend(bars: Sequence[Bar]) -> dict[str, str]:
    """What the legend says of each kind of piece; of a single bar with its figure."""
    found: dict[str, str] = {}
    for name in KINDS:
        sizes = [piece.high - piece.low for bar in bars for piece in bar.pieces if piece.name == name]
        if sizes:
            found[name] = f"{name} {sizes[0] / GIB:,.2f} GiB" if len(bars) == 1 else name
    return found


def _limits(
    bars: Sequence[Bar], keys: Sequence[str], names: Mapping[str, str], encode: Sequence[Any], step: float
) -> list[Any]:
    """A line at usable memory, hatches over what is missing, and a word where nothing is known."""
    import altair as alt

    pairs = list(zip(bars, keys, strict=True))
    limits = [{"y": names[key], "x": bar.usable / GIB} for bar, key in pairs if bar.pieces]
    beyond = [
        {"y": names[key], "x": bar.usable / GIB, "x2": (bar.usable + bar.missing) / GIB}
        for bar, key in pairs
        if bar.missing > 0.0
    ]
    unknown = [
        {"y": names[key], "x": 0.0, "text": f"not known: {bar.row['infeasible_reason'] or 'no figures'}"}
        for bar, key in pairs
        if not bar.pieces
    ]
    found: list[Any] = []
    if beyond:
        mark = alt.Chart(inline(beyond)).mark_bar(fill=_MISSING, stroke=INK, strokeWidth=1)
        found.append(mark.encode(*encode, x2=alt.X2("x2:Q")))
    if limits:
        mark = alt.Chart(inline(limits)).mark_tick(orient="vertical", thickness=2.2, color=INK, size=step * 0.92)
        found.append(mark.encode(*encode))
    if unknown:
        text = alt.Chart(inline(unknown)).mark_text(align="left", dx=4, color=MUTED, fontSize=11)
        found.append(text.encode(*encode, text=alt.Text("text:N")))
    return found


def _figures(
    bars: Sequence[Bar], keys: Sequence[str], names: Mapping[str, str], encode: Sequence[Any], scale: float, one: bool
) -> list[Any]:
    """GiB in each piece with room for them, with its name above where there is only one bar; what is missing."""
    import altair as alt

    values: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    for bar, key in zip(bars, keys, strict=True):
        for piece in bar.pieces:
            # Digits on hatches are hard to read, and over what is missing there is a text of its own.
            high = min(piece.high, bar.usable) if bar.missing > 0.0 else piece.high
            text, room = f"{(piece.high - piece.low) / GIB:,.2f}", (high - piece.low) / GIB * scale
            if piece.name == REST or room < _SIGN * len(text) + 4:
                continue
            spot = {"y": names[key], "x": (piece.low + high) / 2.0 / GIB}
            values.append({**spot, "text": text})
            if one and room >= _SIGN * len(piece.name) + 4:
                titles.append({**spot, "text": piece.name})
        if bar.missing > 0.0 and bar.missing / GIB * scale >= 70:
            text = f"{bar.missing / GIB:,.2f} missing"
            values.append({"y": names[key], "x": (bar.usable + bar.missing / 2.0) / GIB, "text": text, "over": True})
    found: list[Any] = []
    over = [row for row in values if row.get("over")]
    if over:
        halo = alt.Chart(inline(over)).mark_text(
            fontSize=11, color=PAPER, stroke=PAPER, strokeWidth=4, dy=8 if titles else 0
        )
        found.append(halo.encode(*encode, text=alt.Text("text:N")))
    for rows, up in ((values, -8 if titles else 0), (titles, 8)):
        if rows:
            mark = alt.Chart(inline(rows)).mark_text(fontSize=11, dy=-up, color=INK)
            found.append(mark.encode(*encode, text=alt.Text("text:N")))
    return found
