"""The cube around a plan: how much of it is feasible, what binds, the cheapest plan of each model and load."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.quantities import format_labels
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.texts import CONSTRAINTS
from gridplan.report.record.case import Case, Label
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, Table, cell, head, table

if TYPE_CHECKING:
    from gridplan.engine.summary import Summary

__all__ = ["map_axes", "nowhere", "overview", "summary_of"]

MOST_PLANS = 40
"""Rows of the cheapest plans that survive (policy); more are counted."""

_ACROSS = ("context_tokens", "arrival_rate", "rho_target", "tensor_parallel", "max_model_len")
_DOWN = ("gpu", "instance", "model", "kv_dtype", "weight_dtype", "workload")
_MOST_ACROSS, _MOST_DOWN = 24, 40


def summary_of(source: Grid | str | Path, at: Mapping[str, Label] | None = None) -> Summary:
    """Counts over all cells, or those `at` labels: of a contract planned, of a folder read, in bounded memory."""
    if isinstance(source, Grid):
        from gridplan.engine.planned_summary import planned_summary
        from gridplan.sensitivity.cut_grid import grid_at

        return planned_summary(grid_at(source, at)[0])
    from gridplan.engine.stored_summary import stored_summary

    return stored_summary(source, at)


def nowhere(case: Case) -> str:
    """Why no cell of the nominal scenario has a plan, where none has; empty where some has one."""
    nominal = {"scenario": "nominal"} if "scenario" in case.axes else {}
    counted = summary_of(case.source, nominal)
    if counted.feasible != 0:
        return ""
    reasons = ", ".join(f"{label} in {count:,} of {counted.cells:,}" for label, count in counted.reasons.items())
    if case.grid is None:
        return reasons
    from gridplan.report.explain import explain

    first = {name: labels[0] for name, labels in case.axes.items()} | dict(case.asked.at) | nominal
    return f"{reasons}; at the first, {explain(case.grid, **first).verdict}"


def map_axes(case: Case) -> tuple[str, str] | None:
    """Two axes for a heat map: a number across, names down, where there are some; None with fewer than two axes."""
    several = {name: labels for name, labels in case.several.items() if name != "scenario"}
    across = [name for name in (*_ACROSS, *several) if 1 < len(several.get(name, ())) <= _MOST_ACROSS]
    down = [name for name in (*_DOWN, *several) if 1 < len(several.get(name, ())) <= _MOST_DOWN]
    for x in dict.fromkeys(across):
        for y in dict.fromkeys(down):
            if x != y:
                return x, y
    return None


_COUNTED = ("status", "binding_constraint", "infeasible_reason", "usd_per_mtok_output")


def overview(summary: Summary, charts: Mapping[str, Chart], held: Collection[str], beside: bool) -> Section:
    """Counts, maps and the cheapest plans, of the measures that are `held`; `beside` a plan it is an appendix."""
    found = summary.to_dict()
    blocks: list[Block] = [_counts(found)]
    if missing := [name for name in _COUNTED if name not in held]:
        said = f"The cube holds no {', '.join(missing)}: what would be counted by it is left out"
        blocks.append(Note(f"{said}. Run the contract again without --outputs, or report the contract.", "warning"))
    blocks += [Figure(*item) for item in charts.items()]
    if found["cheapest"]:
        rows = [
            (
                item["model"] or "-",
                cell("usd_per_mtok_output", item["usd_per_mtok_output"]),
                _at(item["labels"], "model"),
            )
            for item in found["cheapest"]
        ]
        heads = ("model", head("usd_per_mtok_output"), "at")
        blocks.append(table("The cheapest feasible plan of each model", heads, rows))
    for question, plans in found["cheapest_surviving"].items():
        if plans:
            blocks.append(_surviving(question, plans))
    blocks += [Note(text, "warning") for text in summary.warnings()]
    return Section("cube", "The whole cube", tuple(blocks), appendix=beside)


def _counts(found: Mapping[str, Any]) -> Table:
    cells, feasible = found["cells"], found["feasible"]
    rows: list[tuple[str, Cell, Cell]] = [("cells", *_share(cells, cells))]
    if feasible is not None:
        rows.append(("feasible", *_share(feasible, cells)))
    for label, count in found["binding_constraint"].items():
        rows.append((f"binds: {CONSTRAINTS.get(label, label)} ({label})", *_share(count, cells)))
    for label, count in found["infeasible_reason"].items():
        rows.append((f"no plan: {label}", *_share(count, cells)))
    for label, count in found["latency_flag"].items():
        rows.append((f"flagged: {label}", *_share(count, cells)))
    return table("Cells of the cube", ("cells", "count", "share"), rows)


def _share(count: int, cells: int) -> tuple[Cell, Cell]:
    return Cell(f"{count:,}", float(count)), Cell(f"{count / cells:.1%}", count / cells)


def _surviving(question: str, plans: list[dict[str, Any]]) -> Table:
    rows = [
        (
            item["model"] or "-",
            cell("usd_per_hour", item["usd_per_hour"]),
            cell("nodes", item["nodes"]),
            _at(item["labels"], "model"),
        )
        for item in plans[:MOST_PLANS]
    ]
    note = f"{len(plans) - MOST_PLANS:,} further loads are left out." if len(plans) > MOST_PLANS else ""
    heads = ("model", head("usd_per_hour"), "nodes", "at")
    return table(f"The cheapest plan of each load that survives ({question})", heads, rows, note)


def _at(labels: Mapping[str, Label], without: str) -> str:
    return format_labels((name, label) for name, label in labels.items() if name != without and label != "nominal")
