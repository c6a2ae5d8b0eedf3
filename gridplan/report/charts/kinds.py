"""Points that tell their kind by shape, fill and stroke, one legend for all three."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gridplan.report.charts.rows import Row, inline

__all__ = ["Looks", "kind_points"]

Looks = Mapping[str, tuple[str, str, str]]
"""Shape, fill and stroke of each kind."""


def kind_points(
    rows: Iterable[Row], x: Any, y: Any, kinds: Sequence[str], looks: Looks, legend: Any, *, size: float, stroke: float
) -> Any:
    """A point for each row of `x`, `y` and `kind`, drawn as its kind looks, of this size and width of stroke [pixels].

    `kinds` are those of the whole chart, so that all its panels share the legend.
    """
    import altair as alt

    def scale(part: int) -> Any:
        return alt.Scale(domain=list(kinds), range=[looks[kind][part] for kind in kinds])

    return (
        alt.Chart(inline(rows))
        .mark_point(size=size, strokeWidth=stroke, opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("kind:N", scale=scale(0), legend=legend),
            fill=alt.Fill("kind:N", scale=scale(1), legend=legend),
            stroke=alt.Stroke("kind:N", scale=scale(2), legend=legend),
        )
    )
