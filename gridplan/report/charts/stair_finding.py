"""What a stair says: what a rate needs and when the next node is due, or which series costs least over which rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from gridplan.report.charts.figures import at_text, figure_text
from gridplan.report.charts.stair_contract import RATE, of_nodes
from gridplan.report.charts.stair_scales import Picture
from gridplan.report.charts.stair_walk import Stair, Step
from gridplan.report.charts.texts import sentence, short_labels

__all__ = ["finding"]

_NAMED = 3
"""Ranges that a title has room for."""

_LABEL = 30


def finding(picture: Picture) -> str:
    """The sentence above the chart, from its numbers."""
    series, measure, x, walks = picture.series, picture.measure, picture.x, picture.walked
    planned = [stair for stair in series if any(step.why is None for step in stair.steps)]
    if not planned:
        reasons = dict.fromkeys(step.why for stair in series for step in stair.steps if step.why)
        ends = " to ".join(at_text(end, x) for end in dict.fromkeys(picture.span))
        return f"No plan to draw at {ends}: {', '.join(list(reasons)[:_NAMED])}"
    names = short_labels([stair.label for stair in series], _LABEL)
    if not picture.level:
        return _ends(planned, measure, x, names, walks)
    if len(planned) > 1 and (of_nodes(measure) or measure.startswith(("replicas", "gpus"))):
        return _least(planned, measure, x, picture.span, names, walks)
    return _climb(planned[0], measure, x, picture.own, names, walks)


def _with_nodes(step: Step, measure: str) -> str:
    nodes = step.figures.get("nodes")
    text = figure_text(step.figures[measure], measure)
    return text if nodes is None or measure == "nodes" else f"{figure_text(nodes, 'nodes')} and {text}"


def _climb(stair: Stair, measure: str, x: str, own: float | None, names: dict[str, str], walks: bool) -> str:
    """What the own rate needs and when more is due; without an own rate both ends of the stair."""
    steps = [step for step in stair.steps if step.why is None]
    whose = f" ({names[stair.label]})" if stair.label else ""
    here = next((step for step in steps if own is not None and step.low < own <= step.high), None)
    if own is not None and here is not None:
        after = next((step for step in steps if step.low == here.high), None)
        noun = "node" if of_nodes(measure) and here.figures.get("nodes") is not None else "replica"
        due = (
            f"the next {noun} is due beyond {at_text(here.high, x)}" if after else "no other step follows in the range"
        )
        return f"{at_text(own, x)} needs {_with_nodes(here, measure)}; {due}{whose}"
    lost = next((step for step in stair.steps if own is not None and step.why and step.low < own <= step.high), None)
    if own is not None and lost is not None and walks:
        known = f"; up to {at_text(steps[-1].high, x)} there is one, {_with_nodes(steps[-1], measure)}"
        return f"{at_text(own, x)} has no plan ({lost.why}){known}{whose}"
    first, last = steps[0], steps[-1]
    ends = f"from {_with_nodes(first, measure)} at {at_text(first.low, x)} to {_with_nodes(last, measure)}"
    where = f" at {at_text(last.high, x)}{whose}"
    if not walks:
        return sentence(f"{measure} {ends}{where}")
    rises = len(steps) - 1
    if not rises:
        ends = f"{at_text(first.low, x)} to {at_text(last.high, x)}"
        return f"{_with_nodes(first, measure)} at every rate from {ends}{whose}"
    return f"{rises} step{'s' * (rises > 1)} {ends}{where}; the first beyond {at_text(first.high, x)}"


def _ends(series: Sequence[Stair], measure: str, x: str, names: dict[str, str], walks: bool) -> str:
    """The least and the largest of the points, and where they are."""
    points = [(plan.figures[measure], plan.rate, stair.label) for stair in series for plan in stair.points]

    def text(point: tuple[float, float, str]) -> str:
        value, rate, label = point
        whose = f"{names[label]} " if label else ""
        return f"{figure_text(value, measure)} ({whose}at {at_text(rate, x)})"

    low, high = min(points, key=lambda p: p[0]), max(points, key=lambda p: p[0])
    if low[0] == high[0]:
        return f"{sentence(measure)} is {figure_text(low[0], measure)} at all {len(points):,} points"
    of = "" if walks else f" over {len(points):,} points"
    return sentence(f"{measure} from {text(low)} to {text(high)}{of}")


def _least(
    series: Sequence[Stair], measure: str, x: str, span: tuple[float, float], names: dict[str, str], walks: bool
) -> str:
    """Over which rates which series is least: of a contract everywhere, of a cube at its labels."""
    if walks:
        reach = min(span[1], *(stair.reach for stair in series))
        edges = {end for stair in series for step in stair.steps for end in (step.low, step.high) if end <= reach}
        cuts = sorted(edges | {span[0], reach})
        ranges = [(low, high, _winner(series, (low + high) / 2.0, measure)) for low, high in pairwise(cuts)]
    else:
        rates = sorted({step.low for stair in series for step in stair.steps})
        ranges = [(rate, rate, _winner(series, rate, measure)) for rate in rates]
    runs: list[tuple[float, float, tuple[str, ...]]] = []
    for low, high, who in ranges:
        if runs and runs[-1][2] == who:
            runs[-1] = (runs[-1][0], high, who)
        else:
            runs.append((low, high, who))
    return _said(runs, ranges, measure, x, names, walks)


def _winner(series: Sequence[Stair], rate: float, measure: str) -> tuple[str, ...]:
    """The series that are least at a rate; none where none has a plan."""
    found = []
    for stair in series:
        step = next((s for s in stair.steps if s.why is None and s.low <= rate <= s.high), None)
        if step is not None:
            found.append((float(step.figures[measure]), stair.label))
    least = min((value for value, _ in found), default=math.nan)
    return tuple(label for value, label in found if math.isclose(value, least, rel_tol=1e-9))


def _said(
    runs: Sequence[tuple[float, float, tuple[str, ...]]],
    ranges: Sequence[tuple[float, float, tuple[str, ...]]],
    measure: str,
    x: str,
    names: dict[str, str],
    walks: bool,
) -> str:
    def who(labels: tuple[str, ...]) -> str:
        return " and ".join(names[label] for label in labels) + (" alike" if len(labels) > 1 else "")

    counted = not measure.startswith("usd")
    what = f"Fewest {measure.replace('_', ' ')} with" if counted else f"{measure} is least with"
    known = [run for run in runs if run[2]]
    if len(known) == 1:
        low, high, labels = known[0]
        return f"{what} {who(labels)} at every rate from {at_text(low, x)} to {at_text(high, x)}".replace(
            "every rate", "every rate" if x == RATE else "every label"
        )
    if not walks:
        counts: dict[tuple[str, ...], int] = {}
        for *_, labels in ranges:
            counts[labels] = counts.get(labels, 0) + bool(labels)
        told = sorted(((n, labels) for labels, n in counts.items() if labels), key=lambda item: -item[0])[:_NAMED]
        return f"{what} " + ", ".join(f"{who(labels)} at {n} of {len(ranges)} labels" for n, labels in told)
    if len(known) <= _NAMED:
        first, *rest = known
        begin = f"{what} {who(first[2])} up to {at_text(first[1], x)}"
        return ", ".join([begin, *(f"{who(labels)} up to {at_text(high, x)}" for _, high, labels in rest)])
    return _changes(known, what, who, x)


def _changes(
    known: Sequence[tuple[float, float, tuple[str, ...]]], what: str, who: Callable[[tuple[str, ...]], str], x: str
) -> str:
    """Many changes: the first and the last range, how often it changes, and over how much of the range each leads."""
    whole = sum(high - low for low, high, _ in known)
    shares: dict[tuple[str, ...], float] = {}
    for low, high, labels in known:
        shares[labels] = shares.get(labels, 0.0) + (high - low) / whole
    most = max(shares, key=lambda labels: shares[labels])
    first, last = known[0], known[-1]
    return (
        f"{what} {who(first[2])} up to {at_text(first[1], x)} and {who(last[2])} from {at_text(last[0], x)} to "
        f"{at_text(last[1], x)}; between, it changes {len(known) - 1} times; {who(most)} leads over {shares[most]:.0%} "
        "of the rates"
    )
