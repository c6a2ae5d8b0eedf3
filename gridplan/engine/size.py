"""How large a grid is, known before anything is computed."""

from __future__ import annotations

import math

from gridplan.contract.grid import Grid
from gridplan.engine.resolve import space_of
from gridplan.errors import GridTooLargeError

__all__ = ["axis_sizes", "cells_of", "check_cap"]


def axis_sizes(grid: Grid) -> dict[str, int]:
    """Labels of every dimension, outermost first."""
    return {name: len(labels) for name, labels in space_of(grid).labels.items()}


def cells_of(grid: Grid) -> int:
    """Cells of the cube."""
    return math.prod(axis_sizes(grid).values())


def check_cap(grid: Grid, max_cells: int) -> None:
    """Refuse a grid above the cap.

    Raises
    ------
    GridTooLargeError
        Naming the cells, the cap and the largest axes.
    """
    if not isinstance(grid, Grid):
        raise TypeError(f"a grid is due, from gridplan.load_grid, not {type(grid).__name__}")
    sizes = axis_sizes(grid)
    cells = cells_of(grid)
    if cells > max_cells:
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{name} ({size:,})" for name, size in largest)
        raise GridTooLargeError(
            f"{grid.path}: {cells:,} cells are more than the cap of {max_cells:,}; largest axes: {named}; "
            "shorten one, or raise the cap with --max-cells"
        )
