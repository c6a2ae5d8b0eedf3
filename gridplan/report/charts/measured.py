"""Predicted against measured: each figure of a load test beside what the contract says of one replica at that load."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem
from gridplan.measured.sustained import SweepResult
from gridplan.measured.sweep import SweepPoint
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.measured_panels import CLOSED, DOUBTED, MISSED, OPEN, Mark, Panel, drawn_panels
from gridplan.report.charts.rows import frame
from gridplan.report.charts.texts import place_text, sentence
from gridplan.report.measured_pairs import (
    COUNTED,
    NOT_COUNTED,
    NOT_MEASURED,
    NOT_PREDICTED,
    Figure,
    Pair,
    figures_of,
    pairs_of,
)
from gridplan.report.predicted import ReplicaAt, replica_at
from gridplan.report.sweep_facts import limits_of_grid

__all__ = ["measured"]

_TOLD = 3
"""Figures that the finding names one by one (policy); of the others it tells the range."""

_LOADS = 6
"""Loads that a note names one by one (policy)."""

_OTHER_TOKENS = 0.05
"""Difference of mean tokens from which the requests of a test are called others than the contract's (policy)."""


def measured(
    grid: Grid,
    result: SweepResult | Sequence[SweepPoint],
    at: Mapping[str, str | float] | None = None,
    figures: Sequence[str] | None = None,
) -> Chart:
    """Load tests of one replica against the contract: predicted over measured, one panel per figure.

    The prediction is that of `gridplan.report.predicted`: the contract's replica with the offered rate of the test in
    place of the rate at its planned point (spares, headroom and limits play no part), or, in a closed loop, with that
    many requests always in flight (means only). Arrivals are as the contract says (`arrival_scv`), requests as its
    classes are. Loads beyond the replica, and those at which a figure is not known well enough (`latency_flag`), are
    not predicted: they stand at the lower edge, in the data and in the notes, with the reason.

    Parameters
    ----------
    grid
        The contract.
    result
        Load points of one replica, or what `sweep_result` made of them.
    at
        Labels of the axes that the replica depends on; the scenario is `nominal` unless it is given.
    figures
        Names such as `ttft_p95` and `tpot_mean`; without them those of the limits (of the judged test, else of the
        contract), and every mean that is stated; of a latency without either, the percentile that most points state.

    Returns
    -------
    Chart
        Its data has a row per point and figure: `measured_s`, `predicted_s`, `error` (predicted over measured, less 1),
        whether the pair counts, and why not.

    Raises
    ------
    ContractError
        Without points, without any figure, for figures that no point states, and for axes left open.

    >>> import gridplan
    >>> from gridplan.measured import read_sweep
    >>> grid = gridplan.load_grid("grids/lesson.yaml")
    >>> chart = measured(grid, read_sweep("docs/lesson-sweep.csv"), {"instance": "fractional"}, ["tpot_p95"])
    >>> round(float(chart.data["predicted_s"][4]), 4), chart.data["state"][4]
    (0.0138, 'counted')
    """
    points = [item.point for item in result.points] if isinstance(result, SweepResult) else list(result)
    slos = result.slos if isinstance(result, SweepResult) else limits_of_grid(grid)
    compared = figures_of(points, slos, figures)
    if not points or not any(figure.of(point) is not None for figure in compared for point in points):
        raise ContractError([Problem("no point states a latency: there is nothing to compare", key="figures")])
    replica = replica_at(grid, at)
    pairs = pairs_of(grid, replica, points, compared)
    found = _finding(pairs, compared)
    panels = tuple(_panel(figure, pairs) for figure in compared if any(_drawn(pair, figure) for pair in pairs))
    names = ", ".join(panel.title for panel in panels)
    return Chart(
        kind="measured",
        finding=found,
        notes=tuple(_notes(pairs, compared, replica, points)),
        data=frame(map(_row, pairs)),
        alt=f"Scatter of predicted over measured {names}, with the diagonal on which they agree. {found}",
        draw=lambda width: drawn_panels(panels, width),
    )


def _row(pair: Pair) -> dict[str, Any]:
    point = pair.point
    return {
        "row": pair.row + 1,
        "file": point.file,
        "place": point.place,
        "loop": point.loop,
        "offered_rate_per_s": point.offered_rate_per_s,
        "clients": point.concurrency_limit,
        "figure": pair.figure.name,
        "measured_s": pair.measured_s,
        "predicted_s": pair.predicted_s,
        "error": pair.error,
        "state": pair.state,
        "reason": pair.reason,
    }


def _drawn(pair: Pair, figure: Figure) -> bool:
    return pair.figure == figure and pair.state != NOT_MEASURED and (pair.measured_s or 0.0) > 0.0


def _panel(figure: Figure, pairs: Sequence[Pair]) -> Panel:
    """The marks of one figure, in ms where all of them are below 1 s."""
    mine = [pair for pair in pairs if _drawn(pair, figure)]
    known = [value for pair in mine for value in (pair.measured_s, pair.predicted_s) if value is not None]
    unit, factor = ("ms", 1e3) if max(known) < 1.0 else ("s", 1.0)
    marks = tuple(
        Mark(
            x=factor * (pair.measured_s or 0.0),
            y=None if pair.predicted_s is None else factor * pair.predicted_s,
            kind=_kind(pair),
            label=_load(pair.point),
        )
        for pair in mine
    )
    return Panel(figure.words, unit, factor * min(known), factor * max(known), marks)


def _kind(pair: Pair) -> str:
    if pair.state == COUNTED:
        return CLOSED if pair.point.loop == "closed" else OPEN
    return MISSED if pair.state == NOT_PREDICTED else DOUBTED


def _load(point: SweepPoint) -> str:
    """The load of a point in few signs: its rate, or its clients with a c."""
    if point.loop == "closed":
        return "c?" if point.concurrency_limit is None else f"c{point.concurrency_limit:.6g}"
    return "?" if point.offered_rate_per_s is None else f"{point.offered_rate_per_s:.4g}"


def _finding(pairs: Sequence[Pair], figures: Sequence[Figure]) -> str:
    """How far the median prediction of each figure is off, and the range."""
    errors = {figure: _errors(pairs, figure) for figure in figures}
    known = [figure for figure in figures if errors[figure]]
    if not known:
        reasons = Counter(pair.reason for pair in pairs if pair.state in (NOT_PREDICTED, NOT_COUNTED))
        return sentence(f"no load can be compared: {', '.join(str(reason) for reason, _ in reasons.most_common(3))}")
    said: list[str] = []
    for figure in known[:_TOLD]:
        mine = errors[figure]
        word = "is predicted " if not said else ""
        span = f"{min(mine):+.0%} to {max(mine):+.0%}, " if len(mine) > 1 else ""
        loads = f"{len(mine)} load{'s' if len(mine) > 1 else ''}"
        said.append(f"{figure.words} {word}{_off(statistics.median(mine))} ({span}{loads})")
    if rest := [statistics.median(errors[figure]) for figure in known[_TOLD:]]:
        names = f"{len(rest)} more figures" if len(rest) > 1 else known[_TOLD].words
        said.append(f"{names} {min(rest):+.0%}" + (f" to {max(rest):+.0%}" if len(rest) > 1 else ""))
    several = any(len(mine) > 1 for mine in errors.values())
    return ("At the median " if several else "") + "; ".join(said)


def _errors(pairs: Sequence[Pair], figure: Figure) -> list[float]:
    return [pair.error for pair in pairs if pair.figure == figure and pair.state == COUNTED and pair.error is not None]


def _off(error: float) -> str:
    """How far off in words.

    >>> _off(-0.12), _off(0.004), _off(2.0)
    ('12% low', 'as measured', '3.0 times too high')
    """
    if abs(error) < 0.005:
        return "as measured"
    if error >= 1.0:
        return f"{1 + error:,.1f} times too high"
    return f"{abs(error):.0%} {'low' if error < 0 else 'high'}"


def _notes(
    pairs: Sequence[Pair], figures: Sequence[Figure], replica: ReplicaAt, points: Sequence[SweepPoint]
) -> Iterator[str]:
    labels = {name: label for name, label in replica.labels.items() if label != "nominal"}
    where = f", at {place_text(labels)}" if labels else ""
    closed = "; c16: 16 clients of a closed loop" if any(point.loop == "closed" for point in points) else ""
    yield f"one replica{where}; labels are offered rates [req/s]{closed}; above the diagonal it is predicted too high"
    if other := _other_requests(replica, points):
        yield other
    for state in (NOT_PREDICTED, NOT_COUNTED):
        found: dict[str, dict[str, None]] = {}
        for pair in (pair for pair in pairs if pair.state == state):
            found.setdefault(f"{pair.reason}", {})[f"{_load(pair.point)}"] = None
        for reason, loads in found.items():
            some = list(loads)[:_LOADS]
            more = f" and {len(loads) - _LOADS} more" if len(loads) > _LOADS else ""
            of = _named(pairs, figures, state, reason)
            yield f"{state}, {reason}: {of} at {', '.join(some)}{more}"
    if absent := [figure.words for figure in figures if all(p.measured_s is None for p in pairs if p.figure == figure)]:
        yield f"stated by no point: {', '.join(absent)}"


def _other_requests(replica: ReplicaAt, points: Sequence[SweepPoint]) -> str | None:
    """The mean tokens of the test and of the contract, where they differ."""
    said = []
    for word, own, name in (
        ("prompt", replica.prompt_tokens, "input_tokens_mean"),
        ("output", replica.output_tokens, "output_tokens_mean"),
    ):
        stated = [value for point in points if (value := getattr(point, name)) is not None]
        if any(abs(value - own) > _OTHER_TOKENS * own for value in stated):
            span = f"{min(stated):,.4g}" + (f" to {max(stated):,.4g}" if max(stated) > min(stated) else "")
            said.append(f"{span} {word} tokens on average ({own:,.4g} in the contract)")
    return f"other requests than the contract's: {', '.join(said)}" if said else None


def _named(pairs: Sequence[Pair], figures: Sequence[Figure], state: str, reason: str) -> str:
    """The figures of which this was said, or that it was said of all."""
    of = {pair.figure for pair in pairs if pair.state == state and pair.reason == reason}
    stated = {pair.figure for pair in pairs if pair.measured_s is not None}
    return "all figures" if of == stated else ", ".join(figure.words for figure in figures if figure in of)
