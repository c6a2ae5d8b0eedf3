"""What was not chosen, and why: every other label of each lever, everything else as in the plan."""

from __future__ import annotations

from gridplan.dictionary import dictionary
from gridplan.quantities import format_label, format_quantity
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.rows import cell_rows
from gridplan.report.record.case import Case
from gridplan.report.record.costs import plane_of
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, Table, cell, head, table
from gridplan.report.record.findings import choice_findings
from gridplan.sensitivity.axes import FREE_LEVERS
from gridplan.sensitivity.roles import axis_role

__all__ = ["rejected"]

MOST_LABELS = 16
"""Labels of one lever that a record lists (policy); more are counted."""


def rejected(case: Case, charts: dict[str, Chart]) -> Section:
    """Alternatives by lever, the runner-up, and how many cells were left out for which reason."""
    blocks: list[Block] = []
    if case.choice is not None:
        blocks.append(Note(_choice_text(case)))
    if case.refused:
        return Section("rejected", "Rejected, and why", (Note(f"Nothing was chosen: {case.refused}."),))
    # Promises (model, targets) are given and not chosen: another one is another question, not an alternative.
    levers = [
        name for name in case.several if axis_role(name) == "lever" and (name in case.chosen or name not in FREE_LEVERS)
    ]
    for name in levers:
        blocks.append(_alternatives(case, name))
    if not levers:
        said = "Every lever has one label here (by the contract or as asked), so no alternative was planned: name axes"
        blocks.append(Note(f"{said} in the contract to compare GPUs, instances, formats or parallelism.", "ask"))
    blocks += [Figure(name, chart) for name, chart in charts.items()]
    return Section("rejected", "Rejected, and why", tuple(blocks))


def _choice_text(case: Case) -> str:
    assert case.choice is not None
    left = case.choice["left_out_because"].values.ravel().tolist()[0]
    counted = f" Left out: {left}." if left else ""
    along = f"Chosen along {', '.join(case.chosen)}. " if case.chosen else ""
    return f"{along}{' '.join(choice_findings(case))}{counted}"


def _alternatives(case: Case, axis: str) -> Table:
    plan = case.plan or {}
    measure = case.asked.measure
    names = tuple(
        name
        for name in dict.fromkeys((measure, "usd_per_month", "replicas", "nodes", "binding_constraint"))
        if case.has(name)
    )
    rows = cell_rows(plane_of(case, (axis,), (*names, "infeasible_reason")), (axis,), (*names, "infeasible_reason"))
    base = next(row for row in rows if row[axis] == plan[axis])[measure]
    own = next(at for at, row in enumerate(rows) if row[axis] == plan[axis])
    near = sorted(range(len(rows)), key=lambda at: abs(at - own))[:MOST_LABELS]
    shown = []
    for at in sorted(near):
        row, mine = rows[at], at == own
        label = format_label(row[axis]) + (" (this plan)" if mine else "")
        shown.append(
            (
                Cell(label, None, mine),
                *(cell(name, row[name], mine) for name in names),
                Cell(
                    _why(
                        row,
                        base,
                        measure,
                        mine,
                        fixed=axis in case.asked.at,
                        accepted=str(row[axis]) in case.asked.accept.get(axis, (str(row[axis]),)),
                        later=at > own,
                    )
                ),
            )
        )
    note = f"{len(rows) - len(near):,} further labels are left out." if len(near) < len(rows) else ""
    row_of = dictionary()[axis]
    heads = (f"{row_of.long_name} ({axis})", *(head(name) for name in names), "why not")
    return table(f"Other labels of {axis}, everything else as in the plan", heads, shown, note)


def _why(
    row: dict[str, object], base: float | None, measure: str, mine: bool, *, fixed: bool, accepted: bool, later: bool
) -> str:
    """Why this label is not the plan: no plan, no price, dearer, or cheaper and still not chosen."""
    if row["infeasible_reason"] is not None:
        return str(row["infeasible_reason"])
    if not accepted:
        return "not accepted"
    value = row[measure]
    if value is None:
        return f"{measure} is not known"
    if mine:
        return "fixed by request" if fixed else "chosen"
    if base is None:
        return "has a plan"
    assert isinstance(value, (int, float))
    unit = dictionary()[measure].unit
    if value == base:
        return "costs the same" + (": the first in declared order is taken" if later else ", and is not ranked first")
    change = format_quantity(abs(value - base), unit)
    share = f" ({value / base - 1:+.1%})" if base else ""
    if value > base:
        return f"{change} more{share}"
    why = "the lever was fixed by request" if fixed else "it does not hold the conditions, or may not be ranked"
    return f"{change} less{share}; {why}"
