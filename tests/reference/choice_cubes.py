"""Small random cubes with ties, cells without a plan and nulls, and what one loop over their cells finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

AXES = ("gpu", "arrival_rate", "purchase", "scenario", "tensor_parallel")
LEVERS = ("gpu", "purchase", "tensor_parallel")
WORLD = ("arrival_rate", "scenario")


def random_cube(seed: int) -> xr.Dataset:
    """A cube over some of the axes in random order; each measure on axes of its own."""
    rng = np.random.default_rng(seed)
    axes = [str(name) for name in rng.permutation(AXES)[: rng.integers(1, 6)]]
    coords: dict[str, Any] = {}
    for name in axes:
        size = int(rng.integers(1, 4))
        numeric = name in ("arrival_rate", "tensor_parallel")
        labels = 2.0 ** np.arange(size) if numeric else np.array([f"{name}{i}" for i in range(size)], dtype=object)
        coords[name] = (name, labels)
    sizes = {name: len(labels) for name, (_, labels) in coords.items()}

    def some(values: Any) -> tuple[list[str], Any]:
        dims = [name for name in axes if rng.random() < 0.8]
        return dims, values(tuple(sizes[name] for name in dims))

    def numbers(shape: tuple[int, ...]) -> Any:
        found = rng.integers(-2, 5, shape).astype(np.float64)
        return np.where(rng.random(shape) < 0.1, np.nan, found)

    data = {
        "status": some(lambda s: np.where(rng.random(s) < 0.25, "infeasible", "ok").astype(object)),
        "usd_per_hour": some(numbers),
        "tpot_s": some(numbers),
        "nodes": some(numbers),
        "fleet_sufficient": some(lambda s: np.where(rng.random(s) < 0.1, 0.0, 1.0)),
    }
    return xr.Dataset(data, coords)


def cells(cube: xr.Dataset) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Labels and values of every cell, in declared order."""
    axes = [str(name) for name in cube.coords]
    for place in itertools.product(*(range(cube.sizes[name]) for name in axes)):
        at = dict(zip(axes, place, strict=True))
        values = {
            str(name): cube[name].values[tuple(at[dim] for dim in map(str, cube[name].dims))] for name in cube.data_vars
        }
        yield {name: cube[name].values[where] for name, where in at.items()}, values


def reason(values: dict[str, Any], measures: tuple[str, ...], most_nodes: float | None = None) -> str | None:
    """Why a cell is left out, or None."""
    if values["status"] != "ok":
        return "infeasible"
    if values["fleet_sufficient"] == 0:
        return "fleet_sufficient false"
    if most_nodes is not None and np.isnan(values["nodes"]):
        return "nodes null"
    if most_nodes is not None and not values["nodes"] <= most_nodes:
        return f"not nodes <= {most_nodes:g}"
    return next((f"{name} null" for name in measures if np.isnan(values[name])), None)
