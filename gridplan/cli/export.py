"""`gridplan export`: a stored cube in the form that another tool opens."""

from __future__ import annotations

import click

from gridplan.cli.named_options import named_as_options
from gridplan.cli.study_options import json_text, names_of

__all__ = ["command"]

_OPTIONS = {
    **{name: f"--{name}" for name in ("to", "where", "measure", "best", "compression")},
    **{"best_measure": "--best-measure", "output": "-o", "cells": "--no-cells"},
}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--to", required=True, metavar="FORM", help="star, wide, csv, excel, duckdb or delta.")
@click.option("-o", "--output", required=True, type=click.Path(), help="A folder (star, delta) or a file.")
@click.option("--where", multiple=True, metavar="SQL", help="A condition that the rows meet.")
@click.option("--measure", multiple=True, metavar="NAME,...", help="Measures that are handed over (default: all).")
@click.option("--best", multiple=True, metavar="NAME,...", help="Add the table of the best plan for each of these.")
@click.option("--best-measure", default="usd_per_mtok_output", show_default=True, metavar="NAME", help="Least of this.")
@click.option(
    "--compression", default="snappy", show_default=True, metavar="NAME", help="snappy, zstd or none (Parquet, Delta)."
)
@click.option("--no-cells", is_flag=True, help="Of excel: summary, dictionary and --best alone.")
@click.option("--force", is_flag=True, help="Replace an earlier export; Delta tables get a new version.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    folder: str,
    to: str,
    output: str,
    where: tuple[str, ...],
    measure: tuple[str, ...],
    best: tuple[str, ...],
    best_measure: str,
    compression: str,
    no_cells: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Hand the cube in DIR over: a star schema, a wide Parquet file, CSV, Excel, a DuckDB database, a Delta table."""
    from gridplan.query.database import needs_sql

    needs_sql()
    from gridplan.export.handover import export_cube

    with named_as_options(_OPTIONS):
        found = export_cube(
            folder,
            to,
            output,
            where=where,
            measures=names_of(measure),
            best=names_of(best),
            best_measure=best_measure,
            compression=compression,
            cells=not no_cells,
            force=force,
        )
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        click.echo(json_text({"output": str(found.output), "rows": dict(found.rows), "warnings": list(found.warnings)}))
        return
    width = max(map(len, found.rows))
    for name, rows in found.rows.items():
        click.echo(f"{name:<{width}}  {rows:>13,} rows")
