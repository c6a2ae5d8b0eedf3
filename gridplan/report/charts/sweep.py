"""A load test against its limits: one panel per limit over the offered rate, the sustained rate λ* and its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gridplan.errors import ContractError, Problem
from gridplan.measured.sustained import PointVerdict, Slo, SweepResult
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.rows import frame
from gridplan.report.charts.sweep_panels import FAILS, HOLDS, UNKNOWN, Edge, Limit, Panel, Place, Sweep, drawn_panels
from gridplan.report.charts.texts import sentence, share_text
from gridplan.report.sweep_words import finding, interval_text, shown

__all__ = ["figure_name", "sweep"]

_FAR = 4.0
"""Times a limit beyond which a panel is cut off, so that the limit stays in sight (policy)."""

_LOOP = "closed loop"
_CLIENTS = "concurrency [requests in flight]"
_RATE = "offered rate [req/s]"


def sweep(result: SweepResult) -> Chart:
    """A judged load test: each limit's figure over the offered rate, the limit dashed, λ* and its interval marked.

    The line goes through the medians of the rates that are used, nowhere else. A load test without any offered rate
    (a closed loop) is drawn over its number of clients, without a rate λ*, which it cannot show.

    Parameters
    ----------
    result
        What `gridplan.measured.sweep_result` gives.

    Returns
    -------
    Chart
        Its data has a row per point and limit, points that are not used or drawn included: file, place, `loop`,
        `offered_rate_per_s`, `clients`, the limit's name, `value` and `limit_value` in `unit` (s, or 1 for goodput),
        whether this limit holds, the verdict of the point and why it is not used.

    Raises
    ------
    ContractError
        If no point has an offered rate or a number of clients: there is nothing to draw over.

    >>> from gridplan.measured import read_sweep, sweep_result
    >>> found = sweep(sweep_result(read_sweep("docs/lesson-sweep.csv"), "ttft_p95=1s,tpot_p95=25ms,e2e_p99=5s"))
    >>> found.finding
    '10 requests/s hold every limit; at 12 requests/s E2E p99, TTFT p95 and TPOT p95 break'
    """
    closed = not any(_offered(item) for item in result.points)
    drawn = [(item, at) for item in result.points if (at := _clients(item) if closed else _offered(item))]
    if not drawn:
        said = "no point has an offered rate or a number of clients: there is nothing to draw the figures over"
        raise ContractError([Problem(said, result.points[0].point.file)])
    picture = Sweep(
        title=_CLIENTS if closed else _RATE,
        rate=result.lambda_instance_per_s,
        interval=None if closed else result.interval_per_s,
        panels=tuple(_panel(result, number, drawn, closed) for number in range(len(result.slos))),
    )
    found = _finding(result, closed)
    names = ", ".join(figure_name(slo) for slo in result.slos)
    over = "clients in flight" if closed else "the offered rate"
    rows = [row for item in result.points for row in _rows(item)]
    return Chart(
        kind="sweep",
        finding=found,
        notes=tuple(_notes(result, picture, len(drawn), closed)),
        data=frame(rows),
        alt=f"{names} of a load test over {over}, each against its limit. {found}",
        draw=lambda width: drawn_panels(picture, width),
    )


def figure_name(slo: Slo) -> str:
    """What people call a figure.

    >>> figure_name(Slo("ttft", 95.0, 1.0)), figure_name(Slo("goodput", None, 0.9))
    ('TTFT p95', 'goodput')
    """
    figure, _, statistic = slo.name.partition("_")
    return f"{figure.upper()} {statistic}" if statistic else figure


def _offered(item: PointVerdict) -> float | None:
    """The offered rate of an open loop [req/s]; None where there is none."""
    rate = item.point.offered_rate_per_s
    return rate if item.point.loop == "open" and rate and math.isfinite(rate) else None


def _clients(item: PointVerdict) -> float | None:
    """The clients of a closed loop [requests in flight]; None where they are not stated."""
    limit = item.point.concurrency_limit
    return limit if item.point.loop == "closed" and limit and math.isfinite(limit) else None


def _kind(item: PointVerdict, closed: bool) -> str:
    """The verdict of a point; clients of a closed loop hold their limits or not, though no rate follows."""
    unused = item.unused and not (closed and item.unused == _LOOP)
    if unused or item.holds is None:
        return UNKNOWN
    return HOLDS if item.holds else FAILS


def _unit(slo: Slo) -> tuple[str, float]:
    """The unit of a panel, and what a second, or a share of 1, is in it."""
    if slo.figure == "goodput":
        return "%", 100.0
    return ("ms", 1000.0) if slo.limit < 1.0 else ("s", 1.0)


def _panel(result: SweepResult, number: int, drawn: list[tuple[PointVerdict, float]], closed: bool) -> Panel:
    """One limit: its points, those beyond the panel at its edge, and the line through the rates that are used."""
    slo = result.slos[number]
    unit, factor = _unit(slo)
    values = [(item, at, value) for item, at in drawn if (value := item.limits[number].value) is not None]
    most = max([1.15 * slo.limit, *(value for _, _, value in values)])
    high = factor * min(1.05 * most, _FAR * slo.limit) if slo.figure != "goodput" else 105.0
    places = tuple(Place(at, min(value * factor, high), _kind(item, closed)) for item, at, value in values)
    beyond = tuple(Edge(at, shown(slo, value)) for _, at, value in values if value * factor > high)
    at_least = " or more" if slo.figure == "goodput" else ""
    return Panel(
        title=f"{figure_name(slo)} [{unit}]",
        limit=Limit(slo.limit * factor, f"{shown(slo, slo.limit)}{at_least}"),
        high=high,
        places=places,
        beyond=tuple(dict.fromkeys(beyond)),
        line=() if closed else tuple(_line(result, number, factor)),
        most=max(at for _, at in drawn),
        missing="" if values else f"no point states {figure_name(slo)}",
    )


def _line(result: SweepResult, number: int, factor: float) -> Iterator[tuple[float, float, int]]:
    """Rate, value and the number of an unbroken run: a rate whose figure is not stated breaks the line."""
    run = 0
    for rate in result.rates:
        value = rate.limits[number].value
        if value is None:
            run += 1
        elif math.isfinite(rate.rate_per_s):
            yield rate.rate_per_s, value * factor, run


def _finding(result: SweepResult, closed: bool) -> str:
    """The sentence of the page, with names that people use; what clients in a closed loop held."""
    if closed:
        return _of_clients(result)
    said = finding(result)
    for slo in sorted(result.slos, key=lambda slo: -len(slo.name)):
        said = said.replace(slo.name, figure_name(slo))
    return sentence(said)


def _of_clients(result: SweepResult) -> str:
    held = sorted({at for item in result.points if _kind(item, True) == HOLDS and (at := _clients(item))})
    failed = sorted({at for item in result.points if _kind(item, True) == FAILS and (at := _clients(item))})
    below = [at for at in held if not failed or at < failed[0]]
    said = f"every limit holds up to {below[-1]:.6g} clients" if below else "no number of clients is known to hold"
    if not below and failed:
        said = f"{failed[0]:.6g} clients break a limit"
    elif failed:
        said += f", {failed[0]:.6g} break one"
    return sentence(f"{said}: a closed loop offers no rate, so it shows no λ*")


def _notes(result: SweepResult, picture: Sweep, drawn: int, closed: bool) -> Iterator[str]:
    line = ", the line through the medians of the rates that are used" if any(p.line for p in picture.panels) else ""
    yield f"limits dashed{line}"
    if not closed:
        yield f"interval of λ* (band): {interval_text(result.interval_per_s)}"
    if any(panel.beyond for panel in picture.panels):
        yield "points at the upper edge of a panel lie beyond it; their values are written where there is room"
    unused = Counter(item.unused for item in result.points if item.unused and not (closed and item.unused == _LOOP))
    if unused:
        why = ", ".join(f"{name} ({count})" for name, count in unused.most_common())
        yield f"{share_text(sum(unused.values()), len(result.points))} points are not used: {why}"
    if drawn < len(result.points):
        what = "number of clients" if closed else "offered rate"
        yield f"{share_text(len(result.points) - drawn, len(result.points))} points have no {what} and are not drawn"
    for severity in ("error", "warning"):
        names = list(dict.fromkeys(check.id for check in result.checks if check.severity == severity))
        if names:
            yield f"{severity}s of its checks: {', '.join(names)}"


def _rows(item: PointVerdict) -> Iterator[dict[str, Any]]:
    point = item.point
    for limit in item.limits:
        yield {
            "row": item.row + 1,
            "file": point.file,
            "place": point.place,
            "loop": point.loop,
            "offered_rate_per_s": point.offered_rate_per_s,
            "clients": point.concurrency_limit,
            "limit": limit.slo.name,
            "value": limit.value,
            "limit_value": limit.slo.limit,
            "unit": "1" if limit.slo.figure == "goodput" else "s",
            "limit_holds": limit.holds,
            "point_holds": item.holds,
            "unused": item.unused or None,
            "overloaded": ", ".join(item.overloaded) or None,
        }
