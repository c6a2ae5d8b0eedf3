"""`cube.gridplan`: questions of choice and of sensitivity asked of a cube, and charts of it, as an accessor of xarray.

It is there once this module is imported, or `gridplan.evaluate` or `gridplan.open_cube` was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    import pandas as pd

    from gridplan.contract.grid import Grid
    from gridplan.report.charts.chart import Chart
    from gridplan.sensitivity.axis_weights import AxisWeights
    from gridplan.sensitivity.ranges import Spec

__all__ = ["GridplanAccessor"]


@xr.register_dataset_accessor("gridplan")  # type: ignore[no-untyped-call]
class GridplanAccessor:
    """Methods of a cube; each takes the arguments of the function of the same name.

    A cube holds what was planned, not the contract: questions that plan anew take the contract as `grid`.
    """

    def __init__(self, cube: xr.Dataset) -> None:
        self._cube = cube

    def cheapest(self, *args: Any, **kwargs: Any) -> xr.Dataset:
        """The feasible cell with the least measure for each point: `gridplan.cheapest`."""
        from gridplan.sensitivity.choice import cheapest

        return cheapest(self._cube, *args, **kwargs)

    def pareto(self, *args: Any, **kwargs: Any) -> xr.Dataset:
        """Options that nothing beats in all objectives: `gridplan.pareto`."""
        from gridplan.sensitivity.pareto import pareto

        return pareto(self._cube, *args, **kwargs)

    def regret(self, *args: Any, **kwargs: Any) -> xr.Dataset:
        """What a choice made before the world is known costs: `gridplan.regret`."""
        from gridplan.sensitivity.regret import regret

        return regret(self._cube, *args, **kwargs)

    def factorial(self, measure: str, weights: AxisWeights | None = None) -> xr.Dataset:
        """Shares of the variance of a measure by axis: `gridplan.factorial_indices`."""
        from gridplan.sensitivity.axis_indices import factorial_indices

        return factorial_indices(self._cube[measure], weights)

    def tornado(self, ranges: Mapping[str, Spec], *args: Any, grid: Grid, **kwargs: Any) -> pd.DataFrame:
        """Swings of measures as inputs move one at a time: `gridplan.tornado`, of the `grid` of this cube."""
        from gridplan.sensitivity.tornado import tornado

        return tornado(grid, ranges, *args, **kwargs)

    def break_even(self, *args: Any, grid: Grid, **kwargs: Any) -> xr.Dataset:
        """Where two choices cost the same: `gridplan.break_even`, of the `grid` of this cube."""
        from gridplan.sensitivity.break_even import break_even

        return break_even(grid, *args, **kwargs)

    def chart(self, kind: str, *args: Any, grid: Grid | None = None, **kwargs: Any) -> Chart:
        """A chart of this cube: `gridplan.charts.<kind>` with the same arguments but the first.

        Kinds that plan anew (tornado, break_even, measured) are drawn of the `grid` of this cube; others may be, and
        are then planned as far as they ask (stairs between the labels of an axis). A chart shows itself in notebooks;
        `view()` is an Altair chart.

        Raises
        ------
        ContractError
            For an unknown kind, with the nearest; for a grid that is missing, or given where the cube is drawn; for
            what the kind refuses.
        """
        from gridplan.errors import ContractError, Problem, suggestion
        from gridplan.report.charts import KINDS, PLAN_ANEW

        kind = kind.replace("-", "_")
        if kind == "sweep":
            raise ContractError([Problem("a load test is no cube: gridplan.charts.sweep(result) draws it", key="kind")])
        if kind not in KINDS:
            raise ContractError([Problem(f"no such kind of chart {kind!r}{suggestion(kind, KINDS)}", key="kind")])
        if kind in PLAN_ANEW and grid is None:
            raise ContractError([Problem(f"{kind} plans anew: give the contract of this cube", key="grid")])
        source = self._cube if grid is None else grid
        try:
            signature(KINDS[kind]).bind(source, *args, **kwargs)
        except TypeError as error:
            raise ContractError([Problem(f"{kind}: {error}", key="kind")]) from None
        return KINDS[kind](source, *args, **kwargs)
