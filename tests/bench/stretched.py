"""The grid of the benchmarks: the quickstart, its last axis stretched to as many arrival rates as a size asks for.

Everything before the fleet is 1,440 combinations whatever the size, as in any plan that sweeps traffic finely.
"""

from __future__ import annotations

from pathlib import Path

from gridplan.contract import loads_grid
from gridplan.contract.grid import Grid

__all__ = ["CELLS_PER_RATE", "QUICKSTART", "rates_for", "stretched"]

QUICKSTART = Path(__file__).parents[2] / "grids" / "quickstart.yaml"

CELLS_PER_RATE = 7_200
"""Cells of the quickstart per arrival rate: 8 GPUs, 10 models, 3 KV formats, 6 contexts, 5 utilisation targets."""

_AXIS = "arrival_rate: {geomspace: [0.1, 100, 10]}"


def rates_for(cells: float) -> int:
    """Arrival rates that bring the cube closest to `cells`, at least two."""
    return max(2, round(cells / CELLS_PER_RATE))


def stretched(cells: float) -> Grid:
    """The quickstart with about `cells` cells."""
    text = QUICKSTART.read_text(encoding="utf-8")
    if text.count(_AXIS) != 1:
        raise ValueError(f"{QUICKSTART} no longer says {_AXIS}")
    return loads_grid(text.replace(_AXIS, f"arrival_rate: {{geomspace: [0.1, 100, {rates_for(cells)}]}}"))
