"""`gridplan diff`: two contracts or cubes compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import write_block
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import at_option, check_output, json_text, loaded_grid, names_of, output_options
from gridplan.store.place import is_cube_place

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.contract.grid import Grid

__all__ = ["command"]

_OPTIONS = {"measures": "--measure", "at": "--at"}


@click.command()
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option(
    "--measure",
    multiple=True,
    metavar="NAME,...",
    help="What is compared (default: replicas,nodes,usd_per_month,usd_per_mtok_output).",
)
@at_option
@output_options((".json",))
@on_scheduler
def command(
    a: str,
    b: str,
    measure: tuple[str, ...],
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Show what changed from A to B, each a contract file or the folder of a cube: what, by how much, and why."""
    check_output(output, force, (".json",))
    labels = parse_labels(at)
    names = names_of(measure)
    sides = [_side(path, catalog) for path in (a, b)]
    from gridplan.report.diff_page import diff_data, diff_page
    from gridplan.sensitivity.diff import diff

    with named_as_options(_OPTIONS):
        found = diff(sides[0], sides[1], names or None, labels)
    text = json_text(diff_data(found))
    if output is not None:
        write_block(Path(output), text + "\n")
    if as_json:
        click.echo(text)
    elif output is None:
        click.echo(diff_page(found))


def _side(path: str, catalog: str | None) -> Grid | xr.Dataset:
    """The folder of a cube, or a contract."""
    if is_cube_place(path):
        from gridplan.store.open import open_cube

        return open_cube(path)
    return loaded_grid(path, catalog)
