"""A judged sweep as notebooks show it: the rate, every load point against the limits, the findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from gridplan.markup import columns, element, number, page, section, table
from gridplan.quantities import format_quantity

if TYPE_CHECKING:
    from gridplan.measured.sustained.check import SweepCheck
    from gridplan.measured.sustained.interval import Interval
    from gridplan.measured.sustained.result import SweepResult
    from gridplan.measured.sustained.slo import Slo
    from gridplan.measured.sustained.verdict import PointVerdict

__all__ = ["sweep_html"]


def sweep_html(result: SweepResult) -> str:
    """The page; rates and latencies have all their digits as the values of their elements."""
    limits = [f"{slo}" for slo in result.slos]
    heads = ("row", "offered [req/s]", "completed [req/s]", *limits, "margin", "holds")
    order = sorted(result.points, key=lambda item: (bool(item.unused), item.point.offered_rate_per_s or 0.0, item.row))
    checks = table(("severity", "finding", "what it says", "rows"), map(_check, result.checks))
    return page(
        "The rate of one replica, by a load test",
        columns(_found(result)),
        table(heads, map(_point, order), numeric=heads[1:-1]),
        section(f"Findings of the review ({len(result.checks)})", checks) if result.checks else "",
    )


def _found(result: SweepResult) -> Iterator[tuple[str, object]]:
    rate = result.lambda_instance_per_s
    yield "last measured rate that holds every limit", "none" if rate is None else _rate(rate)
    if result.binding is not None:
        yield "binds there", result.binding
    if result.breaks_first:
        yield "breaks at the next rate", ", ".join(result.breaks_first)
    yield "neighbours", _interval(result.bracket_per_s)
    yield "interval beyond chance", _interval(result.interval_per_s)
    if result.repeats_per_s:
        yield "rates of the repeats [req/s]", ", ".join(f"{one:.4g}" for one in result.repeats_per_s)
    if result.goodput is not None:
        yield "within the load generator's own limits", number(f"{result.goodput:.1%}", result.goodput)
    if result.interpolated_per_s is not None:
        yield "on a line between the neighbours, not measured", _rate(result.interpolated_per_s)


def _rate(rate: float) -> Markup:
    return number(f"{rate:.4g} req/s", rate)


def _interval(interval: Interval) -> Markup:
    low, high = interval
    if high is None:
        return _rate(low) + Markup(" or more")
    return number(f"{low:.4g}", low) + Markup(" to ") + _rate(high)


def _point(item: PointVerdict) -> tuple[object, ...]:
    point, binding = item.point, item.binding
    margin = None if binding is None else binding.margin
    rates = (
        number("-" if one is None else f"{one:.4g}", one)
        for one in (point.offered_rate_per_s, point.achieved_rate_per_s)
    )
    figures = (number(_figure(limit.slo, limit.value), limit.value) for limit in item.limits)
    said = {True: "yes", False: "no", None: "not known"}[item.holds]
    if item.unused:
        said = f"not used: {item.unused}"
    elif item.overloaded:
        said = f"no: {', '.join(item.overloaded)}"
    return f"{item.row + 1}", *rates, *figures, number("-" if margin is None else f"{margin:+.1%}", margin), said


def _figure(slo: Slo, value: float | None) -> str:
    if value is not None and slo.figure == "goodput":
        return f"{value:.1%}"
    return format_quantity(value, "s")


def _check(check: SweepCheck) -> tuple[object, ...]:
    return check.severity, element("code", check.id), check.sentence, ", ".join(f"{row + 1}" for row in check.rows)
