"""`gridplan diff`: two contracts or cubes compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import write_block
from gridplan.cli.study_options import check_output

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
@click.option("--at", multiple=True, metavar="AXIS=LABEL,...", help="Labels at which axes are fixed.")
@click.option("-o", "--output", default=None, type=click.Path(), help="Write what --json prints to a .json file.")
@click.option("--force", is_flag=True, help="Replace the file of -o.")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    names = [name.strip() for text in measure for name in text.split(",") if name.strip()]
    sides = [_side(path, catalog) for path in (a, b)]
    from gridplan.report.diff_page import diff_data, diff_page
    from gridplan.sensitivity.diff import diff

    with named_as_options(_OPTIONS):
        found = diff(sides[0], sides[1], names or None, labels)
    text = json.dumps(diff_data(found), indent=2, ensure_ascii=False, allow_nan=False)
    if output is not None:
        write_block(Path(output), text + "\n")
    if as_json:
        click.echo(text)
    elif output is None:
        click.echo(diff_page(found))


def _side(path: str, catalog: str | None) -> Grid | xr.Dataset:
    """The folder of a cube, or a contract."""
    if Path(path).is_dir():
        from gridplan.store.open import open_cube

        return open_cube(path)
    from gridplan.contract import load_grid

    loaded = load_grid(path, catalog)
    say_folder(loaded.folder)
    return loaded
