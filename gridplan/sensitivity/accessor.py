"""`cube.gridplan`: questions of choice and of sensitivity asked of a cube, as an accessor of xarray.

It is there once this module is imported, or `gridplan.evaluate` or `gridplan.open_cube` was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    import pandas as pd

    from gridplan.contract.grid import Grid
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
