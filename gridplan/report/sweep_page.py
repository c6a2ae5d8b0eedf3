"""A judged sweep as a page for people: a table of points, the findings, the rate and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.measured.sustained import PointVerdict, SweepCheck, SweepResult
from gridplan.report.aligned import aligned
from gridplan.report.sweep_words import finding, first_failing, interval_text, rate_text, shown, spread

__all__ = ["check_lines", "point_cells", "sweep_page"]

_MOST_SENTENCES = 3
"""Sentences of one finding that are shown each; more of them are said together (policy)."""


def sweep_page(result: SweepResult, notes: Sequence[str] = ()) -> str:
    """The page."""
    rows = [*_table(result), *(f"note: {note}" for note in notes)]
    if result.checks:
        rows += ["", "checks", *check_lines(result)]
    return "\n".join([*rows, "", *_conclusion(result)])


def _table(result: SweepResult) -> list[str]:
    columns = [list(column) for column in zip(*point_cells(result), strict=True)]
    return aligned(columns, [True] * (len(columns) - 1) + [False])


def point_cells(result: SweepResult) -> list[list[str]]:
    """Points in the order of their rates, each with its figures and whether it holds: a head, rows, the limits."""
    order = sorted(result.points, key=lambda item: (bool(item.unused), _offered(item), item.row))
    cells = [["row", "offered/s", "completed/s", *(slo.name for slo in result.slos), "margin", "holds"]]
    for item in order:
        point, binding = item.point, item.binding
        margin = "-" if binding is None or binding.margin is None else f"{binding.margin:+.1%} {binding.slo.figure}"
        said = {True: "yes", False: "no", None: "not known"}[item.holds]
        if item.unused:
            said = f"not used: {item.unused}"
        elif item.overloaded:
            said = f"no: {', '.join(item.overloaded)}"
        cells.append(
            [
                str(item.row + 1),
                "-" if point.offered_rate_per_s is None else f"{point.offered_rate_per_s:.4g}",
                "-" if point.achieved_rate_per_s is None else f"{point.achieved_rate_per_s:.4g}",
                *(shown(limit.slo, limit.value) for limit in item.limits),
                margin,
                said,
            ]
        )
    limits = [(">= " if slo.figure == "goodput" else "<= ") + shown(slo, slo.limit) for slo in result.slos]
    cells.append(["", "limit", "", *limits, "", ""])
    return cells


def _offered(item: PointVerdict) -> float:
    return item.point.offered_rate_per_s or 0.0


def check_lines(result: SweepResult) -> list[str]:
    """Findings by kind; many of one kind are one line with the first sentence."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[SweepCheck]] = {}
    for check in result.checks:
        groups.setdefault((check.severity, check.id, check.figures), []).append(check)
    lines: list[str] = []
    for (severity, name, _), checks in groups.items():
        if len(checks) <= _MOST_SENTENCES:
            lines += [f"  {severity:<8}{name}: {check.sentence}{_rows(check.rows)}" for check in checks]
            continue
        rows = tuple(sorted({row for check in checks for row in check.rows}))
        first = checks[0]
        lines.append(f"  {severity:<8}{name}{_rows(rows)}; as{_rows(first.rows, '')}: {first.sentence}")
    return lines


def _rows(rows: Sequence[int], bracket: str = "(") -> str:
    if not rows:
        return ""
    said = f"row{'s' if len(rows) > 1 else ''} {', '.join(str(row + 1) for row in rows)}"
    return f" ({said})" if bracket else f" {said}"


def _conclusion(result: SweepResult) -> list[str]:
    rate = result.lambda_instance_per_s
    if rate is None:
        return [f"lambda_instance: {finding(result)}"]
    last = next(item for item in result.rates if item.rate_per_s == rate)
    room = "" if last.binding is None or last.binding.margin is None else f" with {last.binding.margin:.1%} of room"
    lines = [
        f"lambda_instance  {rate_text(rate)}, the last measured rate at which every limit holds",
        f"  finding        {finding(result)}",
    ]
    if result.binding is not None:
        lines.append(f"  binds          {result.binding}{room}")
    lines.append(f"  neighbours     {interval_text(result.bracket_per_s)}")
    counted = all(item.requests for item in result.rates)
    said = "" if counted else "; chance is not in it: requests are not counted"
    lines.append(f"  interval       {interval_text(result.interval_per_s)}{said}")
    if result.repeats_per_s:
        lines.append(f"  repeats        {spread(result)}")
    if result.goodput is not None:
        lines.append(f"  goodput        {result.goodput:.1%} within the limits that the load generator was given")
    if result.interpolated_per_s is not None and first_failing(result) is not None:
        lines.append(
            f"  interpolated   {rate_text(result.interpolated_per_s)}, on a line between the neighbours; not measured"
        )
    return lines
