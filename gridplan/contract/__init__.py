"""Contracts: the YAML file that a person writes, read into a checked and frozen `Grid`.

The reader and its models are imported when first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid

if TYPE_CHECKING:
    from gridplan.contract.load import load_grid, loads_grid
    from gridplan.contract.schema import contract_schema

__all__ = ["Grid", "contract_schema", "load_grid", "loads_grid"]

_PLACES = {"load_grid": "load", "loads_grid": "load", "contract_schema": "schema"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
