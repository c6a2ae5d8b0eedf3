"""What a run wrote and found, as notebooks show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gridplan.engine.survivors import WITHOUT_SPOT
from gridplan.markup import columns, element, number, page, section, table, warnings
from gridplan.quantities import format_labels, format_quantity

if TYPE_CHECKING:
    from gridplan.engine.run import RunResult

__all__ = ["run_html"]

_COUNTS = {
    "binding_constraint": "what binds",
    "infeasible_reason": "why there is no plan",
    "lambda_basis": "what the rate of a replica rests on",
    "latency_flag": "latencies to be doubted",
    "latency_source": "where latencies come from",
}


def run_html(result: RunResult) -> str:
    """The page; counts and prices have all their digits as the values of their elements."""
    found = result.summary.to_dict()
    counts = [row for key, title in _COUNTS.items() for row in _counted(title, found[key])]
    parts: list[object] = [columns(_size(result, found)), warnings(result.warnings)]
    if counts:
        parts.append(section("Counts of cells", table(("", "label", "cells"), counts, numeric=("cells",))))
    if found["cheapest"]:
        rows = [
            (
                best["model"] or "all cells",
                number(format_quantity(best["usd_per_mtok_output"], "USD/Mtok"), best["usd_per_mtok_output"]),
                _labels(best["labels"]),
            )
            for best in found["cheapest"]
        ]
        heads = ("cheapest plan of each model", "1M output tokens", "at")
        parts.append(table(heads, rows, numeric=heads[1:2]))
    spot = f" and {WITHOUT_SPOT}" if result.summary.survivors.without_spot else ""
    parts += [
        _surviving(f"{question}{spot}", plans) for question, plans in found["cheapest_surviving"].items() if plans
    ]
    return page(f"{result.folder}", *parts)


def _size(result: RunResult, found: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """How much there is; a size on disk is rounded, for it differs with the libraries that compress."""
    yield "cells", number(f"{result.cells:,}", result.cells)
    if result.rows != result.cells:
        yield "rows, without cells that have no plan", number(f"{result.rows:,}", result.rows)
    if found["feasible"] is not None:
        yield "cells with a plan", number(f"{found['feasible']:,} ({found['feasible_share']:.1%})", found["feasible"])
    if found["slo_missed"]:
        yield "of them, a limit is missed in", number(f"{found['slo_missed']:,}", found["slo_missed"])
    yield "files of cells", f"{result.parts:,}, {result.bytes / 1e6:,.1f} MB"
    if result.resumed:
        yield "files that stood already", f"{result.resumed:,}"


def _counted(title: str, counts: Mapping[str, int]) -> Iterator[tuple[object, ...]]:
    for label, count in counts.items():
        yield title, element("code", label), number(f"{count:,}", count)


def _surviving(question: str, plans: list[dict[str, Any]]) -> object:
    """The cheapest plans of each load that survive a loss."""
    rows = [
        (
            plan["model"] or "all cells",
            number(format_quantity(plan["usd_per_hour"], "USD/h"), plan["usd_per_hour"]),
            number(format_quantity(plan["nodes"], "count"), plan["nodes"]),
            _labels(plan["labels"]),
        )
        for plan in plans
    ]
    heads = ("model", "bill", "nodes", "at")
    return section(f"Cheapest plan of each load with {question} ({len(plans)})", table(heads, rows, heads[1:3]))


def _labels(labels: Mapping[str, str | float]) -> str:
    return format_labels((name, label) for name, label in labels.items() if name != "model")
