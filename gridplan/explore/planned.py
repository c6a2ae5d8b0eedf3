"""Cells of a contract, planned when they are asked for: a grid of any size opens at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cut_ranges
from gridplan.engine.columns import Plan, asked, plan_columns
from gridplan.engine.evaluate import arrays_of
from gridplan.engine.inputs import build_inputs
from gridplan.explore.box import Box, Place, cut_axes, recoded
from gridplan.store.cells import check_numbers
from gridplan.store.columns import AxisSpec, Column

__all__ = ["PRICES", "PlannedCells", "planned_cells"]

PRICES = frozenset({"price_flag"})
"""Measures on request that say why a price is missing."""


@dataclass(frozen=True)
class PlannedCells:
    """A contract whose cells are planned when they are asked for; `plan` has all columns that can be.

    Columns that are `hidden` are none of its cube: they say why one of these is null.
    """

    grid: Grid
    inputs: Inputs
    plan: Plan
    hidden: frozenset[str]
    _one_at_a_time: Lock

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in declared order."""
        return self.plan.layout.axes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Coordinates, then measures."""
        return self.plan.layout.given

    def box(self, place: Place, names: Sequence[str]) -> Box:
        """The cells at `place`, as `gridplan.evaluate` plans them.

        Raises StoreError if a number is infinite, or a count above 2**53.
        """
        known = {column.name: column for column in self.columns}
        wanted = [known[name] for name in names]
        ranges = {axis.name: own for axis, own in zip(self.axes, place, strict=True)}
        with self._one_at_a_time:
            cut = cut_ranges(self.inputs, ranges)
            plan = plan_columns(cut, [column.name for column in wanted if column.role == "measure"])
            arrays = arrays_of(cut, plan)
        check_numbers(plan.layout, arrays)
        held = {column.name: column.categories for column in plan.layout.given}
        for column in wanted:
            if column.name not in held:  # a number that a scenario states, where this part has no such scenario
                arrays[column.name] = np.full((1,) * len(place), np.nan)
            elif held[column.name] != column.categories:  # a part names its labels in an order of its own
                arrays[column.name] = recoded(arrays[column.name], held[column.name], column.categories)
        start = tuple(own.start for own in place)
        return Box(
            cut_axes(self.axes, place), tuple(wanted), {column.name: arrays[column.name] for column in wanted}, start
        )


def planned_cells(grid: Grid, outputs: Iterable[str] | None = None, also: Iterable[str] = ()) -> PlannedCells:
    """The cells of a contract with the measures `outputs` (as of `gridplan.evaluate`) and those of `also`.

    Raises
    ------
    ContractError
        If an input is missing, unknown or contradictory, with every problem.
    """
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, asked(grid, outputs))
    more = [name for name in also if name not in {column.name for column in plan.layout.given}]
    if more:
        own = [column.name for column in plan.layout.given if column.role == "measure"]
        plan = plan_columns(inputs, [*own, *more])
    return PlannedCells(grid, inputs, plan, PRICES & frozenset(more), Lock())
