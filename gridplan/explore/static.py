"""The page as one file that needs no server: all cells of a cube inside, compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gridplan.contract import load_grid
from gridplan.contract.grid import Grid
from gridplan.engine.columns import named_outputs
from gridplan.errors import ContractError, GridTooLargeError, Problem, suggestion
from gridplan.explore.box import Box, Cells, Place, place_cells
from gridplan.explore.explorer import Explorer, explorer_of
from gridplan.explore.left_out import LEFT_OUT
from gridplan.explore.pack import pack
from gridplan.explore.page import needs_drawing, page
from gridplan.labels import label_positions
from gridplan.store.columns import AxisSpec, Column

__all__ = ["MOST_CELLS", "OWN", "explorer_page", "static_page"]

MOST_CELLS = 2_000_000
"""Cells of a page without a server (policy): some 20 MB, and as many hundred in the memory of a browser."""

OWN = (
    *("status", "infeasible_reason", "binding_constraint", "binding_next", "capacity_source", "capacity_flag"),
    *("latency_flag", "price_flag", "fleet_constraint", "concurrency", "lambda_instance", "lambda_safe"),
    *("replicas", "gpus", "nodes", "gpus_deployed", "fleet_sufficient", "utilization_peak", "tpot_s", "ttft_s"),
    *("usd_per_hour", "usd_per_month", "usd_per_mtok_output", "usd_per_mtok_total", "kv_pool_bytes_per_gpu"),
)
"""Measures that stand in such a page unless others are asked for (policy)."""

NO_WHAT_IF = "this page was written as a file: `gridplan explore` on the contract or the folder plans anew"


@dataclass(frozen=True)
class _Whole:
    """A cube that is in memory: what the page is told is of these columns."""

    axes: tuple[AxisSpec, ...]
    columns: tuple[Column, ...]
    hidden: frozenset[str]
    grid: None = None

    def box(self, place: Place, names: Iterable[str]) -> Box:
        """Nobody asks: the page has all cells."""
        raise NotImplementedError


def explorer_page(
    source: Grid | str | Path,
    outputs: str | Iterable[str] | None = None,
    at: Mapping[str, str | float] | None = None,
) -> str:
    """The explorer of a contract or of the folder of a cube as one HTML page that needs neither server nor network.

    Parameters
    ----------
    source
        A contract, from `gridplan.load_grid` or as a file, or the folder that `gridplan.run` wrote.
    outputs
        Measures in the page; by default those that a plan is judged by, as far as the cube has them.
    at
        Labels at which axes are fixed.

    Returns
    -------
    str
        The page: the same bytes for the same cube, version and libraries.

    Raises
    ------
    ContractError
        For labels and measures that are not there.
    GridTooLargeError
        Above 2,000,000 cells.
    StoreError
        For a folder that holds no finished cube.
    MissingExtraError
        When the extra `explore` is not installed.
    """
    needs_drawing()
    if not isinstance(source, Grid) and Path(source).is_file():
        source = load_grid(source)
    names = named_outputs(outputs)
    return static_page(explorer_of(source, names if isinstance(source, Grid) else None), names, at)


def static_page(
    explorer: Explorer, measures: Iterable[str] | None = None, at: Mapping[str, str | float] | None = None
) -> str:
    """The page with the cells of a cube inside, at the labels of `at`, with `measures` or else those of `OWN` it has.

    Raises
    ------
    ContractError
        For labels and measures that are not there.
    GridTooLargeError
        Above `MOST_CELLS` cells.
    """
    cells: Cells = explorer.cells
    place = _place(cells, at or {})
    if (count := place_cells(place)) > MOST_CELLS:
        raise GridTooLargeError(
            f"{count:,} cells are more than the {MOST_CELLS:,} of a page without a server: fix axes (--at), or serve it"
        )
    names = _columns(cells, measures)
    box = explorer.box(place, [*names, LEFT_OUT], {})
    box = Box(box.axes, box.columns, box.arrays, (0,) * len(place))
    shown = Explorer(_Whole(box.axes, box.columns[:-1], cells.hidden), explorer.title, NO_WHAT_IF)
    return page(shown.about(served=False), gzip.compress(pack(box, compact=True), 9, mtime=0))


def _place(cells: Cells, at: Mapping[str, str | float]) -> Place:
    positions = label_positions({axis.name: axis.labels for axis in cells.axes}, at)
    return tuple(
        range(positions[axis.name], positions[axis.name] + 1) if axis.name in positions else range(len(axis.labels))
        for axis in cells.axes
    )


def _columns(cells: Cells, measures: Iterable[str] | None) -> list[str]:
    """Coordinates and the measures that are asked for, in the order of the cube."""
    known = [column.name for column in cells.columns]
    wanted = OWN if measures is None else tuple(measures)
    unknown = [] if measures is None else [name for name in wanted if name not in known]
    if unknown:
        said = [
            Problem(f"{name} is no measure of this cube{suggestion(name, known)}", key="outputs") for name in unknown
        ]
        raise ContractError(said)
    checks = ("status", "infeasible_reason", "binding_constraint")
    return [
        column.name
        for column in cells.columns
        if column.role == "coord" or column.name in wanted or column.name in checks
    ]
