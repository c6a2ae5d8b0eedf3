"""Random cubes in which plans tie, are measured or not, and are left out for every reason that there is."""

from __future__ import annotations

import numpy as np
from stored_cubes import Cube

from gridplan.store import AxisSpec, Column, make_layout

__all__ = ["contest_cube"]

AXES = (
    AxisSpec("model", ("b", "a", "B"), True, "label"),
    AxisSpec("arrival_rate", (10.0, 0.1, 1e6), False, "req/s"),
    AxisSpec("gpu", ("h100", "H100", "=1", "08"), True, "label"),
    AxisSpec("purchase", ("spot", "reserved"), True, "label"),
)
SHAPE = tuple(len(axis.labels) for axis in AXES)
SOURCES = ("analytical", "measured", "scaled")


def contest_cube(seed: int) -> Cube:
    """A cube of 72 cells: prices that are equal, equal within 1e-12 or not; each measure on axes of its own."""
    rng = np.random.default_rng(seed)
    names = tuple(axis.name for axis in AXES)
    columns, arrays = [], {}

    def add(name: str, dtype: str, values: np.ndarray, labels: tuple[str, ...] = (), everywhere: bool = False) -> None:
        dims = [place for place in range(len(SHAPE)) if everywhere or rng.random() < 0.7]
        columns.append(Column(name, "measure", dtype, tuple(names[at] for at in dims), labels, {}))  # type: ignore[arg-type]
        arrays[name] = values[tuple(slice(None) if at in dims else slice(0, 1) for at in range(len(SHAPE)))]

    plan = rng.random(SHAPE) > 0.3
    plan[0, 1] = False
    add("status", "string", np.where(plan, 0, 1), ("ok", "infeasible"), True)
    add("infeasible_reason", "string", np.where(plan, -1, 0), ("memory_exceeded",), True)
    price = rng.integers(1, 4, SHAPE) * (1 + 1e-12 * rng.integers(-1, 2, SHAPE)) - (2.0 if seed % 3 == 0 else 0.0)
    add("usd_per_mtok_output", "float64", np.where(plan & (rng.random(SHAPE) > 0.1), price, np.nan), (), True)
    for name, share in (("fleet_sufficient", 0.1), ("slo_held", 0.2)):
        if rng.random() < 0.7:
            flags = np.where(rng.random(SHAPE) < share, 0.0, 1.0)
            add(name, "bool", np.where(rng.random(SHAPE) < 0.1, np.nan, flags))
    if rng.random() < 0.8:
        add("anchor_ratio", "float64", rng.choice([np.nan, 0.49, 0.5, 1.0, 2.0, 2.01], SHAPE))
        add("capacity_source", "string", rng.integers(0, 3, SHAPE), SOURCES)  # known of every plan
    return Cube(make_layout(AXES, columns), arrays)
