"""gridplan plans LLM-serving capacity as one computation over a labelled cube.

>>> import gridplan
>>> grid = gridplan.load_grid("grids/quickstart.yaml")  # doctest: +SKIP
>>> cube = gridplan.evaluate(grid)                      # doctest: +SKIP

The names below are imported when first used, so that `import gridplan` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridplan import formulas
    from gridplan.contract import load_grid, loads_grid
    from gridplan.engine.cluster.current import cluster
    from gridplan.engine.evaluate import evaluate
    from gridplan.engine.fleets.pair import pair
    from gridplan.engine.fleets.pool import pool
    from gridplan.engine.inverse.solve import solve
    from gridplan.engine.reduce import reduce
    from gridplan.engine.run import run
    from gridplan.errors import CatalogError, ContractError, GridplanError, GridTooLargeError, StoreError
    from gridplan.explore.static import explorer_page
    from gridplan.export.handover import export_cube
    from gridplan.query.slice import slice_cube
    from gridplan.report import charts
    from gridplan.report.explain import explain
    from gridplan.report.record import record, write_record
    from gridplan.sensitivity.axis_indices import axis_indices, factorial_indices
    from gridplan.sensitivity.best import best
    from gridplan.sensitivity.break_even import break_even
    from gridplan.sensitivity.choice import cheapest
    from gridplan.sensitivity.diff import diff
    from gridplan.sensitivity.elasticities import elasticities
    from gridplan.sensitivity.input_indices import input_indices, sobol_indices
    from gridplan.sensitivity.pareto import pareto
    from gridplan.sensitivity.regret import regret
    from gridplan.sensitivity.sampling import sample
    from gridplan.sensitivity.stress import stress
    from gridplan.sensitivity.thresholds import invert
    from gridplan.sensitivity.tornado import tornado
    from gridplan.store.open import open_cube

__version__ = "0.1.0"

_ROOMS = {"formulas": "gridplan.formulas", "charts": "gridplan.report.charts"}
"""Modules whose functions are used under their names."""

_OF_CUBES = ("evaluate", "open_cube")
"""What gives a cube, and with it the accessor `cube.gridplan`."""

_PLACES = {
    "load_grid": "gridplan.contract",
    "loads_grid": "gridplan.contract",
    "cluster": "gridplan.engine.cluster.current",
    "evaluate": "gridplan.engine.evaluate",
    "reduce": "gridplan.engine.reduce",
    "run": "gridplan.engine.run",
    "solve": "gridplan.engine.inverse.solve",
    "invert": "gridplan.sensitivity.thresholds",
    "break_even": "gridplan.sensitivity.break_even",
    "best": "gridplan.sensitivity.best",
    "pool": "gridplan.engine.fleets.pool",
    "pair": "gridplan.engine.fleets.pair",
    "open_cube": "gridplan.store.open",
    "slice_cube": "gridplan.query.slice",
    "export_cube": "gridplan.export.handover",
    "explain": "gridplan.report.explain",
    "explorer_page": "gridplan.explore.static",
    "record": "gridplan.report.record",
    "write_record": "gridplan.report.record",
    "axis_indices": "gridplan.sensitivity.axis_indices",
    "factorial_indices": "gridplan.sensitivity.axis_indices",
    "input_indices": "gridplan.sensitivity.input_indices",
    "sobol_indices": "gridplan.sensitivity.input_indices",
    "sample": "gridplan.sensitivity.sampling",
    "cheapest": "gridplan.sensitivity.choice",
    "pareto": "gridplan.sensitivity.pareto",
    "regret": "gridplan.sensitivity.regret",
    "stress": "gridplan.sensitivity.stress",
    "tornado": "gridplan.sensitivity.tornado",
    "elasticities": "gridplan.sensitivity.elasticities",
    "diff": "gridplan.sensitivity.diff",
    "CatalogError": "gridplan.errors",
    "ContractError": "gridplan.errors",
    "GridTooLargeError": "gridplan.errors",
    "GridplanError": "gridplan.errors",
    "StoreError": "gridplan.errors",
}

__all__ = [
    "CatalogError",
    "ContractError",
    "GridTooLargeError",
    "GridplanError",
    "StoreError",
    "__version__",
    "axis_indices",
    "best",
    "break_even",
    "charts",
    "cheapest",
    "cluster",
    "diff",
    "elasticities",
    "evaluate",
    "explain",
    "explorer_page",
    "export_cube",
    "factorial_indices",
    "formulas",
    "input_indices",
    "invert",
    "load_grid",
    "loads_grid",
    "open_cube",
    "pair",
    "pareto",
    "pool",
    "record",
    "reduce",
    "regret",
    "run",
    "sample",
    "slice_cube",
    "sobol_indices",
    "solve",
    "stress",
    "tornado",
    "write_record",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _ROOMS:
        return importlib.import_module(_ROOMS[name])
    if name not in _PLACES:
        raise AttributeError(f"module 'gridplan' has no attribute {name!r}")
    if name in _OF_CUBES:
        importlib.import_module("gridplan.report.accessor")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
