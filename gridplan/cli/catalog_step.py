"""`gridplan catalog step-constants`: achieved shares and overheads of a step, and how well each is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_in_use, catalog_option
from gridplan.cli.catalog_text import print_table

if TYPE_CHECKING:
    from gridplan.catalog import StepConstant

__all__ = ["command"]

_HEAD = ("constant", "models", "GPU families", "engine", "versions", "low", "best", "high", "rows", "as of", "class")


@click.command("step-constants")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with sources.")
def command(catalog: str | None, as_json: bool) -> None:
    """List the constants of the step time; of the rows that fit a cell, the first one is used."""
    rows = catalog_in_use(catalog).step_constants
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_table(_HEAD, [_cells(row) for row in rows])


def _cells(row: StepConstant) -> tuple[object, ...]:
    versions = f"{row.version_from} to {row.version_to or 'newest'}"
    of_row = (row.name, row.kind, row.gpu_families.replace(";", " "), row.engine, versions)
    return (*of_row, row.low, row.best, row.high, row.rows, row.as_of, row.cls)
