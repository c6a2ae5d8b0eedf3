"""What would change the plan: scenarios planned anew and as bought, and inputs moved one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridplan.errors import ContractError
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.tornado import MEASURES, tornado_of
from gridplan.report.record.case import Case
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, cell, head, table
from gridplan.report.solution import rows_of
from gridplan.report.stress_page import NOTES, share_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["DEFAULT_RANGES", "stress_section", "stress_table", "tornado_section", "tornado_table"]

DEFAULT_RANGES: Mapping[str, str] = {
    **{"arrival_rate": "-20%:+20%", "peak_to_average": "-20%:+20%", "output_tokens": "-20%:+20%"},
    **{"prompt_tokens": "-20%:+20%", "prefix_hit_ratio": "-20%:+20%", "usd_per_node_hour": "-20%:+20%"},
    **{"lambda_instance_given": "-20%:+20%", "rho_target": "-10%:+10%", "mbu": "-10%:+10%", "mfu": "-10%:+10%"},
}
"""Inputs that are moved unless others are asked for, and how far (policy): traffic and prices by a fifth, what is known
better by a tenth."""

_PLANNED = {
    "arrival_rate_in_scenario": "req/s",
    "lambda_safe": "λ_safe",
    "replicas_active": "active",
    "replicas": "with spares",
    "replicas_delta": "more",
    "nodes": "nodes",
    "gpus_deployed": "GPUs",
    "usd_per_month": "USD/month",
    "usd_per_month_delta_pct": "bill",
    "usd_per_mtok_output": "USD/Mtok out",
    "binding_constraint": "binds",
    "infeasible_reason": "no plan because",
}
_BOUGHT = {
    "bought_replicas_left": "replicas left",
    "arrival_rate_in_scenario": "req/s",
    "bought_arrival_rate_safe": "safe req/s",
    "bought_utilization_safe": "of it used",
    "bought_arrival_rate_slo": "req/s within limits",
    "bought_utilization": "of it used",
    "bought_headroom_kept": "headroom kept",
    "bought_slo_held": "limits hold",
    "bought_breaks": "breaks first",
    "bought_note": "no answer because",
}


def stress_table(case: Case) -> xr.Dataset | None:
    """The scenarios at the nominal plan; the standard ones where the contract has none. None for any other plan."""
    if case.grid is None or case.plan is None or case.plan.get("scenario", "nominal") != "nominal":
        return None
    from gridplan.sensitivity.stress import stress

    at = {name: label for name, label in case.plan.items() if name != "scenario"}
    return stress(case.grid, library=not case.grid.scenarios, at=at)


def stress_section(case: Case, found: xr.Dataset | None) -> Section:
    """Two tables: each scenario as if it were the plan, and the fleet of the nominal plan in it."""
    if found is None or case.grid is None:
        why = case.no_grid or "what a scenario breaks is said of the nominal plan, and this one is of another scenario"
        return Section("stress", "Stress", (Note(f"Scenarios are not compared: {why}.", "warning"),))
    rows = rows_of(found)
    blocks: list[Block] = []
    if not case.grid.scenarios:
        blocks.append(Note("The contract states no scenarios, so these are the standard ones."))
    for caption, columns in (
        ("Each scenario planned anew", _PLANNED),
        ("The fleet of the nominal plan, as bought, in each scenario", _BOUGHT),
    ):
        used = {name: said for name, said in columns.items() if any(row[name] is not None for row in rows)}
        shown: list[tuple[Cell | str, ...]] = [
            (str(row["scenario"]), *(_cell(name, row[name]) for name in used)) for row in rows
        ]
        blocks.append(table(caption, ("scenario", *used.values()), shown))
    for note, said in NOTES.items():
        if named := [str(row["scenario"]) for row in rows if row["rate_note"] == note]:
            blocks.append(Note(f"{', '.join(named)}: {said}", "warning"))
    blocks += [Note(f"Left out: {text}") for text in str(found.attrs.get("left_out", "")).split("; ") if text]
    return Section("stress", "Stress", tuple(blocks))


_LIKE = {
    "arrival_rate_in_scenario": "arrival_rate",
    "bought_replicas_left": "replicas",
    "bought_arrival_rate_safe": "arrival_rate",
    "bought_arrival_rate_slo": "arrival_rate",
    "bought_headroom_kept": "headroom_kept_after_loss",
    "bought_slo_held": "slo_held_after_loss",
}
"""Columns of a stress table, and the quantity whose unit each has."""


def _cell(name: str, value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return Cell(value or "-")
    number = float(value)
    if name.startswith("bought_utilization"):
        return Cell(share_text(number) or "-", number)
    if name.endswith("_pct"):
        return Cell(f"{number:+.1f}%" if number else "0%", number)
    if name.endswith("_delta"):
        return Cell(f"{number:+,.0f}" if number else "0", number)
    return cell(_LIKE.get(name, name), number)


def tornado_table(case: Case, vary: Mapping[str, str] | None) -> tuple[pd.DataFrame | None, str]:
    """The tornado of the plan, or why there is none. `vary` are the ranges asked for, by input."""
    if case.grid is None or case.plan is None:
        return None, case.no_grid
    if case.labels.get("status") != "ok":
        return None, "there is no plan to move"
    from gridplan.sensitivity.tornado import tornado

    measures = [name for name in (*MEASURES, "replicas") if case.number(name) is not None][: len(MEASURES)]
    if not measures:
        return None, "neither a bill nor replicas are known in this cell"
    if vary:
        return tornado(case.grid, vary, measures, case.plan), ""
    ranges = _defaults(case)
    while ranges:
        try:
            return tornado(case.grid, ranges, measures, case.plan), ""
        except ContractError as error:
            # Of the usual inputs those stay that this contract leaves free: others are decided by something else in it.
            decided = {problem.key for problem in error.problems if problem.key in ranges}
            if not decided:
                raise
            ranges = {name: text for name, text in ranges.items() if name not in decided}
    return None, "none of the usual inputs can be moved in this cell"


def _defaults(case: Case) -> dict[str, str]:
    """The usual inputs that this plan states and depends on, within their bounds."""
    from gridplan.sensitivity.one_cell import cell_of
    from gridplan.sensitivity.ranges import out_of_bounds, ranges_of

    assert case.grid is not None
    own = cell_of(case.grid, case.plan)
    ranges, _ = ranges_of(DEFAULT_RANGES)
    found = {}
    for name, item in ranges.items():
        base = own.value(name)
        if not base > 0 or own.own_of_classes(name):
            continue
        high = item.ends(base)[1]
        # A target of 95% cannot be moved 10% up: it goes to its bound.
        cap = next((factor for factor in (item.high, 1.0 / base) if not out_of_bounds(name, base * factor)), None)
        if cap is None or (cap != item.high and high <= 1):
            continue
        found[name] = f"x{item.low:.12g}:x{cap:.12g}"
    return found


def tornado_section(found: pd.DataFrame | None, why: str, chart: Chart | None, asked: bool) -> Section:
    """The chart and its figures."""
    if found is None:
        return Section("tornado", "What matters most", (Note(f"Inputs are not moved: {why}."),))
    from gridplan.report.frames import plain_rows
    from gridplan.report.tornado_page import tornado_cells

    blocks: list[Block] = [] if chart is not None else [Note(tornado_of(found).finding)]
    if not asked:
        said = "Each input moves by a fifth (traffic, price, a measured rate) or a tenth (target, shares of peak)"
        blocks.append(Note(f"{said}, or to its bound."))
    if chart is not None:
        blocks.append(Figure("tornado", chart))
    rows = plain_rows(found)
    for measure in dict.fromkeys(row["measure"] for row in rows):
        own = [row for row in rows if row["measure"] == measure]
        heads, shown = tornado_cells(own)
        cells: list[Sequence[Cell | str]] = [[Cell(text, value) for text, value in row] for row in shown]
        blocks.append(table(f"{head(measure)} as inputs move one at a time", heads, cells))
    return Section("tornado", "What matters most", tuple(blocks))
