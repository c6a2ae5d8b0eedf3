"""`gridplan fleet`: services packed on one fleet, and fleets of two kinds of nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import write_block
from gridplan.cli.study_options import at_option, check_output, json_text, loaded_grid, output_options, say_warnings

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.contract.grid import Grid

__all__ = ["command"]

_SUFFIXES = (".csv", ".parquet", ".json")

_OPTIONS = {"over": "--over", "lost": "--lose", "at": "--at"}
"""What arguments of `gridplan.pool` and `gridplan.pair` are called here."""


@click.group("fleet")
def command() -> None:
    """Fleets that several services share, or that two kinds of nodes make up."""


@command.command("pool")
@click.option("--over", default="workload", metavar="AXIS", show_default=True, help="Its labels share the fleet.")
@click.option(
    "--lose", default=1, type=int, metavar="N", show_default=True, help="Nodes lost, the worst of each label."
)
@click.argument("grid", type=click.Path())
@at_option
@output_options(_SUFFIXES)
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
@click.argument("grid", type=click.Path())
@at_option
@output_options(_SUFFIXES)
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
    check_output(output, force, _SUFFIXES)
    labels = parse_labels(at)
    loaded = loaded_grid(grid, catalog)
    with named_as_options(_OPTIONS):
        found = asked(loaded, labels)
    say_warnings(found.attrs)
    from gridplan.report import fleet_tables
    from gridplan.report.solution import write_table

    text = json_text(fleet_tables.data_of(found))
    if output is not None and Path(output).suffix == ".json":
        write_block(Path(output), text + "\n")
    elif output is not None:
        click.echo(f"{output}: {write_table(fleet_tables.flat(found), output):,} rows", err=True)
    if as_json:
        click.echo(text)
    elif output is None:
        click.echo(getattr(fleet_tables, page)(found))
