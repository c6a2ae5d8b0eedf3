"""Memory of one GPU: weights, what the engine takes, and the KV pool that is left, as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem
from gridplan.quantities import format_label
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.figures import head_height
from gridplan.report.charts.memory_bars import MEASURED, OVER, UNEXPLAINED, Bar, bars_of
from gridplan.report.charts.memory_draw import draw
from gridplan.report.charts.rows import frame
from gridplan.report.charts.source import Source, axes_of_source
from gridplan.report.charts.texts import axis_title, place_text, share_text, short_labels

__all__ = ["MOST_BARS", "memory"]

MOST_BARS = 30
"""Bars of one chart (policy)."""

GIB = 2.0**30


def memory(source: Source, along: str | None = None, at: Mapping[str, str | float] | None = None) -> Chart:
    """The memory budget of one GPU as stacked bars, one for each label of an axis.

    Parameters
    ----------
    source
        A contract, a cube or the folder of one. A cube must hold the terms of the budget, and does not know how much
        memory a GPU has beyond what the engine may use.
    along
        The axis whose labels (at most 30) have a bar each; without it there is one bar.
    at
        Labels of all other axes that have several; the scenario is `nominal` unless it is given.

    Returns
    -------
    Chart
        Its data has a row per piece of a bar: its bytes, where it begins, the usable memory, what is missing where the
        terms exceed it, and why there is no plan.

    Raises
    ------
    ContractError
        For unknown axes and labels, for axes left open, for more than 30 bars, and for columns that a cube lacks.

    >>> import gridplan
    >>> grid = gridplan.load_grid("grids/lesson.yaml")
    >>> memory(grid, at={"instance": "aws-p4de"}).data.part.tolist()
    ['weights', 'workspace', 'KV pool', 'not for the engine']
    """
    axes = axes_of_source(source)
    if along is not None and len(axes.get(along, ())) > MOST_BARS:
        said = f"{along} has {len(axes[along]):,} labels, {MOST_BARS} bars are the most: choose another axis"
        raise ContractError([Problem(said, key="along")])
    bars, fixed = bars_of(source, along, at)
    said = _finding(bars)
    drawn = "memory of one GPU [GiB]" + ("" if along is None else f", by {axis_title(along)}")
    told = (drawn, *([f"at {place_text(fixed)}"] if fixed else []), *_notes(bars, isinstance(source, Grid)))
    return Chart(
        kind="memory",
        finding=said,
        notes=told,
        data=frame(_rows(bars, along)),
        alt=f"Stacked bars of {drawn}: weights, what the engine takes, KV pool. {said}",
        draw=lambda width: draw(bars, along, width, head_height(said, told, width)),
    )


def _rows(bars: Sequence[Bar], along: str | None) -> list[dict[str, Any]]:
    found = []
    for bar in bars:
        known = not math.isnan(bar.usable)
        end = {
            "usable_memory_bytes_per_gpu": bar.usable if known else None,
            "missing_bytes_per_gpu": bar.missing if bar.pieces else None,
            "infeasible_reason": bar.row["infeasible_reason"],
        }
        begin: dict[str, Any] = {} if along is None else {along: bar.label}
        for piece in bar.pieces:
            size = {"part": piece.name, "bytes_per_gpu": piece.high - piece.low, "begins_at_bytes": piece.low}
            found.append({**begin, **size, **end})
        if not bar.pieces:
            found.append({**begin, "part": None, "bytes_per_gpu": None, "begins_at_bytes": None, **end})
    return found


def _gib(value: float) -> str:
    return f"{value / GIB:,.2f} GiB"


def _name(bar: Bar) -> str:
    return "" if bar.label is None else short_labels([format_label(bar.label)], 34).popitem()[1]


def _finding(bars: Sequence[Bar]) -> str:
    """How much the pool takes and what it holds; of several bars the ends, and how many do not fit."""
    known = [bar for bar in bars if bar.pieces]
    if not known:
        reasons = dict.fromkeys(bar.row["infeasible_reason"] or "not known" for bar in bars)
        return f"Nothing is known of the memory here: {', '.join(reasons)}"
    if len(bars) == 1:
        return _one(bars[0])
    fit = [bar for bar in known if bar.pool > 0.0]
    over = [bar for bar in known if bar.missing > 0.0]
    said = []
    if fit:
        low, high = min(fit, key=lambda bar: bar.pool), max(fit, key=lambda bar: bar.pool)
        if low.pool == high.pool:
            said.append(f"The KV pool is {_gib(low.pool)} in {share_text(len(fit), len(bars))} bars")
        else:
            said.append(f"The KV pool is from {_gib(low.pool)} ({_name(low)}) to {_gib(high.pool)} ({_name(high)})")
    if over:
        most = max(over, key=lambda bar: bar.missing)
        lacks = f"{_name(most)} lacks {'most, ' if len(over) > 1 else ''}{_gib(most.missing)}"
        said.append(f"{share_text(len(over), len(bars))} do{'es' * (len(over) == 1)} not fit: {lacks}")
    if len(known) < len(bars):
        said.append(f"of {share_text(len(bars) - len(known), len(bars))} nothing is known")
    return "; ".join(said) or "No memory is left for a KV pool"


def _one(bar: Bar) -> str:
    if bar.missing > 0.0:
        taken = bar.usable + bar.missing
        return (
            f"No KV pool: weights and engine take {_gib(taken)} of {_gib(bar.usable)}, {_gib(bar.missing)} are missing"
        )
    whole = bar.usable if bar.total is None else bar.total
    of = "usable memory" if bar.total is None else ""
    share = f"{bar.pool / GIB:,.2f} of {_gib(whole)}{f' of {of}' if of else ''} ({bar.pool / whole:.0%})"
    many = (bar.row.get("gpus_per_replica") or 1) > 1
    holds = [
        f"{number:,} {what}"
        for name, what in (
            ("kv_pool_tokens", "tokens"),
            ("concurrency_memory_worst", "sequences of the longest length"),
        )
        if (number := bar.row.get(name)) is not None
    ]
    text = f": {', '.join(holds)}{' a replica' if many else ''}" if holds else ""
    measured = " as measured" if any(piece.name in (MEASURED, OVER) for piece in bar.pieces) else ""
    return f"The KV pool{measured} takes {share}{text}"


def _notes(bars: Sequence[Bar], whole: bool) -> list[str]:
    found = ["upright line: memory that the engine may use"]
    if not whole:
        found.append("a cube does not say what a GPU has beyond it")
    if any(bar.missing > 0.0 for bar in bars):
        found.append("hatched beyond it: what is missing")
    parts = {piece.name for bar in bars for piece in bar.pieces}
    if UNEXPLAINED in parts:
        found.append("not explained: what the terms leave and the measured pool does not have")
    if OVER in parts:
        found.append("more than is left: the measured pool is larger than what the terms leave")
    for bar in (bar for bar in bars if not bar.pieces):
        found.append(f"{_name(bar) or 'here'}: not known ({bar.row['infeasible_reason'] or 'no figures'})")
    return found
