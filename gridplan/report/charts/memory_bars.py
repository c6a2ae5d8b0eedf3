"""Where the memory of one GPU goes, as pieces of a bar that lie one behind the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.catalog import Catalog, load_catalog
from gridplan.contract.grid import Grid
from gridplan.engine.cell import label_index
from gridplan.engine.inputs import build_inputs
from gridplan.report.budget import TERMS, BudgetLine, budget_lines
from gridplan.report.charts.rows import Row, cell_rows
from gridplan.report.charts.source import axes_of_source, drawn_at, plane
from gridplan.sensitivity.cells import cube_of, inputs_at, labelled_field

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["KINDS", "MEASURED", "OVER", "POOL", "REST", "UNEXPLAINED", "Bar", "Piece", "bars_of"]

POOL, MEASURED, UNEXPLAINED, OVER = "KV pool", "KV pool as measured", "not explained", "more than is left"
REST = "not for the engine"
KINDS = (*TERMS.values(), "workspace", POOL, MEASURED, UNEXPLAINED, OVER, REST)
"""Names of pieces in their order."""

_INPUTS = ("gpu_memory_bytes", "gpu_memory_utilization", "fraction_of_free", "tensor_parallel")
_GIVEN = ("kv_pool_bytes_given", "kv_pool_tokens_given")
_NEEDED = (
    *("usable_memory_bytes_per_gpu", "kv_pool_bytes_per_gpu", "workspace_bytes_per_gpu"),
    *(f"{name}_bytes_per_gpu" for name in TERMS),
    "infeasible_reason",
)
_TOLD = ("kv_pool_tokens", "concurrency_memory_worst", "gpus_per_replica")
_ALIKE = 1e-9


@dataclass(frozen=True)
class Piece:
    """One piece of a bar, from where to where [bytes]."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    """The memory of one GPU: its pieces, empty where it is not known, what the engine may use, and all of it [bytes].

    `missing` is what the terms take beyond the usable memory; `row` holds the columns of the cell.
    """

    label: str | float | None
    pieces: tuple[Piece, ...]
    usable: float
    total: float | None
    missing: float
    row: Row

    @property
    def pool(self) -> float:
        """Bytes of the pool that counts: the measured one where there is one."""
        return sum(piece.high - piece.low for piece in self.pieces if piece.name in (POOL, MEASURED, OVER))


def bars_of(
    source: Grid | xr.Dataset | str | Path, along: str | None, at: Mapping[str, str | float] | None
) -> tuple[list[Bar], dict[str, str | float]]:
    """A bar for each label of `along`, and the labels at which it is.

    Raises ContractError for axes and labels that are not there or left open, and for columns that a cube lacks.
    """
    drawn = () if along is None else (along,)
    if isinstance(source, Grid):
        rows, fixed, catalog = _of_grid(source, drawn, at)
        return [_bar(row, along, catalog, True) for row in rows], fixed
    cube, fixed = plane(source, _NEEDED, drawn, at, _TOLD)
    held = [name for name in (*_NEEDED, *_TOLD) if name in cube.variables]
    catalog = load_catalog()
    return [_bar(row, along, catalog, False) for row in cell_rows(cube, drawn, held)], fixed


def _of_grid(
    grid: Grid, drawn: Sequence[str], at: Mapping[str, str | float] | None
) -> tuple[list[dict[str, Any]], dict[str, str | float], Catalog]:
    labels = drawn_at(grid, drawn, at)
    inputs = inputs_at(grid, label_index(build_inputs(grid), labels))
    cube = cube_of(inputs, (*_NEEDED, *_TOLD))
    cube = cube.isel({str(name): 0 for name in cube.sizes if name not in drawn}, drop=True)
    fields = {**inputs.values, **inputs.stated}
    extra = {name: labelled_field(inputs, fields[name]) for name in (*_INPUTS, *_GIVEN)}
    cube = cube.drop_vars([name for name in extra if name in cube.variables and name not in drawn])
    cube = cube.assign({name: item for name, item in extra.items() if name not in drawn})
    names = dict.fromkeys((*_NEEDED, *_TOLD, *_INPUTS, *_GIVEN))
    rows = cell_rows(cube, drawn, [name for name in names if name not in drawn])
    axes = axes_of_source(grid)
    shown = {name: label for name, label in labels.items() if len(axes[name]) > 1 and label != "nominal"}
    return rows, shown, inputs.catalog


def _bar(row: Mapping[str, Any], along: str | None, catalog: Catalog, whole: bool) -> Bar:
    known = {name: math.nan if value is None else value for name, value in row.items() if not isinstance(value, str)}
    if not whole:
        known |= _as_inputs(known)
    lines = budget_lines(known, None, catalog, frozenset())
    pieces, missing = _pieces(lines, known["gpu_memory_bytes"], known["usable_memory_bytes_per_gpu"])
    total = float(known["gpu_memory_bytes"]) if whole and lines else None
    label = None if along is None else row[along]
    return Bar(label, pieces, float(known["usable_memory_bytes_per_gpu"]), total, missing, row)


def _as_inputs(known: Mapping[str, float]) -> dict[str, float]:
    """What a cube does not hold: its GPU ends where usable memory does, and a pool of another size was measured."""
    usable, pool = known["usable_memory_bytes_per_gpu"], known["kv_pool_bytes_per_gpu"]
    terms = known["workspace_bytes_per_gpu"] + known["weights_bytes_per_gpu"]
    given = math.nan if math.isclose(max(usable - terms, 0.0), pool, rel_tol=_ALIKE, abs_tol=1.0) else pool
    found = {"gpu_memory_bytes": usable, "gpu_memory_utilization": 1.0, "fraction_of_free": 0.0}
    return {**found, "kv_pool_bytes_given": given, "kv_pool_tokens_given": math.nan}


def _pieces(lines: Sequence[BudgetLine], total: float, usable: float) -> tuple[tuple[Piece, ...], float]:
    """The lines of the column laid one behind the other, and what they take beyond usable memory."""
    if not lines:
        return (), 0.0
    found: list[Piece] = []
    sizes = {line.name: line.bytes for line in lines}
    at = 0.0
    for line in lines:
        if line.name in KINDS and line.sign == "-":
            found.append(Piece(line.name, at, at + line.bytes))
            at += line.bytes
    room = sizes[POOL]
    if MEASURED in sizes:
        measured = sizes[MEASURED]
        within = min(measured, max(room, 0.0))
        found += [Piece(MEASURED, at, at + within), Piece(UNEXPLAINED, at + within, at + max(room, within))]
        found.append(Piece(OVER, at + max(room, within), at + max(room, within) + measured - within))
    elif room > 0.0:
        found.append(Piece(POOL, at, at + room))
    end = max(piece.high for piece in found)
    found.append(Piece(REST, end, max(end, total)))
    # An engine that takes a share of what is free has no fixed part: only all of the memory can be exceeded.
    limit = total if "free after loading" in sizes else usable
    return tuple(piece for piece in found if piece.high > piece.low), max(at - limit, 0.0)
