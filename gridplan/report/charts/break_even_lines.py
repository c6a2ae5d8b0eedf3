"""Both bills of a break-even chart as lines through planned values, and the ranges shaded and hatched behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gridplan.report.charts.rows import Row, inline
from gridplan.report.charts.scales import Scale
from gridplan.report.charts.texts import short_labels
from gridplan.report.charts.theme import BLUE, GREEN, HATCHES, VERMILION

__all__ = ["Bills", "bands", "bill_lines", "has_jumps"]

_BESIDE = 1e-9
"""How near, as a ratio, two values lie between which the place of a jump is known."""


@dataclass(frozen=True)
class Bills:
    """Rows of a break-even chart in rising order of `value`, and what they are of."""

    rows: Sequence[Row]
    vary: str
    measure: str
    names: tuple[str, str]
    spoken: tuple[str, str]


def bands(bills: Bills, up: Scale, place: Any) -> list[Any]:
    """Shade where the second costs at most as much, hatches where a bill is null, from planned to planned value."""
    import altair as alt

    def state(row: Row) -> str | None:
        return "null" if row["cheaper"] is None else "second" if row["cheaper"] == bills.names[1] else None

    runs: dict[str, list[Row]] = {"second": [], "null": []}
    for kind, run in groupby(bills.rows, key=state):
        if kind is not None:
            listed = list(run)
            runs[kind].append({"x": listed[0]["value"], "x2": listed[-1]["value"], "y": up.low, "y2": up.high})
    looks: dict[str, dict[str, Any]] = {
        "second": {"fill": GREEN, "opacity": 0.16},
        "null": {"fill": f"url(#{HATCHES[0]})"},
    }
    return [
        alt.Chart(inline(own)).mark_rect(**looks[kind]).encode(**place, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"))
        for kind, own in runs.items()
        if own
    ]


def bill_lines(bills: Bills, place: Any, small: bool) -> list[Any]:
    """A line through the planned values of each bill where it is known between them, else points."""
    import altair as alt

    short = short_labels(bills.spoken, 30 if small else 44)
    kinds = [short[name] for name in bills.spoken]
    marks, lone = list[Row](), list[Row]()
    for side, kind in zip(("first", "second"), kinds, strict=True):
        for number, run in enumerate(_pieces(bills, side)):
            own = [{"x": row["value"], "y": row[f"cost_{side}"], "kind": kind, "part": number} for row in run]
            (marks if len(own) > 1 else lone).extend(own)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[VERMILION, BLUE]),
        legend=alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2.5, symbolSize=500),
    )
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=kinds, range=[[7, 4], [1, 0]]))
    line = alt.Chart(inline(marks)).mark_line(strokeWidth=2.2, strokeJoin="round")
    found = [line.encode(**place, color=colour, strokeDash=dash, detail=alt.Detail("part:N"))]
    for kind, shape, fill in zip(kinds, ("circle", "square"), (VERMILION, BLUE), strict=True):
        alone = [mark for mark in lone if mark["kind"] == kind]
        if alone:  # without a channel of their own: the legend is that of the lines
            point = alt.Chart(inline(alone)).mark_point(shape=shape, fill=fill, size=14, opacity=1, strokeWidth=0)
            found.append(point.encode(**place))
    return found


def has_jumps(bills: Bills) -> bool:
    """Whether nodes are added somewhere between two planned values, so that a line breaks there."""
    for side in ("first", "second"):
        known = [row[f"cost_{side}"] is not None for row in bills.rows]
        if len(_pieces(bills, side)) > sum(held for held, _ in groupby(known)):
            return True
    return False


def _pieces(bills: Bills, side: str) -> list[list[Row]]:
    """Values that a line joins: it breaks where a bill is null, and where nodes are added at a place nobody knows."""
    api = bills.names[side == "second"] == "api"
    found: list[list[Row]] = [[]]
    for row in bills.rows:
        last = found[-1][-1] if found[-1] else None
        if row[f"cost_{side}"] is None:
            found.append([])
            continue
        near = last is None or row["value"] - last["value"] <= _BESIDE * abs(row["value"])
        if not (near or api or last is None or row[f"nodes_{side}"] == last[f"nodes_{side}"]):
            found.append([])
        found[-1].append(row)
    return [run for run in found if run]
