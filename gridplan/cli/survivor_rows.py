"""The cheapest plans that survive the loss of a node as rows of text; loads that follow each other share a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

__all__ = ["labels_text", "survivor_rows"]

_LOAD, _SHOWN_APART = "arrival_rate", ("model", "arrival_rate", "scenario")


def survivor_rows(question: str, plans: Sequence[Mapping[str, Any]]) -> list[str]:
    """A heading and a row for each plan; one row where the same plan is the cheapest of several loads in a row."""
    if not plans:
        return ["", f"no plan survives the loss of a node ({question})"]
    rows = ["", f"cheapest plan of each load that survives the loss of a node ({question}), USD/h"]
    model = None
    for (name, usd, nodes, at), group in groupby(plans, key=_same):
        if name != model and name:
            rows.append(f"  {name}")
        model = name
        rows.append(f"    {_loads(list(group)):<26}{usd:>12,.2f}  {nodes:>5,.0f} nodes  {at}")
    return rows


def _same(plan: Mapping[str, Any]) -> tuple[str, float, float, str]:
    return plan["model"], plan["usd_per_hour"], plan["nodes"], labels_text(plan["labels"], *_SHOWN_APART)


def _loads(plans: Sequence[Mapping[str, Any]]) -> str:
    rates = [plan["labels"][_LOAD] for plan in plans if _LOAD in plan["labels"]]
    if not rates:
        return ""
    return f"{_LOAD} {rates[0]:.6g}" + (f" to {rates[-1]:.6g}" if len(rates) > 1 else "")


def labels_text(labels: Mapping[str, Any], *without: str) -> str:
    """Labels as `name=label`, separated by commas."""
    return ", ".join(
        f"{name}={label if isinstance(label, str) else format(label, '.6g')}"
        for name, label in labels.items()
        if name not in without
    )
