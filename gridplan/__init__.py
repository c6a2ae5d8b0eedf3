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
    from gridplan.engine.evaluate import evaluate
    from gridplan.engine.fleets.pair import pair
    from gridplan.engine.fleets.pool import pool
    from gridplan.engine.inverse.solve import solve
    from gridplan.engine.reduce import reduce
    from gridplan.engine.run import run
    from gridplan.errors import CatalogError, ContractError, GridplanError, GridTooLargeError, StoreError
    from gridplan.report.explain import explain
    from gridplan.sensitivity.best import best
    from gridplan.sensitivity.break_even import break_even
    from gridplan.sensitivity.thresholds import invert
    from gridplan.store.open import open_cube

__version__ = "0.1.0"

_PLACES = {
    "load_grid": "gridplan.contract",
    "loads_grid": "gridplan.contract",
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
    "explain": "gridplan.report.explain",
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
    "best",
    "break_even",
    "evaluate",
    "explain",
    "formulas",
    "invert",
    "load_grid",
    "loads_grid",
    "open_cube",
    "pair",
    "pool",
    "reduce",
    "run",
    "solve",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "formulas":
        return importlib.import_module("gridplan.formulas")
    if name not in _PLACES:
        raise AttributeError(f"module 'gridplan' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
