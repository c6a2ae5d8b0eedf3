"""A grid with some of its axes fixed at one label, so that a study plans no more cells than it asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gridplan.contract.grid import Grid
from gridplan.engine.cell import label_positions
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem

__all__ = ["grid_at"]

_KEPT: list[tuple[Grid, dict[str, str | float], Grid]] = []
"""The last cuts, newest first: the same cell asked about again is the same grid, whose inputs are then at hand."""

_MOST_KEPT = 4


def grid_at(grid: Grid, at: Mapping[str, str | float] | None) -> tuple[Grid, dict[str, str | float]]:
    """The grid cut to the labels of `at`, and these labels as the axes write them; every axis stays, with one label.

    Raises ContractError for an unknown axis or label, with the nearest ones, and for a grid that a study has moved.
    """
    labels = space_of(grid).labels
    index = label_positions(labels, at or {})
    if not index:
        return grid, {}
    if grid.shifts:
        raise ContractError([Problem("fix labels before inputs are moved, not after", key="at")])
    axes = tuple(
        replace(axis, labels=(axis.labels[index[axis.name]],)) if axis.name in index else axis for axis in grid.axes
    )
    scenarios, workloads = grid.scenarios, grid.workloads
    if "scenario" in index:
        scenarios = (scenarios[index["scenario"]],)
    if "workload" in index:
        workloads = (workloads[index["workload"]],)
    fixed = {name: labels[name][place] for name, place in index.items()}
    for known, at_labels, cut in _KEPT:
        if known is grid and at_labels == fixed:
            return cut, dict(fixed)
    cut = replace(grid, axes=axes, scenarios=scenarios, workloads=workloads)
    _KEPT[:] = [(grid, fixed, cut), *_KEPT[: _MOST_KEPT - 1]]
    return cut, dict(fixed)
