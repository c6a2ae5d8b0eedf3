"""`gridplan estimate`: how large a grid is, before it is run."""

from __future__ import annotations

import json

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.outputs_option import outputs_option

__all__ = ["command"]


@click.command()
@click.argument("grid", type=click.Path())
@outputs_option
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(grid: str, outputs: list[str] | None, catalog: str | None, as_json: bool) -> None:
    """Print cells, rows, memory, file size and seconds that GRID would take, from a sample of it."""
    from gridplan.contract import load_grid

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    from gridplan.engine.estimate import estimate

    found = estimate(loaded, outputs)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    axes = " x ".join(f"{name} {size:,}" for name, size in found["axes"].items()) or "no axes"
    click.echo(f"cells      {found['cells']:,} = {axes}")
    click.echo(f"rows       {found['rows']:,} of {found['columns']} columns in {found['parts']:,} part(s)")
    run_mib, cube_mib = found["memory_bytes"] / 2**20, found["cube_bytes"] / 2**20
    click.echo(f"memory     about {run_mib:,.0f} MiB for run; {cube_mib:,.0f} MiB as a Dataset")
    click.echo(f"file size  about {found['file_bytes'] / 1e6:,.1f} MB (a sample of {found['sample_rows']:,} rows)")
    click.echo(f"seconds    about {found['seconds']:,.1f}")
    click.echo(
        f"cap        {'within' if found['within_cap'] else 'ABOVE'} the default cap of {found['max_cells']:,} cells"
    )
