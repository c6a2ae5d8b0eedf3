"""`cube.gridplan`: questions of choice and of sensitivity asked of a cube, as an accessor of xarray.

It is there once this module is imported, or `gridplan.evaluate` or `gridplan.open_cube` was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    from gridplan.contract.grid import Grid

__all__ = ["GridplanAccessor"]


@xr.register_dataset_accessor("gridplan")  # type: ignore[no-untyped-call]
class GridplanAccessor:
    """Methods of a cube; each takes the arguments of the function of the same name."""

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

    def factorial(self, measure: str, weights: Mapping[str, Any] | None = None) -> Any:
        """Shares of the variance of a measure by axis."""
        return import_module("gridplan.sensitivity.factorial").factorial_indices(self._cube[measure], weights)

    def tornado(
        self,
        vary: Mapping[str, Any],
        measures: str | Iterable[str],
        *,
        grid: Grid,
        at: Mapping[str, str | float] | None = None,
    ) -> Any:
        """Swings of measures when inputs move one at a time, which needs the `grid` that this cube was planned from."""
        return import_module("gridplan.sensitivity.tornado").tornado(grid, vary, measures, at)

    def break_even(self, *args: Any, **kwargs: Any) -> Any:
        """Where two choices cost the same."""
        return import_module("gridplan.sensitivity.thresholds").break_even(self._cube, *args, **kwargs)
