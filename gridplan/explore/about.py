"""What the page is told about a cube once: axes with their labels, columns with their meaning, words and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gridplan import __version__
from gridplan.explore.box import Cells
from gridplan.explore.charts import charts
from gridplan.explore.left_out import LEFT_OUT
from gridplan.explore.whatif import about_inputs
from gridplan.quantities import format_label
from gridplan.report.charts.texts import CONSTRAINTS, LETTERS, axis_title
from gridplan.report.charts.theme import COLOUR_OF
from gridplan.report.plain_text import printable
from gridplan.report.sections import SECTIONS
from gridplan.sensitivity.axes import FREE_LEVERS
from gridplan.sensitivity.pareto import directions
from gridplan.sensitivity.roles import axis_role
from gridplan.store.columns import AxisSpec, Column

__all__ = ["KEY", "MOST_OPTIONS", "Title", "about"]

MOST_OPTIONS = 50_000
"""Options that are compared at once (policy): a picture cannot tell more apart, and a page draws them in a moment."""

MOST_SHOWN = 2_000
"""Cells of the plane that stand on the page at once (policy): a browser lays these out in a tenth of a second."""

KEY = (
    *("gpus_deployed", "nodes", "replicas", "concurrency", "lambda_instance", "utilization_peak", "tpot_s", "ttft_s"),
    *("usd_per_hour", "usd_per_month", "usd_per_mtok_output", "usd_per_mtok_total"),
)
"""Measures that stand above all others (policy): what a plan takes, how fast it is, what it costs."""

_PRESETS = {
    "usd_per_mtok_output": "cheapest per 1M output tokens",
    "usd_per_month": "cheapest per month",
    "gpus_deployed": "fewest GPUs",
    "tpot_s": "shortest TPOT",
}
"""What a lever may be chosen for by one button, the least of a measure."""


@dataclass(frozen=True)
class Title:
    """What stands at the head of the page; `origin` says where the numbers come from."""

    name: str
    description: str
    origin: str
    warnings: tuple[str, ...]


def about(cells: Cells, title: Title, no_whatif: str, served: bool) -> dict[str, Any]:
    """All of it as plain data; `no_whatif` says why inputs cannot be changed, where they cannot."""
    numbers = [column.name for column in cells.columns if column.dtype in ("int64", "float64")]
    return {
        "version": __version__,
        "name": printable(title.name),
        "description": printable(title.description),
        "origin": printable(title.origin),
        "warnings": [printable(text) for text in title.warnings],
        "served": served,
        "axes": [_axis(axis) for axis in cells.axes],
        "columns": [_column(column) for column in cells.columns],
        "key": [name for name in KEY if name in numbers],
        "presets": [{"measure": name, "title": said} for name, said in _PRESETS.items() if name in numbers],
        "constraints": {
            name: {"word": word, "letter": LETTERS[name], "colour": COLOUR_OF[name]}
            for name, word in CONSTRAINTS.items()
        },
        "chain": {section: list(names) for section, names in SECTIONS.items()},
        "leftOut": LEFT_OUT,
        "more": [name for name in numbers if directions(name)[name] == "max"],
        "inputs": [] if no_whatif or cells.grid is None else about_inputs(cells.grid),
        "noWhatIf": printable(no_whatif),
        "mostShown": MOST_SHOWN,
        "mostOptions": MOST_OPTIONS,
        **charts(),
    }


def _axis(axis: AxisSpec) -> dict[str, Any]:
    role = axis_role(axis.name)
    promise = axis.name in FREE_LEVERS or "_slo_" in axis.name or axis.name.startswith("margin_")
    return {
        "name": axis.name,
        "title": axis_title(axis.name),
        "unit": axis.unit,
        "role": role,
        "labels": _told_apart([printable(format_label(label)) for label in axis.labels]),
        "values": None if axis.is_text else [float(label) for label in axis.labels],
        # A promise or a convention is not compared unless somebody asks for it: the cheapest promises least.
        "compared": role == "lever" and not promise,
    }


def _told_apart(labels: Sequence[str]) -> list[str]:
    """Labels that are alike once they are printable get a number: no two are the same on the page."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def _column(column: Column) -> dict[str, Any]:
    meta = column.meta
    return {
        "name": column.name,
        "dtype": column.dtype,
        "role": column.role,
        "unit": meta.get("unit", ""),
        "title": meta.get("long_name", column.name),
        "formula": meta.get("formula", ""),
        "source": meta.get("source", ""),
        "null": meta.get("null_where", ""),
    }
