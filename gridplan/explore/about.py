"""What the page is told about a cube once: axes with their labels, columns with their meaning, words and colours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gridplan import __version__
from gridplan.engine.survivors import WITHOUT_SPOT
from gridplan.explore.box import Cells
from gridplan.explore.charts import charts
from gridplan.explore.left_out import LEFT_OUT
from gridplan.explore.whatif import about_inputs
from gridplan.quantities import format_label
from gridplan.report.charts.texts import CONSTRAINTS, LETTERS, axis_title
from gridplan.report.charts.theme import COLOUR_OF
from gridplan.report.plain_text import printable
from gridplan.report.sections import SECTIONS
from gridplan.sensitivity.axes import free_levers
from gridplan.sensitivity.options import FAR, UNPRICED
from gridplan.sensitivity.pareto import directions
from gridplan.sensitivity.roles import axis_role
from gridplan.store.columns import AxisSpec, Column

__all__ = ["KEY", "MOST_OPTIONS", "Title", "about"]

MOST_OPTIONS = 50_000
"""Options that are compared at once (policy): a picture cannot tell more apart, and a page draws them in a moment."""

MOST_SHOWN = 800
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
    held = {column.name for column in cells.columns}
    return {
        "version": __version__,
        "name": printable(title.name),
        "description": printable(title.description),
        "origin": printable(title.origin),
        "warnings": [printable(text) for text in title.warnings],
        "served": served,
        "axes": [_axis(axis) for axis in cells.axes],
        "columns": [_column(column) for column in cells.columns if column.name not in cells.hidden],
        "key": [name for name in KEY if name in numbers],
        "presets": [{"measure": name, "title": said} for name, said in _PRESETS.items() if name in numbers],
        "constraints": {
            name: {"word": word, "letter": LETTERS[name], "colour": COLOUR_OF[name]}
            for name, word in CONSTRAINTS.items()
        },
        "chain": {section: list(names) for section, names in SECTIONS.items()},
        "farAnchor": FAR,
        # Without a status nobody knows what may be chosen.
        "leftOut": LEFT_OUT if {"status", "infeasible_reason"} & held else "",
        "survives": _survivals(held),
        "priceFlag": "price_flag" if "price_flag" in held else "",
        "unpriced": list(UNPRICED),
        "more": [name for name in numbers if directions(name)[name] == "max"],
        "inputs": [] if no_whatif or cells.grid is None else about_inputs(cells.grid),
        "noWhatIf": printable(no_whatif),
        "mostShown": MOST_SHOWN,
        "mostOptions": MOST_OPTIONS,
        **charts(),
    }


def _survivals(held: Collection[str]) -> list[dict[str, Any]]:
    """What a plan may have to survive, as far as the cube says it, with the columns that have to hold."""
    also = [WITHOUT_SPOT] if WITHOUT_SPOT in held else []
    kept = {"slo": "limits hold", "headroom": "headroom is kept"}
    return [
        {"name": name, "title": f"the loss of a {unit}: {said}", "columns": [name, *also]}
        for unit in ("gpu", "node", "zone")
        for kind, said in kept.items()
        if (name := f"survives_{unit}_loss_{kind}") in held
    ]


def _axis(axis: AxisSpec) -> dict[str, Any]:
    role = axis_role(axis.name)
    written = [format_label(label) for label in axis.labels]
    shown = _told_apart([printable(label) for label in written])
    promise = axis.name in free_levers({axis.name: 2}, (axis.name,), (), False)
    return {
        "name": axis.name,
        "title": axis_title(axis.name),
        "unit": axis.unit,
        "role": role,
        "labels": shown,
        # As `--at` takes them, where the page has to show them otherwise.
        "written": None if shown == written else written,
        "values": None if axis.is_text else [float(label) for label in axis.labels],
        # A promise or a convention is not compared unless somebody asks for it: the cheapest promises least.
        "compared": role == "lever" and not promise,
        "promise": promise,
        "precision": axis.name in ("weight_dtype", "kv_dtype"),
    }


def _told_apart(labels: Sequence[str]) -> list[str]:
    """Labels that are alike once they are printable get a number: no two are the same on the page."""
    taken = set(labels)
    found: dict[str, None] = {}
    for label in labels:
        name, number = label, 1
        while name in found or (number > 1 and name in taken):
            number += 1
            name = f"{label} ({number})"
        found[name] = None
    return list(found)


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
        "group": "labels and inputs" if column.role == "coord" else meta.get("scope", "") or "measures",
    }
