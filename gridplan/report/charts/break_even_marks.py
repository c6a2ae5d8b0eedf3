"""Marks of a break-even chart: two lines through planned values, crossings with labels, and the crossings enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from gridplan.quantities import format_quantity
from gridplan.report.charts.break_even_lines import Bills, bands, bill_lines
from gridplan.report.charts.rows import Row, inline
from gridplan.report.charts.scales import Scale, apart, scale_of
from gridplan.report.charts.texts import axis_lines
from gridplan.report.charts.theme import INK, MUTED, PAPER

__all__ = ["draw_bills"]

_CROWDED = 0.4
"""Share of the width below which several crossings are enlarged in a panel of their own (policy)."""

_NEIGHBOURS = 4
"""Values at least that are shown beyond the first and the last crossing (policy)."""

_STEP, _LETTER, _MARGIN, _FREE = 15, 6.5, 78, 22
"""Pixels between two upright labels, of a letter, left of the plot, and above the lines where no label stands."""


def draw_bills(bills: Bills, width: float) -> Any:
    """The whole range, and below it the part with the crossings where they are crowded."""
    import altair as alt

    whole = scale_of([row["value"] for row in bills.rows], width - _MARGIN)
    parts = _crowded(bills, whole)
    if not parts:
        return _Panel(bills, whole, width).drawn(_labelled(bills, whole.pixels))
    near = scale_of([row["value"] for row in parts], whole.pixels)
    upper = _Panel(bills, whole, width).drawn([], near)
    lower = replace(bills, rows=parts)
    return alt.vconcat(upper, _Panel(lower, near, width).drawn(_labelled(lower, near.pixels)), spacing=16)


def _crowded(bills: Bills, whole: Scale) -> list[Row]:
    """The rows about the crossings, if these are several and crowded in the whole."""
    places = [whole.share(mark["x"]) for mark in _crossings(bills)]
    if len(places) < 2 or max(places) - min(places) > _CROWDED:
        return []
    room = 0.2 * (max(places) - min(places))
    marked = [at for at, row in enumerate(bills.rows) if row["crossing"] is not None]
    shares = [whole.share(row["value"]) for row in bills.rows]
    inside = [at for at, share in enumerate(shares) if min(places) - room <= share <= max(places) + room]
    low, high = min(inside[0], marked[0] - _NEIGHBOURS), max(inside[-1], marked[-1] + _NEIGHBOURS)
    return list(bills.rows[max(low, 0) : high + 1])


def _crossings(bills: Bills) -> list[Row]:
    """One mark per crossing: at the bill that changes least there, the one that is no edge of a stair."""
    sides = sorted((row for row in bills.rows if row["crossing"] is not None), key=lambda row: row["crossing"])
    found: list[Row] = []
    for _, pair in groupby(sides, key=lambda row: row["crossing"]):
        below, above = sorted(pair, key=lambda row: row["value"])
        bills_of = [(below[f"cost_{side}"], above[f"cost_{side}"]) for side in ("first", "second")]
        low, high = min(bills_of, key=lambda side: abs(side[1] - side[0]))
        text = format_quantity(above["value"], above["unit"])
        found.append({"x": above["value"], "y": (low + high) / 2, "text": text})
    return found


def _labelled(bills: Bills, pixels: float) -> list[Row]:
    """The crossings that bear their value: of more than have room the first and the last."""
    found, most = _crossings(bills), max(2, int(pixels / _STEP))
    return found if len(found) <= most else [*found[: (most + 1) // 2], *found[-(most // 2) :]]


@dataclass(frozen=True)
class _Panel:
    """Bills over a range of the input."""

    bills: Bills
    across: Scale
    width: float

    def drawn(self, labelled: Sequence[Row], enlarged: Scale | None = None) -> Any:
        """The panel; `labelled` are the crossings that bear their value, `enlarged` is what is shown below."""
        import altair as alt

        crossings = _crossings(self.bills)
        free = 16 + _LETTER * max((len(mark["text"]) for mark in labelled), default=0) if labelled else _FREE
        plot = 280 if self.width >= 500 else 240
        known = [row[name] for row in self.bills.rows for name in ("cost_first", "cost_second")]
        up = _upwards([value for value in known if value is not None], plot)
        top = replace(up, high=up.value(1.0 + free / plot), pixels=plot + free)
        missing = len(crossings) - len(labelled) if labelled else 0
        beside = [f"{len(labelled)} of {len(crossings)} crossings are labelled"] if missing else []
        place = {"x": self._x(beside), "y": self._y(top, up)}
        layers = [*bands(self.bills, up, place), *bill_lines(self.bills, place, self.width < 500)]
        if labelled:
            layers += _labels(labelled, self.across, top, free, place)
        if enlarged is not None:
            layers += _bracket(enlarged, self.across, top, up, place)
        look: dict[str, Any] = {
            "shape": "diamond",
            "filled": True,
            "fill": PAPER,
            "stroke": INK,
            "strokeWidth": 1.4,
            "size": 70,
        }
        layers.append(alt.Chart(inline(crossings)).mark_point(**look, opacity=1).encode(**place))
        return alt.layer(*layers, width=self.across.pixels, height=top.pixels)

    def _x(self, beside: Sequence[str]) -> Any:
        import altair as alt

        title = [*axis_lines(self.bills.vary, self.across.pixels), *beside]
        axis: dict[str, Any] = {"title": title, "grid": False, "format": ",.6~g"}
        ticks = self.across.ticks(46, self.across.high)
        axis |= {"tickCount": 4 if self.width < 500 else 8} if ticks is None else {"values": ticks}
        return alt.X("x:Q", scale=_alt_scale(self.across), axis=alt.Axis(**axis))

    def _y(self, top: Scale, up: Scale) -> Any:
        import altair as alt

        shown = f"datum.value <= {up.high!r}"  # above it stand labels
        axis: dict[str, Any] = {
            **{"title": axis_lines(self.bills.measure, top.pixels), "format": "~s", "minExtent": 44, "maxExtent": 44},
            "labelExpr": f"datum.value == 0 ? '0' : {shown} ? datum.label : ''",
            "gridOpacity": alt.condition(shown, alt.value(1), alt.value(0)),
            "tickOpacity": alt.condition(shown, alt.value(1), alt.value(0)),
        }
        ticks = up.ticks(24, up.high)
        axis |= {"tickCount": 6} if ticks is None else {"values": ticks}
        return alt.Y("y:Q", scale=_alt_scale(top), axis=alt.Axis(**axis))


def _alt_scale(scale: Scale) -> Any:
    import altair as alt

    kind: Any = scale.type
    return alt.Scale(type=kind, domain=[scale.low, scale.high], nice=False, zero=False)


def _upwards(known: Sequence[float], pixels: float) -> Scale:
    """The scale of the bills: from zero where that takes no more than a third of it."""
    found = scale_of(known or [0.0, 1.0], pixels)
    if not found.log and 0 <= found.low < 0.35 * found.high:
        return replace(found, low=0.0)
    return replace(found, low=found.value(-0.05))


def _labels(labelled: Sequence[Row], across: Scale, top: Scale, free: float, place: Any) -> list[Any]:
    """The value of each crossing, upright above the lines and led to it."""
    import altair as alt

    bottom = top.value(1.0 - (free - 6) / top.pixels)
    wanted = [across.share(mark["x"]) * across.pixels for mark in labelled]
    marks = [
        {"x": across.value(pixel / across.pixels), "y": bottom, "x2": mark["x"], "y2": mark["y"], "text": mark["text"]}
        for mark, pixel in zip(labelled, apart(wanted, _STEP, across.pixels), strict=True)
    ]
    base = alt.Chart(inline(marks))
    return [
        base.mark_rule(color=MUTED, strokeWidth=1).encode(**place, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")),
        base.mark_text(angle=270, align="left", baseline="middle", dx=3).encode(**place, text=alt.Text("text:N")),
    ]


def _bracket(near: Scale, across: Scale, top: Scale, up: Scale, place: Any) -> list[Any]:
    """What of the whole range is enlarged below."""
    import altair as alt

    rules = alt.Chart(inline([{"x": end, "y": up.low, "y2": top.high} for end in (near.low, near.high)]))
    left = across.share(near.high) > 0.6
    said = {"x": near.low if left else near.high, "y": top.value(1.0 - 8 / top.pixels), "text": "enlarged below"}
    text = alt.Chart(inline([said])).mark_text(
        align="right" if left else "left", baseline="middle", dx=-6 if left else 6
    )
    return [
        rules.mark_rule(color=MUTED, strokeDash=[2, 3]).encode(**place, y2=alt.Y2("y2:Q")),
        text.encode(**place, text=alt.Text("text:N")),
    ]
