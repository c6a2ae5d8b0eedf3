"""`gridplan report`: the decision record of a contract or of a cube."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli import clock
from gridplan.cli.catalog_option import catalog_option, folder_in_use
from gridplan.cli.choice_options import accept_option, parse_accepted, where_option
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.output import refuse_existing, refuse_no_folder, write_block
from gridplan.cli.study_options import at_option, check_output, loaded_grid
from gridplan.cli.tornado import parse_ranges
from gridplan.store.place import is_cube_place

if TYPE_CHECKING:
    from gridplan.report.record import Record

__all__ = ["command"]

PAGES = (".html", ".md")
_OPTIONS = {name: f"--{name}" for name in ("at", "measure", "survives", "where", "accept", "sweep", "vary")}


@click.command()
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="Write the record: a .html or .md file.")
@at_option
@click.option("--measure", default="usd_per_mtok_output", show_default=True, metavar="NAME", help="Least of this.")
@click.option("--survives", default=None, metavar="UNIT", help="The plan has to survive: gpu, node, zone, ...")
@where_option
@accept_option
@click.option("--sweep", multiple=True, metavar="FILE", type=click.Path(), help="A load test to attach; repeatable.")
@click.option("--vary", multiple=True, metavar="INPUT=LOW:HIGH,...", help="What the tornado moves; repeatable.")
@click.option("--charts", "folder", default=None, metavar="DIR", type=click.Path(), help="Also each chart as files.")
@click.option("--no-charts", is_flag=True, help="No charts: needs neither altair nor vl-convert-python.")
@click.option("--force", is_flag=True, help="Replace the files that are written.")
@catalog_option
def command(
    source: str,
    output: str,
    at: tuple[str, ...],
    measure: str,
    survives: str | None,
    where: tuple[str, ...],
    accept: tuple[str, ...],
    sweep: tuple[str, ...],
    vary: tuple[str, ...],
    folder: str | None,
    no_charts: bool,
    force: bool,
    catalog: str | None,
) -> None:
    """Write the decision record of GRID, or of the cube in DIR: the plan, its derivation, cost and stress, signed.

    Levers that stay open (GPU, instance, formats, parallelism, purchase) are chosen along, the cheapest wins. Where
    anything else stays open (traffic, model, targets) the record is an overview of the cube.
    """
    check_output(output, force, PAGES)
    if no_charts and folder is not None:
        raise click.UsageError("--no-charts and --charts: give one of them")
    if folder is not None:
        refuse_no_folder(Path(folder))
    labels, ranges = parse_labels(at), parse_ranges(vary)
    is_cube = is_cube_place(source)
    given = source if is_cube else loaded_grid(source, catalog)
    used = folder_in_use(catalog) if is_cube else None
    from gridplan.report.record import html_page, markdown_page, record_of

    with named_as_options(_OPTIONS):
        record = record_of(
            given,
            at=labels,
            measure=measure,
            survives=survives,
            where=where,
            accept=parse_accepted(accept),
            sweep=sweep,
            vary=ranges or None,
            charts=not no_charts,
            catalog=used,
        )
    for warning in _aged(given):
        click.echo(f"warning: {warning}", err=True)
    files = _chart_files(record, folder, force)
    links = {
        path.stem: Path(os.path.relpath(path, Path(output).parent)).as_posix()
        for path in files
        if path.suffix == ".svg"
    }
    text = html_page(record) if Path(output).suffix == ".html" else markdown_page(record, links)
    _write(files, folder)
    write_block(Path(output), text)
    click.echo(record.decision)
    for finding in record.findings:
        click.echo(f"* {finding}")


def _aged(given: Any) -> list[str]:
    """Prices that are old today: said here, for a record does not depend on the day it is made on."""
    from gridplan.contract.grid import Grid
    from gridplan.engine.catalog_warnings import old_prices
    from gridplan.engine.inputs import build_inputs

    if not isinstance(given, Grid) or given.priced_on:
        return []
    return list(old_prices(build_inputs(given).labels, clock.today(), "today"))


def _chart_files(record: Record, folder: str | None, force: bool) -> dict[Path, bytes]:
    """Each chart as .svg, .png and .csv, drawn before anything is written; a file that is there is refused before."""
    if folder is None:
        return {}
    suffixes = (".svg", ".png", ".csv")
    for figure in record.figures:
        for suffix in suffixes:
            refuse_existing(Path(folder) / f"{figure.name}{suffix}", force)
    return {
        Path(folder) / f"{figure.name}{suffix}": content
        for figure in record.figures
        for suffix, content in figure.chart.to_files(suffixes).items()
    }


def _write(files: Mapping[Path, bytes], folder: str | None) -> None:
    from gridplan.store.files import make_folder, write_bytes

    if folder is not None:
        make_folder(Path(folder))
        for path, content in files.items():
            write_bytes(path, content)
        click.echo(f"{folder}: {len(files):,} files of charts", err=True)
