"""`gridplan stress`: scenarios planned anew, and the fleet as bought in them."""

from __future__ import annotations

import json

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.study_options import check_output, say_warnings

__all__ = ["command"]

_OPTIONS = {"library": "--library", "at": "--at"}


@click.command()
@click.argument("grid", type=click.Path())
@click.option("--library", is_flag=True, help="Add the standard scenarios that fit the grid.")
@click.option("--at", multiple=True, metavar="AXIS=LABEL,...", help="Labels at which axes are fixed.")
@click.option("-o", "--output", default=None, type=click.Path(), help="Write the table to a .csv or .parquet file.")
@click.option("--force", is_flag=True, help="Replace the file of -o.")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    grid: str, library: bool, at: tuple[str, ...], output: str | None, force: bool, catalog: str | None, as_json: bool
) -> None:
    """Show what each scenario of GRID would need, and what the fleet of the nominal plan does in it."""
    check_output(output, force)
    labels = parse_labels(at)
    from gridplan.contract import load_grid

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    from gridplan.report.solution import rows_of, write_table
    from gridplan.report.stress_page import stress_page
    from gridplan.sensitivity.stress import stress

    with named_as_options(_OPTIONS):
        found = stress(loaded, library, labels)
    warnings = say_warnings(found.attrs)
    if output is not None:
        click.echo(f"{output}: {write_table(found, output):,} rows", err=True)
    if as_json:
        left_out = [text for text in str(found.attrs["left_out"]).split("; ") if text]
        answer = {"grid": loaded.name, "left_out": left_out, "warnings": warnings, "rows": rows_of(found)}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))
    elif output is None:
        click.echo(stress_page(found))
