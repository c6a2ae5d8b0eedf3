"""`gridplan fleet`: services packed on one fleet, and fleets of two kinds of nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import refuse_existing, write_block
from gridplan.errors import StoreError

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.contract.grid import Grid

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

_SUFFIXES = (".csv", ".parquet", ".json")

_OPTIONS = {"over": "--over", "lost": "--lose", "at": "--at"}
"""What arguments of `gridplan.pool` and `gridplan.pair` are called here."""


@click.group("fleet")
def command() -> None:
    """Fleets that several services share, or that two kinds of nodes make up."""


def _shared_options(command: F) -> F:
    """What both commands take beside their own."""
    options = (
        click.argument("grid", type=click.Path()),
        click.option("--at", multiple=True, metavar="AXIS=LABEL,...", help="Labels at which other axes are fixed."),
        click.option("-o", "--output", default=None, type=click.Path(), help="Write a .csv, .parquet or .json file."),
        click.option("--force", is_flag=True, help="Replace the file of -o."),
        catalog_option,
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@command.command("pool")
@click.option("--over", default="workload", metavar="AXIS", show_default=True, help="Its labels share the fleet.")
@click.option(
    "--lose", default=1, type=int, metavar="N", show_default=True, help="Nodes lost, the worst of each label."
)
@_shared_options
def pool_command(
    grid: str,
    over: str,
    lose: int,
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Pack the services along an axis of GRID into one fleet of equal nodes: nodes, bill, what a lost node leaves."""

    def asked(loaded: Grid, labels: dict[str, str]) -> xr.Dataset:
        from gridplan.engine.fleets.pool import pool

        return pool(loaded, over, lost=lose, at=labels)

    _answer(asked, "pool_page", grid, at, output, force, catalog, as_json)


@command.command("pair")
@_shared_options
def pair_command(
    grid: str, at: tuple[str, ...], output: str | None, force: bool, catalog: str | None, as_json: bool
) -> None:
    """Find the cheapest fleet of at most two kinds of nodes among the instances of GRID."""

    def asked(loaded: Grid, labels: dict[str, str]) -> xr.Dataset:
        from gridplan.engine.fleets.pair import pair

        return pair(loaded, at=labels)

    _answer(asked, "pair_page", grid, at, output, force, catalog, as_json)


def _answer(
    asked: Callable[[Grid, dict[str, str]], xr.Dataset],
    page: str,
    grid: str,
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Ask, and print or write what was found."""
    _check_output(output, force)
    labels = parse_labels(at)
    from gridplan.contract import load_grid

    loaded = load_grid(grid, catalog)
    say_folder(loaded.folder)
    with named_as_options(_OPTIONS):
        found = asked(loaded, labels)
    for warning in str(found.attrs.get("warnings", "")).splitlines():
        click.echo(f"warning: {warning}", err=True)
    from gridplan.report import fleet_tables
    from gridplan.report.solution import write_table

    text = json.dumps(fleet_tables.data_of(found), indent=2, ensure_ascii=False, allow_nan=False)
    if output is not None and Path(output).suffix == ".json":
        write_block(Path(output), text + "\n")
    elif output is not None:
        click.echo(f"{output}: {write_table(fleet_tables.flat(found), output):,} rows", err=True)
    if as_json:
        click.echo(text)
    elif output is None:
        click.echo(getattr(fleet_tables, page)(found))


def _check_output(output: str | None, force: bool) -> None:
    """Refuse a file that cannot be written before anything is computed."""
    if output is None:
        return
    if Path(output).suffix not in _SUFFIXES:
        raise click.UsageError(f"-o {output}: a file that ends in .csv, .parquet or .json is due")
    refuse_existing(Path(output), force)
    if not Path(output).parent.is_dir():
        raise StoreError(f"{output}: cannot be written: there is no folder {Path(output).parent}")
