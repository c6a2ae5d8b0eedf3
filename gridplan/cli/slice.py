"""`gridplan slice`: cells of a stored cube, or figures of them, by SQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.named_options import named_as_options
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import check_output, json_text, names_of

if TYPE_CHECKING:
    from gridplan.query.slice import Slice

__all__ = ["command"]

SUFFIXES = (".csv", ".json", ".parquet", ".md")
SHOWN = 100
"""Rows that a table in a terminal has (policy); the other forms have all."""

_OPTIONS = {name: f"--{name}" for name in ("where", "by", "measure", "agg")}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--where", multiple=True, metavar="SQL", help="A condition: \"gpu = 'b200' and rho_target = 0.7\".")
@click.option("--by", multiple=True, metavar="NAME,...", help="Columns that stay: one row for each of their labels.")
@click.option(
    "--measure",
    multiple=True,
    metavar="NAME,...",
    help="Columns that are read (default: usd_per_mtok_output); all of them: all.",
)
@click.option("--agg", default=None, metavar="NAME", help="min, max, avg, median, sum, count, argmin or argmax.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the query and do not run it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "markdown"]),
    default="table",
    help="What is printed (default: a table of the first 100 rows; the others have all).",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "--output", default=None, type=click.Path(), help="Write a .csv, .json, .parquet or .md file.")
@click.option("--force", is_flag=True, help="Replace the file of -o.")
@on_scheduler
def command(
    folder: str,
    where: tuple[str, ...],
    by: tuple[str, ...],
    measure: tuple[str, ...],
    agg: str | None,
    as_sql: bool,
    form: str,
    as_json: bool,
    output: str | None,
    force: bool,
) -> None:
    """Print cells of the cube in DIR, or figures of them: only the files that hold such cells are read."""
    check_output(output, force, SUFFIXES)
    from gridplan.query.slice import open_slice

    with named_as_options(_OPTIONS):
        found = open_slice(folder, where, names_of(by), names_of(measure), agg)
    if as_sql:
        click.echo(f"{found.sql};")
        return
    if output is not None:
        rows = _write(found, Path(output))
        click.echo(f"{output}: {rows:,} rows", err=True)
    else:
        _print(found, "json" if as_json else form)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)


def _print(found: Slice, form: str) -> None:
    if form == "csv":
        if sys.stdout is None:
            raise OSError("there is no standard output")
        _csv(found, sys.stdout.buffer)
        return
    if form != "table":
        click.echo("".join(_text(found, form, found.rows())), nl=False)
        return
    from gridplan.report.slice_page import slice_table

    rows = found.rows(SHOWN + 1)
    click.echo(slice_table(found.columns, rows[:SHOWN]))
    if len(rows) > SHOWN:
        click.echo(f"the first {SHOWN} rows; -o FILE or --format csv has all", err=True)


def _write(found: Slice, path: Path) -> int:
    """Write all rows, whole or not at all, and count them. Raises StoreError."""
    from gridplan.store.files import landing, store_errors

    with store_errors("write", path), landing(path) as temporary:
        if path.suffix == ".parquet":
            return _parquet(found, temporary)
        with temporary.open("wb") as sink:
            if path.suffix == ".csv":
                return _csv(found, sink)
            rows = found.rows()
            form = "json" if path.suffix == ".json" else "markdown"
            sink.writelines(line.encode() for line in _text(found, form, rows))
            return len(rows)


def _text(found: Slice, form: str, rows: list[tuple[Any, ...]]) -> Iterator[str]:
    """The lines of JSON or Markdown, the same on a terminal and in a file."""
    from gridplan.report.slice_page import markdown_table, rows_as_dicts

    if form == "json":
        yield json_text(rows_as_dicts(found.columns, rows)) + "\n"
    else:
        yield from (f"{line}\n" for line in markdown_table(found.columns, rows))


def _csv(found: Slice, sink: Any) -> int:
    from gridplan.export.csv_file import write_csv

    rows, changed = write_csv(sink, *_tables(found))
    if changed:
        click.echo(f"warning: {changed:,} texts begin like a formula: an apostrophe stands in front of each", err=True)
    return rows


def _parquet(found: Slice, path: Path) -> int:
    from gridplan.export.parquet_file import write_parquet

    return write_parquet(path, *_tables(found), found.table.manifest.origin, "snappy")


def _tables(found: Slice) -> tuple[Any, Any]:
    """The schema of the answer, and the answer in tables of a row group each."""
    from gridplan.export.batches import rechunked
    from gridplan.export.parquet_file import ROW_GROUP_ROWS
    from gridplan.query.arrow import schema_of

    schema = schema_of(found.columns)
    return schema, rechunked(schema, found.batches(), ROW_GROUP_ROWS)
