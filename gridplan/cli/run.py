"""`gridplan run`: plan a grid and write the cube."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.outputs_option import outputs_option
from gridplan.cli.scheduler_option import scheduler_option
from gridplan.cli.survivor_rows import labels_text, survivor_rows

if TYPE_CHECKING:
    from gridplan.engine.run import RunResult

__all__ = ["command"]

_TERMINATED = 128 + signal.SIGTERM
"""Exit code of a program that SIGTERM ended, as shells count it (fact)."""


@click.command()
@click.argument("grid", type=click.Path())
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(),
    help="Folder to write the cube to, or s3://BUCKET/CUBE.",
)
@click.option("--force", is_flag=True, help="Replace a cube that is already there.")
@click.option("--resume", is_flag=True, help="Finish the run that was stopped in this folder.")
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Threads (default: the cores).")
@scheduler_option
@click.option("--max-cells", type=click.IntRange(min=1), default=None, help="Refuse larger grids (default 2e9).")
@outputs_option
@click.option("--drop-infeasible", is_flag=True, help="Leave out the rows of cells without a plan.")
@click.option("--simulate", is_flag=True, help="Simulate the cells whose latencies no formula predicts.")
@click.option("--compression", type=click.Choice(["zstd", "snappy", "none"]), default="zstd", show_default=True)
@click.option("--single-file", is_flag=True, help="Write one Parquet file whatever the size.")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    grid: str,
    folder: str,
    force: bool,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    max_cells: int | None,
    outputs: list[str] | None,
    drop_infeasible: bool,
    simulate: bool,
    compression: str,
    single_file: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Plan every combination of GRID and write the cube to a folder of Parquet files."""
    from gridplan.contract import load_grid

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    from gridplan.cli.progress import cells_bar
    from gridplan.engine.run import DEFAULT_MAX_CELLS, run
    from gridplan.engine.size import cells_of

    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers are threads of this process; a cluster has its own (--scheduler local:N)")
    if force and resume:
        raise click.UsageError("--force replaces and --resume continues: give one of them")
    with _stopped_once(folder), cells_bar(cells_of(loaded)) as progress:
        result = run(
            loaded,
            folder,
            force=force,
            resume=resume,
            max_cells=max_cells or DEFAULT_MAX_CELLS,
            outputs=outputs,
            drop_infeasible=drop_infeasible,
            simulate=simulate,
            compression=compression,  # type: ignore[arg-type]
            single_file=single_file,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
        )
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(_table(result))


@contextlib.contextmanager
def _stopped_once(folder: str) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM stop the run and tell how it goes on; later ones do not disturb its ending."""

    def stop(signum: int, frame: object) -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        if signum == signal.SIGTERM:  # what a batch system or a cluster sends before it kills
            raise SystemExit(_TERMINATED)
        raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM) if ours}
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from gridplan.store.intent import INTENT
        from gridplan.store.place import place_of

        if (place_of(folder) / INTENT).is_file():
            click.echo(f"{folder}: the same command with --resume finishes this run", err=True)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _table(result: RunResult) -> str:
    """The short table: cells, feasible share, what binds, why not, the cheapest feasible cell of each model."""
    found = result.summary.to_dict()
    rows = [
        f"{result.cells:,} cells -> {result.folder} ({result.parts} part(s), {result.bytes / 1e6:,.1f} MB)",
    ]
    if result.resumed:
        rows.append(f"resumed     {result.resumed} part(s) stood already")
    if result.rows != result.cells:
        rows.append(f"rows        {result.rows:,}: cells without a plan are left out")
    if found["feasible"] is not None:
        rows.append(f"feasible    {found['feasible']:,} ({found['feasible_share']:.1%})")
    rows_of = {
        "rho* basis": "lambda_basis",
        "binds": "binding_constraint",
        "infeasible": "infeasible_reason",
        "flagged": "latency_flag",
    }
    for title, key in rows_of.items():
        if found[key]:
            rows.append(f"{title:<12}" + ", ".join(f"{label} {count:,}" for label, count in found[key].items()))
    if found["latency_source"].get("simulated"):
        rows.append(f"simulated   {found['latency_source']['simulated']:,}")
    if found["cheapest"]:
        rows += ["", "cheapest feasible per model (USD per 1M output tokens)"]
        width = max(len(best["model"]) for best in found["cheapest"])
        for best in found["cheapest"]:
            at = labels_text(best["labels"], "model")
            rows.append(f"  {best['model']:<{width}}  {best['usd_per_mtok_output']:>10,.3f}  {at}")
    for question, plans in found["cheapest_surviving"].items():
        rows += survivor_rows(question, plans, result.summary.survivors.without_spot)
    return "\n".join(rows)
