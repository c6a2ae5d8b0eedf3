"""Plan a grid part by part and write it as a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import Plan, plan_columns
from gridplan.engine.evaluate import attributes
from gridplan.engine.inputs import build_inputs
from gridplan.engine.size import check_cap
from gridplan.engine.summary import Summary
from gridplan.engine.tables import catalog_hash, dimension_tables
from gridplan.store.blocks import Block, Part
from gridplan.store.dims import write_dims
from gridplan.store.folder import prepare_folder, spreadsheet_warning
from gridplan.store.layout import ROWS_PER_PART
from gridplan.store.manifest import Manifest, Origin, write_manifest
from gridplan.store.parquet import Compression, Receipt, WriteOptions, write_part

__all__ = ["DEFAULT_MAX_CELLS", "RunResult", "run"]

DEFAULT_MAX_CELLS = 5_000_000
"""Cells above which `run` refuses unless told otherwise (policy of this project)."""


@dataclass(frozen=True)
class RunResult:
    """What a run wrote and found."""

    folder: Path
    rows: int
    bytes: int
    parts: int
    summary: Summary
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "folder": str(self.folder),
            "rows": self.rows,
            "bytes": self.bytes,
            "parts": self.parts,
            **self.summary.to_dict(),
            "warnings": list(self.warnings),
        }


def run(
    grid: Grid,
    folder: str | Path,
    *,
    force: bool = False,
    max_cells: int = DEFAULT_MAX_CELLS,
    outputs: Iterable[str] | None = None,
    compression: Compression = "zstd",
    single_file: bool = False,
) -> RunResult:
    """Plan every combination of `grid` and write the cube to `folder`.

    The folder holds `facts/part-*.parquet` (one row per cell), `dims/*.parquet` (what the labels mean, and the data
    dictionary) and `manifest.json`, written last. Memory does not grow with the cube.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    folder
        Where to write; must be new or empty unless `force`, which replaces a cube and touches nothing else.
    max_cells
        Refuse larger grids.
    outputs
        Measures to compute and write; all by default.
    compression
        `zstd`, `snappy` or `none`.
    single_file
        Write one part whatever the size.

    Raises
    ------
    ContractError
        If an input is wrong, with every problem; nothing is written then.
    GridTooLargeError
        If the grid has more than `max_cells` cells.
    StoreError
        If the folder cannot be used or the disk refuses.
    """
    check_cap(grid, max_cells)
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, outputs)
    target = prepare_folder(folder, force)
    attrs = attributes(inputs)
    options = WriteOptions(compression=compression, grid_name=grid.name, package_version=attrs["gridplan_version"])
    parts = plan.layout.parts(None if single_file else ROWS_PER_PART)
    summary = Summary(plan.layout)
    evaluator = BlockEvaluator(inputs, plan)
    receipts = tuple(_write(target, plan, part, evaluator, summary, options) for part in parts)
    dims = write_dims(target, plan.layout, dimension_tables(inputs), options)
    origin = _origin(inputs, attrs)
    said = {
        "compression": compression,
        "single_file": single_file,
        "outputs": None if outputs is None else list(outputs),
    }
    write_manifest(target, Manifest(plan.layout, origin, parts, receipts, dims, said, attrs))
    wide = spreadsheet_warning(plan.layout.cells)
    return RunResult(
        folder=target,
        rows=plan.layout.cells,
        bytes=sum(receipt.bytes for receipt in receipts),
        parts=len(parts),
        summary=summary,
        warnings=(*inputs.warnings, *((wide,) if wide else ()), *summary.warnings()),
    )


def _write(
    target: Path, plan: Plan, part: Part, evaluator: BlockEvaluator, summary: Summary, options: WriteOptions
) -> Receipt:
    def evaluate(block: Block) -> dict[str, Array]:
        arrays = evaluator(block)
        summary.add(block, arrays)
        return arrays

    return write_part(target, plan.layout, part, evaluate, options)


def _origin(inputs: Inputs, attrs: dict[str, str]) -> Origin:
    return Origin(
        package_version=attrs["gridplan_version"],
        grid_name=inputs.grid.name,
        grid_text=inputs.grid.text,
        grid_sha256=inputs.grid.sha256,
        catalog_sha256=catalog_hash(inputs.catalog),
    )
