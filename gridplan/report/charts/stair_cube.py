"""What a cube knows of a stair: the plan at each of its labels, and up to which rate it suffices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.quantities import format_label
from gridplan.report.charts.rows import Row, cell_rows
from gridplan.report.charts.source import plane
from gridplan.report.charts.stair_contract import SHORT, of_nodes
from gridplan.report.charts.stair_walk import Plan, Stair, Step

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["at_labels"]

RATE = "arrival_rate"
_OF_RATE = ("arrival_rate_next_step", "replicas_active", "lambda_safe", "replicas_fractional")
_LEVEL = ("replicas", "replicas_active", "gpus")
"""Measures beside bills and nodes that change with a replica only."""

_ALIKE = 1e-9


def at_labels(
    source: Grid | xr.Dataset | str | Path,
    measure: str,
    x: str,
    by: str | None,
    at: Mapping[str, str | float] | None,
) -> tuple[list[Stair], dict[str, str | float]]:
    """The plans at the labels of `x` and, over arrival rates, as much of each step as its plan says; where that is.

    Raises ContractError for measures, axes and labels that are not there, and for axes left open.
    """
    drawn = (x,) if by is None else (by, x)
    names = (measure, "infeasible_reason")
    optional = [name for name in ("nodes", "gpus", "fleet_sufficient", *_OF_RATE) if name not in names]
    if isinstance(source, Grid):
        cube, fixed = plane(source, (*names, *optional), drawn, at)
    else:
        cube, fixed = plane(source, names, drawn, at, optional)
    held = list(dict.fromkeys([*names, *(name for name in optional if name in cube.variables)]))
    series: dict[Any, list[Row]] = {}
    for row in cell_rows(cube, drawn, held):
        series.setdefault(None if by is None else row[by], []).append(row)
    stairs = []
    for label, rows in series.items():
        rows.sort(key=lambda row: float(row[x]))
        ends = _ends(rows, measure) if x == RATE else [None] * len(rows)
        stairs.append(_stair("" if label is None else format_label(label), rows, ends, measure, x))
    return stairs, fixed


def _stair(label: str, rows: Sequence[Row], ends: Sequence[float | None], measure: str, x: str) -> Stair:
    steps: list[Step] = []
    points: list[Plan] = []
    for row, end, after in zip(rows, ends, [*rows[1:], None], strict=True):
        rate = float(row[x])
        here = {measure: row[measure], "nodes": row.get("nodes")}
        why = row["infeasible_reason"] or _why(row, measure)
        far = (
            rate if end is None or why is not None else max(rate, min(end, rate if after is None else float(after[x])))
        )
        steps.append(Step(rate, far, why, here))
        if why is None:
            points.append(Plan(rate, far, None, here))
    return Stair(label, steps, float(rows[-1][x]), points)


def _why(row: Row, measure: str) -> str | None:
    if row.get("fleet_sufficient") == 0:
        return SHORT
    return f"{measure} is null" if row[measure] is None else None


def _ends(rows: Sequence[Row], measure: str) -> list[float | None]:
    """Up to which rate each plan stays what it is; None where the cube does not say so."""
    known = [row for row in rows if row[measure] is not None and row["infeasible_reason"] is None]
    if not (_is_level(known, measure) and all(_says_its_rate(row) for row in known)):
        return [None] * len(rows)
    found: list[float | None] = []
    for row in rows:
        end = row.get("arrival_rate_next_step")
        if end is not None and not of_nodes(measure):
            active, safe = row.get("replicas_active"), row.get("lambda_safe")
            end = min(end, active * safe) if active is not None and safe is not None else None
        found.append(end)
    return found


def _is_level(rows: Sequence[Row], measure: str) -> bool:
    """Whether the measure is the same all over a step: counts are, and bills that are a price times the nodes."""
    if measure in _LEVEL or measure.startswith(("nodes", "gpus_deployed")):
        return True
    if not of_nodes(measure):
        return False
    counted = [(row, row.get("nodes") or row.get("gpus")) for row in rows]
    prices = [row[measure] / count if count else math.nan for row, count in counted]
    return all(math.isclose(price, prices[0], rel_tol=_ALIKE) for price in prices)


def _says_its_rate(row: Row) -> bool:
    """Whether the rate that arrives is the label: a scenario may change it, and steps are of what arrives."""
    fractional, safe = row.get("replicas_fractional"), row.get("lambda_safe")
    if fractional is None or safe is None:
        return False
    return math.isclose(fractional * safe, float(row[RATE]), rel_tol=1e-6)
