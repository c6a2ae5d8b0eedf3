"""The cheapest plans that survive the loss of a node as rows of text; loads that follow each other share a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

__all__ = ["labels_text", "survivor_rows"]

ASSUMED = ("reserved", "owned", "portfolio")
"""Kinds of purchase whose price no catalog has."""

_LOAD, _SHOWN_APART = "arrival_rate", ("model", "arrival_rate", "scenario")


def survivor_rows(question: str, plans: Sequence[Mapping[str, Any]], without_spot: bool = False) -> list[str]:
    """A heading and a row for each plan; one row where the same plan is the cheapest of several loads in a row.

    `without_spot` says that plans which fall with their spot nodes were left out. Below stands what the prices are.
    """
    what = f"the loss of a node ({question})" + (" and of all spot (slo_held_without_spot)" if without_spot else "")
    if not plans:
        return ["", f"no plan survives {what}"]
    rows = ["", f"cheapest plan of each load that survives {what}, USD/h"]
    model = None
    for (name, usd, nodes, at), group in groupby(plans, key=_same):
        if name != model and name:
            rows.append(f"  {name}")
        model = name
        rows.append(f"    {_loads(list(group)):<26}{usd:>12,.2f}  {nodes:>5,.0f} nodes  {at}")
    assumed = [name for name in ASSUMED if any(plan["labels"].get("purchase") == name for plan in plans)]
    if assumed:
        rows.append(f"  prices of purchase {' and '.join(assumed)} are assumptions of the contract, not offers")
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
