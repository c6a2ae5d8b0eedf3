"""A stress table as text: what each scenario asks for, and what the fleet as bought does in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_labels, format_quantity
from gridplan.report.frames import text_table
from gridplan.report.solution import rows_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["NOTES", "share_text", "stress_page"]

_PLANNED = {
    "scenario": "planned anew",
    "rate": "req/s",
    "lambda_safe": "safe/replica",
    "replicas_active": "active",
    "replicas": "resilient",
    "replicas_delta": "more",
    "nodes": "nodes",
    "gpus_deployed": "GPUs",
    "bill": "USD/month",
    "bill_delta": "change",
    "price": "USD/Mtok out",
    "binding_constraint": "binds",
    "infeasible_reason": "because",
}
_BOUGHT = {
    "scenario": "as bought",
    "bought_replicas_left": "replicas left",
    "rate": "req/s",
    "safe": "safe",
    "of_safe": "used",
    "slo": "within limits",
    "of_slo": "used ",
    "bought_headroom_kept": "headroom kept",
    "bought_slo_held": "limits hold",
    "bought_breaks": "breaks",
    "bought_note": "why no answer",
}
_OPTIONAL = ("infeasible_reason", "bought_note")

NOTES = {
    "measured_rate_not_moved": "measured_rate_not_moved: the rate was measured at other settings; state one for the "
    "scenario",
    "scaled_by_far_anchor": "scaled_by_far_anchor: a measurement was scaled by a model that it contradicts by more "
    "than a factor of two",
}


def stress_page(table: xr.Dataset) -> str:
    """Two tables for every cell that the rows stand in, then what to know of the rates, and what was left out."""
    lines: list[str] = []
    axes = [str(name) for name in table.dims if name != "scenario"]
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows_of(table):
        cells.setdefault(tuple(row[name] for name in axes), []).append(row)
    for labels, rows in cells.items():
        if axes:
            lines += ["at " + format_labels(zip(axes, labels, strict=True))]
        lines += [*_cell(rows), ""]
    for note, said in NOTES.items():
        if named := list(
            dict.fromkeys(row["scenario"] for rows in cells.values() for row in rows if row["rate_note"] == note)
        ):
            lines.append(f"{', '.join(named)}: {said}")
    lines += [f"left out: {text}" for text in str(table.attrs.get("left_out", "")).split("; ") if text]
    return "\n".join(lines).rstrip()


def _cell(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    shown = [_shown(row) for row in rows]
    parts = []
    for columns in (_PLANNED, _BOUGHT):
        kept = {
            name: head
            for name, head in columns.items()
            if name not in _OPTIONAL or any(row[name] is not None for row in shown)
        }
        parts.append(text_table(shown, kept))
    return [*parts[0], "", *parts[1]]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with figures as they are printed."""
    change = row["usd_per_month_delta_pct"]
    more = row["replicas_delta"]
    return {
        **row,
        "rate": _bare(row["arrival_rate_in_scenario"]),
        "lambda_safe": _bare(row["lambda_safe"]),
        "replicas_delta": None if more is None else f"{more:+d}" if more else "0",
        "bill": None if row["usd_per_month"] is None else f"{row['usd_per_month']:,.2f}",
        "bill_delta": None if change is None else f"{change:+.1f}%" if change else "0%",
        "price": None if row["usd_per_mtok_output"] is None else f"{row['usd_per_mtok_output']:,.2f}",
        "safe": _bare(row["bought_arrival_rate_safe"]),
        "slo": _bare(row["bought_arrival_rate_slo"]),
        "of_safe": share_text(row["bought_utilization_safe"]),
        "of_slo": share_text(row["bought_utilization"]),
    }


def _bare(value: float | None) -> str | None:
    return None if value is None else format_quantity(value, "count")


def share_text(value: float | None) -> str | None:
    """A share in percent, with as many decimals as tell it from all of it."""
    if value is None:
        return None
    # What is just above what is carried must not read as all of it.
    digits = next((count for count in (0, 1, 2) if value == 1.0 or f"{100 * value:.{count}f}" != f"{100:.{count}f}"), 3)
    return f"{100 * value:.{digits}f}%"
