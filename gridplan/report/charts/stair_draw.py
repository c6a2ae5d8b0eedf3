"""The picture of stairs: level lines with thin risers, points at what was planned, hatched strips where nothing is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gridplan.report.charts.chart import NARROW
from gridplan.report.charts.figures import at_text
from gridplan.report.charts.rows import inline
from gridplan.report.charts.stair_scales import STRIP, Picture, Scale, encodings, scales
from gridplan.report.charts.texts import short_labels
from gridplan.report.charts.theme import INK, MUTED, PAPER, hatch_names

__all__ = ["COUNTS", "draw"]

COUNTS = ("nodes", "replicas", "gpus")
"""Beginnings of measures that are counts: above their lines stands their value, above others the nodes."""

_SIGN = 6.3
"""Pixels of one sign of a number."""


def draw(picture: Picture, width: float, head: float) -> Any:
    """The Altair chart, without title; `head` are the pixels that the title will take."""
    import altair as alt

    height = 300.0 if width > NARROW else 280.0
    across, up = scales(picture, width, height)
    names = short_labels([stair.label for stair in picture.series], 34 if width > NARROW else 26)
    encode = encodings(picture, across, up, names, width > NARROW)
    layers = _lines(picture, encode, names)
    layers += _strips(picture, encode, names, up, across)
    layers += _own(picture, encode, up, across)
    texts = _counts(picture, across, up, names)
    if texts:
        base = alt.Chart(inline(texts)).encode(encode["x"], encode["y"], text=alt.Text("text:N"))
        layers.append(base.mark_text(dy=-7, fontSize=10, color=INK))
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    legend = 26 * (math.ceil(len(names) / (1 if width < 500 else 3)) if len(names) > 1 else 0)
    return alt.layer(*layers, width=width, height=height + 50 + head + legend, autosize=fit)


def _lines(picture: Picture, encode: Mapping[str, Any], names: Mapping[str, str]) -> list[Any]:
    """Level lines where a plan holds, risers where one step follows another, points at what was planned."""
    import altair as alt

    level: list[dict[str, Any]] = []
    risers: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    for stair in picture.series:
        name, last = names[stair.label], None
        for step in stair.steps if picture.level else ():
            value = step.figures[picture.measure]
            if step.why is None and step.high > step.low:
                level.append({"x": step.low, "x2": step.high, "y": value, "s": name})
            if picture.walked and last is not None and step.why is None and last.high == step.low:
                risers.append({"x": step.low, "y": last.figures[picture.measure], "y2": value, "s": name})
            last = step if step.why is None else None
        points += [{"x": plan.rate, "y": plan.figures[picture.measure], "s": name} for plan in stair.points]
    found: list[Any] = []
    if risers:
        base = alt.Chart(inline(risers)).mark_rule(strokeWidth=0.8, opacity=0.6)
        found.append(base.encode(encode["x"], encode["y"], y2=alt.Y2("y2:Q"), color=encode["colour"]))
    if level:
        base = alt.Chart(inline(level)).mark_rule(strokeWidth=2.6)
        found.append(
            base.encode(encode["x"], encode["y"], x2=alt.X2("x2:Q"), color=encode["colour"], strokeDash=encode["dash"])
        )
    if points:
        small = len(points) > 120
        base = alt.Chart(inline(points)).mark_point(filled=True, size=16 if small else 46, opacity=1)
        found.append(base.encode(encode["x"], encode["y"], color=encode["colour"], shape=encode["shape"]))
    return found


def _strips(
    picture: Picture, encode: Mapping[str, Any], names: Mapping[str, str], up: Scale, across: Scale
) -> list[Any]:
    """A hatched strip for each series over the rates where it has no plan, with the first reason."""
    import altair as alt

    reasons = list(dict.fromkeys(step.why for stair in picture.series for step in stair.steps if step.why))
    if not reasons:
        return []
    hatches = dict(zip(reasons, hatch_names(len(reasons)), strict=True))
    rows: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    floor = 1.0
    for stair in picture.series:
        held = [step for step in stair.steps if step.why is not None]
        for step in held:
            ends = {"y": up.back(floor), "y2": up.back(floor + STRIP - 3.0), "k": hatches[step.why or ""]}
            # A single label has no width: its edge gives it two pixels to each side.
            rows.append({"x": step.low, "x2": step.high, "thick": 4 if step.low == step.high else 0, **ends})
        if held:
            whose = f"{names[stair.label]}: " if len(names) > 1 else "no plan: "
            text = short_labels([whose + str(held[0].why)], int(across.room / 6.0) - 2).popitem()[1]
            # Long texts begin where there is room for them, not where the strip begins.
            left = min(across.at(held[0].low), max(across.room - 5.6 * len(text), 0.0))
            said.append({"x": across.back(left), "y": up.back(floor + (STRIP - 3.0) / 2), "text": text})
            floor += STRIP
    fill = alt.Fill("k:N", scale=None, legend=None)
    thin = alt.StrokeWidth("thick:Q", scale=None, legend=None)
    base = alt.Chart(inline(rows)).mark_rect(stroke=MUTED)
    found = [base.encode(encode["x"], encode["y"], x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), fill=fill, strokeWidth=thin)]
    for colour, edge in ((PAPER, 4), (INK, 0)):
        text_mark = alt.Chart(inline(said)).mark_text(
            align="left", dx=4, fontSize=10, color=colour, stroke=colour, strokeWidth=edge
        )
        found.append(text_mark.encode(encode["x"], encode["y"], text=alt.Text("text:N")))
    return found


def _own(picture: Picture, encode: Mapping[str, Any], up: Scale, across: Scale) -> list[Any]:
    """A vertical line at the rate that the contract states, or that is to be marked."""
    import altair as alt

    if picture.own is None or not picture.span[0] <= picture.own <= picture.span[1]:
        return []
    row = {"x": picture.own, "y": up.high, "text": f"{picture.own_name}: {at_text(picture.own, picture.x)}"}
    left = across.at(picture.own) > across.room / 2
    rule = alt.Chart(inline([row])).mark_rule(strokeDash=[3, 3], color=MUTED).encode(encode["x"])
    text = alt.Chart(inline([row])).mark_text(
        align="right" if left else "left", baseline="top", dx=-5 if left else 5, color=MUTED, fontSize=11
    )
    return [rule, text.encode(encode["x"], encode["y"], text=alt.Text("text:N"))]


def _counts(picture: Picture, across: Scale, up: Scale, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The number of nodes above each step that has room for it, clear of the others and of every line."""
    if not picture.level:
        return []
    is_count = picture.measure.startswith(COUNTS)
    wanted, lines = [], []
    for stair in picture.series:
        for step in (step for step in stair.steps if step.why is None):
            left, right = across.at(step.low), across.at(step.high)
            value = step.figures[picture.measure]
            level = up.at(float(value))
            lines.append((left, right, level, level))
            counted = value if is_count else step.figures.get("nodes")
            text = "" if counted is None else f"{counted:,.0f}"
            if text and right - left >= _SIGN * len(text) + 2:
                wanted.append((right - left, (left + right) / 2.0, level, text, value))
    if picture.own is not None:
        lines.append((across.at(picture.own), across.at(picture.own), 0.0, up.room))
    placed: list[tuple[float, float, float, float]] = []
    found: list[dict[str, Any]] = []
    for _, middle, level, text, value in sorted(wanted, key=lambda item: -item[0]):
        half = _SIGN * len(text) / 2 + 1
        box = (middle - half, middle + half, level + 2.0, level + 13.0)
        if level + 14.0 < up.room and not any(_meet(box, other) for other in [*placed, *lines]):
            placed.append(box)
            x = across.back(middle)
            found.append({"x": x, "y": value, "text": text})
    return found


def _meet(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] <= two[1] and two[0] <= one[1] and one[2] <= two[3] and two[2] <= one[3]
