"""`gridplan run`: plan a grid and write the cube."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gridplan.engine.run import RunResult

__all__ = ["command"]


@click.command()
@click.argument("grid", type=click.Path())
@click.option("-o", "--output", "folder", required=True, type=click.Path(), help="Folder to write the cube to.")
@click.option("--force", is_flag=True, help="Replace a cube that is already there.")
@click.option("--max-cells", type=click.IntRange(min=1), default=None, help="Refuse larger grids (default 5,000,000).")
@click.option("--outputs", default=None, metavar="NAME,...", help="Compute and write only these measures.")
@click.option("--compression", type=click.Choice(["zstd", "snappy", "none"]), default="zstd", show_default=True)
@click.option("--single-file", is_flag=True, help="Write one Parquet file whatever the size.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    grid: str,
    folder: str,
    force: bool,
    max_cells: int | None,
    outputs: str | None,
    compression: str,
    single_file: bool,
    as_json: bool,
) -> None:
    """Plan every combination of GRID and write the cube to a folder of Parquet files."""
    from gridplan.contract import load_grid

    loaded = load_grid(grid)
    from gridplan.engine.run import DEFAULT_MAX_CELLS, run

    result = run(
        loaded,
        folder,
        force=force,
        max_cells=max_cells or DEFAULT_MAX_CELLS,
        outputs=None if outputs is None else [name.strip() for name in outputs.split(",") if name.strip()],
        compression=compression,  # type: ignore[arg-type]
        single_file=single_file,
    )
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(_table(result))


def _table(result: RunResult) -> str:
    """The short table: cells, feasible share, what binds, why not, the cheapest feasible cell of each model."""
    found = result.summary.to_dict()
    rows = [
        f"{result.rows:,} cells -> {result.folder} ({result.parts} part(s), {result.bytes / 1e6:,.1f} MB)",
    ]
    if found["feasible"] is not None:
        rows.append(f"feasible    {found['feasible']:,} ({found['feasible_share']:.1%})")
    for title, key in (("binds", "binding_constraint"), ("infeasible", "infeasible_reason")):
        if found[key]:
            rows.append(f"{title:<12}" + ", ".join(f"{label} {count:,}" for label, count in found[key].items()))
    if found["cheapest"]:
        rows += ["", "cheapest feasible per model (USD per 1M output tokens)"]
        width = max(len(best["model"]) for best in found["cheapest"])
        for best in found["cheapest"]:
            at = ", ".join(
                f"{name}={label if isinstance(label, str) else format(label, '.6g')}"
                for name, label in best["labels"].items()
                if name != "model"
            )
            rows.append(f"  {best['model']:<{width}}  {best['usd_per_mtok_output']:>10,.3f}  {at}")
    return "\n".join(rows)
