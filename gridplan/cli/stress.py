"""`gridplan stress`: scenarios planned anew, and the fleet as bought in them."""

from __future__ import annotations

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import at_option, check_output, json_text, loaded_grid, output_options, say_warnings

__all__ = ["command"]

_OPTIONS = {"library": "--library", "at": "--at"}


@click.command()
@click.argument("grid", type=click.Path())
@click.option("--library", is_flag=True, help="Add the standard scenarios that fit the grid.")
@at_option
@output_options()
@on_scheduler
def command(
    grid: str, library: bool, at: tuple[str, ...], output: str | None, force: bool, catalog: str | None, as_json: bool
) -> None:
    """Show what each scenario of GRID would need, and what the fleet of the nominal plan does in it."""
    check_output(output, force)
    labels = parse_labels(at)
    loaded = loaded_grid(grid, catalog)
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
        click.echo(json_text(answer))
    elif output is None:
        click.echo(stress_page(found))
