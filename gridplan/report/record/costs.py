"""What it costs, by way of buying: one row for each instance and purchase, and what the bill of the plan pays for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_label
from gridplan.report.charts.chart import Chart
from gridplan.report.charts.rows import cell_rows
from gridplan.report.record.case import Case
from gridplan.report.record.derivation import chain_table
from gridplan.report.record.document import Block, Cell, Figure, Note, Section, Table, cell, head, table
from gridplan.report.substitute import quantity_text

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["BUYING", "costs", "plane_of"]

BUYING = ("instance", "purchase", "spot_share", "commitment_years")
"""Axes that are ways of buying the same fleet."""

MOST_ROWS = 24
"""Ways of buying that a record lists (policy); more are counted, the cheapest are shown."""

_COLUMNS = {
    "replicas": "replicas",
    "nodes": "nodes",
    "gpus_deployed": "GPUs",
    "usd_per_month": "bill",
    "usd_per_mtok_output": "per 1M output",
    "usd_per_mtok_total": "per 1M tokens",
    "price_kind": "kind",
    "price_as_of": "as of",
    "infeasible_reason": "no plan because",
}
_DENOMINATORS = (
    *("usd_per_hour", "usd_per_month", "usd_per_mtok_output", "usd_per_mtok_input", "usd_per_mtok_total"),
    *("usd_per_request", "usd_per_user_month", "usd_committed"),
)
_SPLIT = tuple(f"usd_per_month_{part}" for part in ("used", "idle", "headroom", "redundancy", "stranded"))
_API = ("api_usd_per_month", "api_saving_usd_per_month", "api_break_even_rate", "api_break_even_utilization")


def costs(case: Case, break_even: Chart | None) -> Section:
    """The bill: by way of buying, by denominator, by what it pays for, and against an API."""
    blocks: list[Block] = []
    if (ways := _ways(case)) is not None:
        blocks.append(ways)
    for caption, names in (
        ("One bill, several denominators; always at the average load", _DENOMINATORS),
        ("What the bill of a month pays for", _SPLIT),
        ("Against an API", _API),
    ):
        found = chain_table(case, caption, names)
        if found is not None:
            blocks.append(found)
    if break_even is not None:
        blocks.append(Figure("break-even", break_even))
    priced = {name: case.labels.get(name) for name in ("priced_by", "price_kind", "price_as_of", "price_flag")}
    if priced["price_as_of"]:
        said = f"Prices as of {priced['price_as_of']}: {priced['priced_by']}, {priced['price_kind']}."
        flag = f" price_flag: {priced['price_flag']}." if priced["price_flag"] else ""
        hours = case.input("hours_per_month")
        month = f" A month has {quantity_text('hours_per_month', hours)}." if isinstance(hours, float) else ""
        blocks.append(Note(f"{said}{flag}{month}"))
    elif case.number("usd_per_month") is None:
        blocks.append(Note("No price is known in this cell, so nothing is said about cost.", "warning"))
    return Section("cost", "Cost", tuple(blocks))


def plane_of(case: Case, axes: tuple[str, ...], names: Mapping[str, Any] | tuple[str, ...]) -> xr.Dataset:
    """The measures that the source has of `names`, over `axes`, all else as in the plan."""
    from gridplan.report.charts.source import plane

    held = [name for name in names if case.has(name)]
    at = {name: label for name, label in (case.plan or {}).items() if name not in axes}
    return plane(case.source, held, axes, at)[0]


def _ways(case: Case) -> Table | None:
    """A row per way of buying at the other labels of the plan."""
    axes = tuple(name for name in BUYING if name in case.several)
    names = tuple(name for name in _COLUMNS if case.has(name))
    plan = case.plan or {}
    rows = cell_rows(plane_of(case, axes, names), axes, names)
    combinations = list(product(*(case.axes[name] for name in axes)))
    order = sorted(range(len(rows)), key=lambda at: (_rank(rows[at].get("usd_per_month")), at))
    kept = sorted(order[:MOST_ROWS])
    if not axes:
        title = case.labels.get("priced_by") or "the plan"
        shown = [(Cell(str(title)), *(cell(name, rows[0][name]) for name in names))]
    else:
        shown = []
        for at in kept:
            mine = all(plan[name] == label for name, label in zip(axes, combinations[at], strict=True))
            label = ", ".join(map(format_label, combinations[at])) + (" (this plan)" if mine else "")
            shown.append((Cell(label, None, mine), *(cell(name, rows[at][name], mine) for name in names)))
    note = f"{len(rows) - len(kept):,} dearer ones are left out." if len(rows) > len(kept) else ""
    used = [at for at, name in enumerate(names) if any(row[at + 1].text != "-" for row in shown)]
    heads = (" and ".join(axes) or "bought as", *(head(names[at], _COLUMNS[names[at]]) for at in used))
    return table("Cost by way of buying", heads, [(row[0], *(row[at + 1] for at in used)) for row in shown], note)


def _rank(bill: float | None) -> tuple[int, float]:
    return (1, 0.0) if bill is None else (0, bill)
