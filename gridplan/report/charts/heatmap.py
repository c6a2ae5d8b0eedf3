"""Heat map: a measure over two axes, coloured by what binds, hatched where there is no plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.dictionary import dictionary
from gridplan.errors import ContractError, Problem
from gridplan.quantities import format_label, format_quantity
from gridplan.report.charts.chart import NARROW, Chart
from gridplan.report.charts.figures import head_height
from gridplan.report.charts.rows import Row, cell_rows, frame, inline
from gridplan.report.charts.source import Source, plane
from gridplan.report.charts.texts import (
    CONSTRAINTS,
    LETTERS,
    axis_lines,
    axis_title,
    place_text,
    sentence,
    share_text,
    short_labels,
)
from gridplan.report.charts.theme import HATCHES, binding_colours, hatch_names

__all__ = ["MOST_CELLS", "heatmap"]

MOST_CELLS = 4000
"""Cells of one map (policy): more than a screen has room for are no map."""

_LABELLED = 260
"""Cells up to which each one bears its number (policy)."""

_FAINT, _STRONG = 0.16, 0.58
"""Opacity of the least and the largest value: ink stays legible on both, on white and on black."""


def heatmap(
    source: Source, x: str, y: str, measure: str = "replicas", at: Mapping[str, str | float] | None = None
) -> Chart:
    """A measure over two axes: colour by binding constraint, stronger where it is larger, hatches where no plan is.

    Parameters
    ----------
    source
        A contract, a cube or the folder of one.
    x, y
        Axes: `x` across, `y` down (numbers upwards).
    measure
        A number of every cell, such as `replicas` or `usd_per_mtok_output`.
    at
        Labels of all other axes that have several; the scenario is `nominal` unless it is given.

    Returns
    -------
    Chart
        Its data has a row per cell: both labels, the measure in its unit, `binding_constraint`, `infeasible_reason`.

    Raises
    ------
    ContractError
        For unknown measures, axes and labels, for axes left open, and for more than 4,000 cells.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/quickstart.yaml")
    >>> at = {"gpu": "h100-sxm", "kv_dtype": "fp8", "arrival_rate": 10, "rho_target": 0.7}
    >>> heatmap(grid, "context_tokens", "model", "replicas", at).data.shape
    (60, 5)
    """
    if x == y:
        raise ContractError([Problem(f"{x} cannot be both axes of a map", key="y")])
    row = dictionary().get(measure)
    if row is not None and row.is_label:
        raise ContractError([Problem(f"{measure} is a label: a map shows a number", key="measure")])
    names = (measure, "binding_constraint", "infeasible_reason")
    cube, fixed = plane(source, names, (x, y), at, asked_as={x: "x", y: "y"})
    if (cells := cube.sizes[x] * cube.sizes[y]) > MOST_CELLS:
        said = f"{cells:,} cells are too many for a map, {MOST_CELLS:,} are the most: choose other axes"
        raise ContractError([Problem(said, key="x")])
    rows = cell_rows(cube, (y, x), names)
    found = _finding(rows, x, y, measure)
    drawn = f"{axis_title(measure)}, over {axis_title(x)} and {axis_title(y)}"
    notes = (drawn, *([f"at {place_text(fixed)}"] if fixed else []))
    return Chart(
        kind="heatmap",
        finding=found,
        notes=notes,
        data=frame(rows),
        alt=f"Heat map of {drawn}. {found}",
        draw=lambda width: _draw(rows, x, y, measure, notes, width),
    )


def _finding(rows: Sequence[Row], x: str, y: str, measure: str) -> str:
    """What binds most, the ends of the measure and where they are, and what has no plan."""
    feasible = [row for row in rows if row["infeasible_reason"] is None]
    reasons = Counter(row["infeasible_reason"] for row in rows if row["infeasible_reason"] is not None)
    if not feasible:
        return f"No cell has a plan: {_most(reasons)}"
    binds = Counter(row["binding_constraint"] for row in feasible if row["binding_constraint"] is not None)
    said = []
    if binds:
        label, count = binds.most_common(1)[0]
        said.append(f"{CONSTRAINTS.get(label, label)} binds in {share_text(count, len(feasible))} feasible cells")
    known = [row for row in feasible if row[measure] is not None]
    said.append(_ends(known, x, y, measure) if known else f"{measure} has no value in any of them")
    if reasons:
        said.append(f"{share_text(len(rows) - len(feasible), len(rows))} cells have no plan ({_most(reasons)})")
    return sentence("; ".join(said))


def _ends(known: Sequence[Row], x: str, y: str, measure: str) -> str:
    unit = dictionary()[measure].unit if measure in dictionary() else ""
    ends = [choose(known, key=lambda row: row[measure]) for choose in (min, max)]
    if ends[0][measure] == ends[1][measure]:
        return f"{measure} is {format_quantity(ends[0][measure], unit)} in all of them"
    places = [short_labels(format_label(row[name]) for name in (x, y)) for row in ends]
    texts = [
        f"{format_quantity(row[measure], unit)} ({', '.join(place.values())})"
        for row, place in zip(ends, places, strict=True)
    ]
    return f"{measure} from {texts[0]} to {texts[1]}"


def _most(reasons: Counter[str]) -> str:
    label, count = reasons.most_common(1)[0]
    return label if len(reasons) == 1 else f"{label} in {count:,}, {len(reasons) - 1} more"


def _draw(rows: Sequence[Row], x: str, y: str, measure: str, notes: Sequence[str], width: float) -> Any:
    import altair as alt

    labels = {name: list(dict.fromkeys(row[name] for row in rows)) for name in (x, y)}
    if not isinstance(labels[y][0], str):
        labels[y].sort(reverse=True)
    texts = {name: short_labels(map(format_label, own), 16 if width <= NARROW else 28) for name, own in labels.items()}
    orders = {name: [texts[name][format_label(label)] for label in own] for name, own in labels.items()}
    legend = _legend(rows, measure)
    marks = [
        {
            **{"x": texts[x][format_label(row[x])], "y": texts[y][format_label(row[y])]},
            **{"kind": kind, "weight": weight, "said": _figure(row[measure])},
            "letter": LETTERS.get(row["binding_constraint"] or "", ""),
        }
        for row, kind, weight in zip(rows, _kinds(rows, measure, legend), _weights(rows, measure), strict=True)
    ]
    height = max(22.0, min(40.0, 460.0 / len(orders[y]))) * len(orders[y])
    slanted = len(orders[x]) > 8 or width <= NARROW
    axes = {
        "x": alt.Axis(title=axis_lines(x, width - 150), labelAngle=-60 if slanted else 0),
        "y": alt.Axis(title=axis_lines(y, height)),
    }
    base = alt.Chart(inline(marks)).encode(
        x=alt.X("x:N", sort=orders[x], axis=axes["x"], scale=alt.Scale(paddingInner=0.04, paddingOuter=0.02)),
        y=alt.Y("y:N", sort=orders[y], axis=axes["y"], scale=alt.Scale(paddingInner=0.06)),
    )
    fill = alt.Fill(
        "kind:N",
        scale=alt.Scale(domain=list(legend), range=list(legend.values())),
        legend=alt.Legend(title=None, symbolType="square", symbolOpacity=0.75, symbolStrokeWidth=0),
    )
    weight = alt.FillOpacity("weight:Q", scale=None, legend=None)
    layers: list[Any] = [base.mark_rect().encode(fill=fill, fillOpacity=weight)]
    room = (width - 150) / len(orders[x])
    if len(marks) <= _LABELLED and room >= 7 * max(len(str(mark["said"])) for mark in marks):
        layers.append(base.mark_text(baseline="middle").encode(text=alt.Text("said:N")))
        widest = max(len(str(mark["said"])) for mark in marks)
        if len({row["binding_constraint"] for row in rows} - {None}) > 1 and room >= 7 * widest + 26:
            beside = base.mark_text(align="left", baseline="middle", dx=3.6 * widest + 5, dy=1)
            layers.append(beside.encode(text=alt.Text("letter:N"), size=alt.SizeValue(9)))
    # Vega gives the title its room from the whole height.
    head = head_height(_finding(rows, x, y, measure), notes, width)
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    return alt.layer(*layers, width=width, height=height + 110 + head, autosize=fit)


def _legend(rows: Sequence[Row], measure: str) -> dict[str, str]:
    """Colours of the constraints that bind here, then hatches of the reasons, most frequent first."""
    bound = {row["binding_constraint"] for row in rows}
    found = [label for label in CONSTRAINTS if label in bound]
    names = [_binds(label) for label in found]
    legend = dict(zip(names, binding_colours(found), strict=True))
    reasons = Counter(row["infeasible_reason"] for row in rows if row["infeasible_reason"] is not None)
    shown = [f"no plan: {label}" for label, _ in reasons.most_common()]
    if any(row["infeasible_reason"] is None and row[measure] is None for row in rows):
        shown.append(f"{measure} null")
    if len(shown) > len(HATCHES):
        shown = [*shown[: len(HATCHES) - 1], _OTHERS]
    return legend | dict(zip(shown, hatch_names(len(shown)), strict=True))


def _binds(label: str) -> str:
    return f"binds: {CONSTRAINTS[label]} ({LETTERS[label]})"


_OTHERS = "no plan: other reasons"


def _kinds(rows: Sequence[Row], measure: str, legend: Mapping[str, str]) -> list[str]:
    """The line of the legend that each cell belongs to."""
    found = []
    for row in rows:
        if row["infeasible_reason"] is not None:
            name = f"no plan: {row['infeasible_reason']}"
        elif row[measure] is None or row["binding_constraint"] not in CONSTRAINTS:
            name = f"{measure} null"
        else:
            name = _binds(row["binding_constraint"])
        found.append(name if name in legend else _OTHERS)
    return found


def _weights(rows: Sequence[Row], measure: str) -> list[float]:
    """Opacity by value: on a logarithmic scale where values go over more than a factor of ten."""
    known = [row[measure] for row in rows if row[measure] is not None]
    if not known:
        return [1.0] * len(rows)
    low, high = min(known), max(known)
    scale = math.log if low > 0 and high / low > 10 else float
    span = scale(high) - scale(low)

    def weight(value: float | None) -> float:
        if value is None:
            return 1.0
        share = (scale(value) - scale(low)) / span if span else 0.0
        return round(_FAINT + (_STRONG - _FAINT) * share, 4)

    return [weight(row[measure]) for row in rows]


def _figure(value: float | None) -> str:
    """The number of a cell in few signs."""
    if value is None:
        return ""
    for scale, letter in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= scale:
            return f"{value / (1e3 if letter == 'k' else scale):,.3g}{letter}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"
