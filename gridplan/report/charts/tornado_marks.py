"""Marks of a tornado chart: one panel per measure, hollow bars to low ends, filled ones to high ends, texts beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gridplan.dictionary import dictionary
from gridplan.quantities import format_quantity
from gridplan.report.charts.rows import Row, inline
from gridplan.report.charts.texts import axis_lines
from gridplan.report.charts.theme import AMBER, BLUE, GRID, HATCHES, INK, MUTED, PAPER, QUIET
from gridplan.report.charts.tornado_rows import (
    BAR,
    LINE,
    SMOOTH_BAR,
    STUB,
    TOP,
    Panel,
    bar_label,
    flips_at,
    has_smooth,
    on_one_side,
    panel_of,
)

__all__ = ["draw_tornado"]

LOW, HIGH = "low end (L)", "high end (H)"
SMOOTH, NONE = "thin: before rounding up, without spares", "no value"
_FILLS = {LOW: PAPER, HIGH: BLUE, SMOOTH: QUIET, NONE: f"url(#{HATCHES[0]})"}


def draw_tornado(rows: Sequence[Row], width: float) -> Any:
    """The panels of a tornado one below the other, with one legend above all."""
    import altair as alt

    measures = list(dict.fromkeys(row["measure"] for row in rows))
    panels = [
        panel_of([row for row in rows if row["measure"] == measure], width - 14, measure == measures[0])
        for measure in measures
    ]
    bars = [_bars(panel) for panel in panels]
    used = {mark["kind"] for own in bars for mark in own}
    kinds = [kind for kind in _FILLS if kind in used]
    fill = alt.Fill(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[_FILLS[kind] for kind in kinds]),
        legend=alt.Legend(title=None, symbolType="square", symbolStrokeColor=INK, symbolStrokeWidth=1),
    )
    drawn = [_draw(panel, own, fill) for panel, own in zip(panels, bars, strict=True)]
    return alt.vconcat(*drawn, spacing=20)


def _bars(panel: Panel) -> list[dict[str, Any]]:
    """Rectangles: from the base to both ends, thin ones before rounding up, stubs for ends without a value."""
    marks: list[dict[str, Any]] = []
    for place, row in enumerate(panel.rows):
        top, height = panel.bars[place], panel.bar_height(place)
        for end, kind in (("low", LOW), ("high", HIGH)):
            y, y2 = _lane(row, end, top)
            if row[end] is None:
                marks.append({**_stub(panel, end), "y": y, "y2": y2, "kind": NONE})
            elif row["base"] is not None and row[end] != row["base"]:
                marks.append({"x": row["base"], "x2": row[end], "y": y, "y2": y2, "kind": kind})
        if has_smooth(row):
            below = {"y": top + height + 2, "y2": top + height + 2 + SMOOTH_BAR}
            spans = [(row[f"{end}_unrounded"], kind) for end, kind in (("low", LOW), ("high", SMOOTH))]
            spans.sort(key=lambda span: -abs(span[0] - row["base_unrounded"]))  # the shorter one is seen
            marks += [{"x": row["base_unrounded"], "x2": value, **below, "kind": kind} for value, kind in spans]
    return marks


def _lane(row: Row, end: str, top: float) -> tuple[float, float]:
    """The height of a bar; where both ends lie on one side the low end has the upper half."""
    if not on_one_side(row):
        return top, top + BAR
    return (top, top + BAR - 1) if end == "low" else (top + BAR - 1, top + 2 * BAR - 2)


def _stub(panel: Panel, end: str) -> dict[str, float]:
    """At the edge of its end: what has no value has no place on the scale."""
    low, high = panel.domain
    share = (high - low) * STUB / (panel.width - panel.left)
    return {"x": low, "x2": low + share} if end == "low" else {"x": high - share, "x2": high}


def _base_line(panel: Panel) -> list[dict[str, Any]]:
    """The base through all bars; where texts stand above the bars, in pieces that leave them free."""
    base = panel.rows[0]["base"]
    if base is None:
        return []
    if panel.left:
        return [{"x": base, "y": TOP - 6, "y2": panel.height}]
    ends = [top + panel.bar_height(place) + SMOOTH_BAR + 4 for place, top in enumerate(panel.bars)]
    return [{"x": base, "y": top - 3, "y2": end} for top, end in zip(panel.bars, ends, strict=True)]


def _ticks(panel: Panel) -> list[dict[str, Any]]:
    """Where a bar has no length: nothing moves, or there is no base to start from."""
    found = []
    for top, row in zip(panel.bars, panel.rows, strict=True):
        alike = row["low"] == row["high"] == row["base"]
        values = [row["base"]] if alike else [row[end] for end in ("low", "high") if row["base"] is None]
        found += [{"x": value, "y": top, "y2": top + BAR} for value in values if value is not None]
    return found


def _labels(panel: Panel) -> list[dict[str, Any]]:
    """The value at each end, outside its bar; an end that stays at the base has it on the free side."""
    found = []
    for top, row in zip(panel.bars, panel.rows, strict=True):
        for end, other in (("low", "high"), ("high", "low")):
            said = bar_label(row, end)
            if not said:
                continue
            start = next((row[name] for name in ("base", other) if row[name] is not None), row[end])
            stays = row[end] == row["base"] and row[other] is not None
            left = row[other] > row[end] if stays else row[end] < start
            y, y2 = _lane(row, end, top)
            found.append({"x": row[end], "y": (y + y2) / 2, "text": said, "left": left})
    return found


def _flips(panel: Panel) -> list[dict[str, Any]]:
    """Ends at which something else binds than at the base."""
    return [
        {"x": row[end], "y": sum(_lane(row, end, top)) / 2}
        for top, row in zip(panel.bars, panel.rows, strict=True)
        for end in ("low", "high")
        if row[end] is not None and flips_at(row, end)
    ]


def _draw(panel: Panel, bars: Sequence[Row], fill: Any) -> Any:
    import altair as alt

    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, panel.height], reverse=True, nice=False), axis=None)
    scale = alt.Scale(domain=list(panel.domain), range=[panel.left, panel.width], nice=False, zero=False)
    place = {"x": alt.X("x:Q", scale=scale, axis=_axis(panel)), "y": y}

    def marks(rows: Sequence[Row]) -> Any:
        return alt.Chart(inline(rows))

    diamond = {
        "shape": "diamond",
        "filled": True,
        "fill": AMBER,
        "stroke": INK,
        "strokeWidth": 1,
        "size": 90,
        "opacity": 1,
    }
    layers = [
        marks(_base_line(panel)).mark_rule(color=INK, strokeDash=[4, 3]).encode(**place, y2=alt.Y2("y2:Q")),
        marks(bars)
        .mark_rect(stroke=INK, strokeWidth=0.9)
        .encode(**place, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), fill=fill),
        marks(_ticks(panel)).mark_rule(color=INK, strokeWidth=4).encode(**place, y2=alt.Y2("y2:Q")),
        marks(_flips(panel)).mark_point(**diamond).encode(**place),
    ]
    for left, align, dx in ((True, "right", -8), (False, "left", 8)):
        labels = [label for label in _labels(panel) if label["left"] == left]
        layers.append(
            marks(labels).mark_text(align=align, baseline="middle", dx=dx).encode(**place, text=alt.Text("text:N"))
        )
    heads = [
        {"y": top + LINE * (number + 0.5), "text": text.said, "bold": text.bold, "flip": text.flip}
        for top, texts in zip(panel.tops, panel.texts, strict=True)
        for number, text in enumerate(texts)
    ]
    for bold, flip in ((True, False), (False, True), (False, False)):
        own = [head for head in heads if (head["bold"], head["flip"]) == (bold, flip)]
        style = {"fontWeight": "bold" if bold else "normal", "color": INK if bold else MUTED}
        text = marks(own).mark_text(align="left", baseline="middle", dx=14 if flip else 0, **style)
        start, beside = alt.XValue(0), alt.XValue(5)  # type: ignore[no-untyped-call]
        layers.append(text.encode(x=start, y=y, text=alt.Text("text:N")))
        if flip:
            layers.append(marks(own).mark_point(**diamond).encode(x=beside, y=y))
    return alt.layer(*layers, *_base_label(panel, place), width=panel.width, height=panel.height)


def _base_label(panel: Panel, place: Mapping[str, Any]) -> list[Any]:
    """What the measure is without any change, above its line."""
    import altair as alt

    base, (low, high) = panel.rows[0]["base"], panel.domain
    if base is None:
        return []
    share = (base - low) / (high - low)
    align: Literal["left", "center", "right"] = "left" if share < 0.3 else "right" if share > 0.7 else "center"
    said = f"base {format_quantity(base, panel.rows[0]['measure_unit'])}"
    text = alt.Chart(inline([{"x": base, "y": TOP / 2 - 2, "text": said}]))
    return [text.mark_text(align=align, baseline="middle").encode(**place, text=alt.Text("text:N"))]


def _axis(panel: Panel) -> Any:
    """The scale of the values; the room for labels does not go below zero where no value does."""
    import altair as alt

    measure = panel.rows[0]["measure"]
    values = [row[end] for row in panel.rows for end in ("low", "base", "high") if row[end] is not None]
    shown = "datum.value >= 0" if all(value >= 0 for value in values) else "true"
    whole = measure in dictionary() and dictionary()[measure].dtype == "int64"
    steps: dict[str, Any] = {"tickMinStep": 1, "format": ",d"} if whole else {}
    if not values:
        return alt.Axis(title=axis_lines(measure, panel.width - panel.left), values=[])
    return alt.Axis(
        title=axis_lines(measure, panel.width - panel.left),
        tickCount=4 if panel.width < 480 else 7,
        labelExpr=f"{shown} ? datum.label : ''",
        gridColor=alt.condition(shown, alt.value(GRID), alt.value(PAPER)),
        tickOpacity=alt.condition(shown, alt.value(1), alt.value(0)),
        **steps,
    )
