"""A judged sweep as plain data for JSON: SI units, null where nothing is known."""

from __future__ import annotations

from typing import Any

from gridplan.measured.sustained import PointVerdict, RateVerdict, SloVerdict, SweepResult

__all__ = ["sweep_data"]


def sweep_data(result: SweepResult, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Everything that the page says, and the points in the order given (rows count from 1)."""
    low, high = result.bracket_per_s
    return {
        "slos": [
            {"name": slo.name, "figure": slo.figure, "statistic": slo.statistic, "limit": slo.limit}
            for slo in result.slos
        ],
        "lambda_instance_per_s": result.lambda_instance_per_s,
        "neighbours_per_s": [low, high],
        "interval_per_s": list(result.interval_per_s),
        "repeats_per_s": list(result.repeats_per_s),
        "repeats_median_per_s": result.repeats_median_per_s,
        "repeats_mad_per_s": result.repeats_mad_per_s,
        "binding": result.binding,
        "breaks_first": list(result.breaks_first),
        "interpolated_per_s": result.interpolated_per_s,
        "goodput": result.goodput,
        "points": [_point(item) for item in result.points],
        "rates": [_rate(item) for item in result.rates],
        "checks": [
            {
                "id": check.id,
                "severity": check.severity,
                "sentence": check.sentence,
                "rows": [row + 1 for row in check.rows],
                "figures": list(check.figures),
                "numbers": dict(check.numbers),
            }
            for check in result.checks
        ],
        "notes": list(notes),
    }


def _point(item: PointVerdict) -> dict[str, Any]:
    point = item.point
    return {
        "row": item.row + 1,
        "file": point.file,
        "place": point.place,
        "tool": point.tool,
        "loop": point.loop,
        "offered_rate_per_s": point.offered_rate_per_s,
        "achieved_rate_per_s": point.achieved_rate_per_s,
        "requests_completed": point.requests_completed,
        "holds": item.holds,
        "unused": item.unused or None,
        "overloaded": list(item.overloaded),
        "limits": [_limit(limit) for limit in item.limits],
    }


def _rate(item: RateVerdict) -> dict[str, Any]:
    return {
        "rate_per_s": item.rate_per_s,
        "rows": [row + 1 for row in item.rows],
        "requests": item.requests,
        "holds": item.holds,
        "overloaded": list(item.overloaded),
        "limits": [_limit(limit) for limit in item.limits],
    }


def _limit(item: SloVerdict) -> dict[str, Any]:
    return {
        "name": item.slo.name,
        "value": item.value,
        "holds": item.holds,
        "margin": item.margin,
        "why": item.why or None,
    }
