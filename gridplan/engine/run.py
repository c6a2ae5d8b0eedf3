"""Plan a grid part by part and write it as a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BLOCK_CELLS
from gridplan.engine.bundle import Inputs
from gridplan.engine.cluster.connect import check_answers, check_scheduler, needs_distributed
from gridplan.engine.cluster.current import scheduler_in_use
from gridplan.engine.cluster.parts import write_parts
from gridplan.engine.cluster.recipe import Recipe
from gridplan.engine.columns import Plan, asked, plan_columns
from gridplan.engine.evaluate import attributes
from gridplan.engine.inputs import build_inputs
from gridplan.engine.job import Job, Progress
from gridplan.engine.simulations import with_simulations
from gridplan.engine.size import check_cap
from gridplan.engine.summary import Summary
from gridplan.engine.tables import catalog_hash, dimension_tables
from gridplan.engine.workers import default_workers
from gridplan.errors import StoreError
from gridplan.spreadsheet import rows_warning
from gridplan.store.dims import write_dims
from gridplan.store.files import Receipt
from gridplan.store.folder import claimed_folder, remove_in_hand
from gridplan.store.intent import Intent, finished_parts, read_intent, remove_intent, write_intent
from gridplan.store.manifest import Manifest, Origin, write_manifest
from gridplan.store.parquet import Compression, WriteOptions
from gridplan.store.place import is_remote
from gridplan.store.refusals import resumable

__all__ = ["DEFAULT_MAX_CELLS", "Progress", "RunResult", "run"]

DEFAULT_MAX_CELLS = 2_000_000_000
"""Cells above which `run` refuses unless told otherwise (policy): some ten minutes and 60 to 100 GB on two cores."""


@dataclass(frozen=True)
class RunResult:
    """What a run wrote and found; `resumed` counts parts that stood already."""

    folder: Path
    cells: int
    rows: int
    bytes: int
    parts: int
    resumed: int
    summary: Summary
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "folder": str(self.folder),
            "rows": self.rows,
            "bytes": self.bytes,
            "parts": self.parts,
            "parts_resumed": self.resumed,
            **self.summary.to_dict(),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"<RunResult {str(self.folder)!r}: {self.cells:,} cells>"

    def _repr_html_(self) -> str:
        from gridplan.engine.run_html import run_html

        return run_html(self)


def run(
    grid: Grid,
    folder: str | Path,
    *,
    force: bool = False,
    resume: bool = False,
    max_cells: int = DEFAULT_MAX_CELLS,
    outputs: Iterable[str] | None = None,
    drop_infeasible: bool = False,
    simulate: bool = False,
    compression: Compression = "zstd",
    single_file: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Plan every combination of `grid` and write the cube to `folder`.

    The folder holds `facts/part-*.parquet` (one row per cell), `dims/*.parquet` (what the labels mean, and the data
    dictionary) and `manifest.json`, written last. Memory does not grow with the cube, and the bytes do not depend on
    the number of workers.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    folder
        Where to write; must be new or empty unless `force` or `resume`. A path, or an address of a store that fsspec
        knows (`s3://bucket/cube`).
    force
        Replace a cube that is there, and nothing else.
    resume
        Finish the run that was stopped there: parts that stand whole are kept, the others written. Refused where the
        grid, the catalog, the version or the options differ.
    max_cells
        Refuse larger grids.
    outputs
        Measures to compute and write; without it those that the contract names, else those of
        every cube, for which `default` stands among others.
    drop_infeasible
        Leave out the rows of cells without a plan; such a folder is read as a table, not as a cube.
    simulate
        Simulate the cells whose latencies no formula predicts (`latency_flag`), some 100 a second and core.
    compression
        `zstd`, `snappy` or `none`.
    single_file
        Write one part whatever the size.
    workers
        Threads that plan and write different parts at once; as many as cores by default, or the cluster of
        `gridplan.cluster` inside of its block.
    scheduler
        Plan on a cluster of dask.distributed in place of threads: the address of its scheduler (`tcp://host:8786`), or
        `local` or `local:4` for processes of this machine. All workers must see `folder` under the same path.
    progress
        Called with the number of cells whenever some are done.

    Raises
    ------
    ContractError
        If an input is wrong, with every problem; nothing is written then.
    GridTooLargeError
        If the grid has more than `max_cells` cells.
    StoreError
        If the folder cannot be used, another run holds it, or the disk refuses, and the folder can be resumed then;
        or if both `force` and `resume` are given.
    """
    if force and resume:
        raise StoreError("force replaces and resume continues: give one of them")
    if scheduler is None and workers is None:
        scheduler = scheduler_in_use()
    if scheduler is not None:
        check_scheduler(scheduler)
        needs_distributed()
    check_cap(grid, max_cells)
    inputs = with_simulations(build_inputs(grid), simulate)
    chosen = asked(grid, outputs)
    plan = plan_columns(inputs, [*chosen, "status"] if chosen is not None and drop_infeasible else chosen)
    options = {
        "compression": compression,
        "single_file": single_file,
        "outputs": chosen,
        "drop_infeasible": drop_infeasible,
        "simulate": simulate,
    }
    parts = plan.layout.parts(None if single_file else plan.layout.rows_per_part)
    intent = Intent(_origin(inputs), options, plan.layout.cells, len(parts))
    if scheduler is not None:
        check_answers(scheduler)
    with claimed_folder(folder, force, resume) as target, resumable():
        goes_on = resume and _is_same_run(target, intent)
        # Workers of a cluster look for themselves.
        kept = finished_parts(target, parts, drop_infeasible) if goes_on and scheduler is None else {}
        write_intent(target, intent)
        own = _write_options(inputs, options)
        if scheduler is None:
            job = Job(inputs, plan, target, own, progress)
            receipts, summary = job.write(parts, kept, workers or default_workers()), job.summary()
            stood = len(kept)
        else:
            recipe = _recipe(inputs, chosen, drop_infeasible, own, target)
            receipts, summary, stood = write_parts(scheduler, recipe, plan.layout, parts, goes_on, progress)
            remove_in_hand(target)
        dims = write_dims(target, plan.layout, dimension_tables(inputs), own)
        said = attributes(inputs)
        write_manifest(target, Manifest(plan.layout, intent.origin, parts, receipts, dims, options, said))
        remove_intent(target)
    return _result(target, inputs, plan, receipts, stood, summary)


def _write_options(inputs: Inputs, options: Mapping[str, Any]) -> WriteOptions:
    return WriteOptions(
        compression=options["compression"],
        block_cells=BLOCK_CELLS,
        drop_infeasible=options["drop_infeasible"],
        grid_name=inputs.grid.name,
        package_version=attributes(inputs)["gridplan_version"],
    )


def _recipe(inputs: Inputs, chosen: list[str] | None, drop: bool, options: WriteOptions, target: Path) -> Recipe:
    """The run in a form that travels, under a name of its own."""
    where = str(target if is_remote(target) else target.absolute())
    measures = None if chosen is None else (*chosen, *(["status"] if drop else []))
    return Recipe(uuid4().hex, inputs.grid, measures, inputs.simulate, options, where)


def _origin(inputs: Inputs) -> Origin:
    return Origin(
        package_version=attributes(inputs)["gridplan_version"],
        grid_name=inputs.grid.name,
        grid_text=inputs.grid.text,
        grid_sha256=inputs.grid.sha256,
        catalog_sha256=catalog_hash(inputs.catalog),
    )


def _is_same_run(target: Path, intent: Intent) -> bool:
    """Whether an earlier run began to write the same in `target`; refused where it set out to write something else."""
    earlier = read_intent(target)
    if earlier is None:
        return False
    differences = earlier.differences(intent)
    if differences:
        raise StoreError(
            f"{target} holds a run that differs in {', '.join(differences)}: it cannot be resumed; "
            "replace it with --force or give another folder"
        )
    return True


def _result(
    target: Path, inputs: Inputs, plan: Plan, receipts: tuple[Receipt, ...], resumed: int, summary: Summary
) -> RunResult:
    rows = sum(receipt.rows for receipt in receipts)
    wide = rows_warning(rows)
    return RunResult(
        folder=target,
        cells=plan.layout.cells,
        rows=rows,
        bytes=sum(receipt.bytes for receipt in receipts),
        parts=len(receipts),
        resumed=resumed,
        summary=summary,
        warnings=(*inputs.warnings, *((wide,) if wide else ()), *summary.warnings()),
    )
