"""`gridplan validate`: check a contract file and say how large its cube is, without computing it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gridplan.cli import clock
from gridplan.cli.catalog_option import catalog_option, say_folder
from gridplan.errors import CatalogError, ContractError, Problem

if TYPE_CHECKING:
    from gridplan.contract import Grid

__all__ = ["cell_count", "command"]


@click.command("validate")
@click.argument("file")
@catalog_option
@click.option("--json", "as_json", is_flag=True, help="Print {ok, problems, ...} as JSON.")
def command(file: str, catalog: str | None, as_json: bool) -> None:
    """Check the contract in FILE: every problem is named with its line, its column and the nearest valid name.

    Exit code 0 when the contract can be planned, 2 when it cannot.
    """
    if not as_json:
        grid, warnings = _checked(file, catalog)
        say_folder(grid.folder)
        for warning in warnings:
            click.echo(f"{file}: warning: {warning}", err=True)
        click.echo(f"{file}: ok, {cell_count(grid)}")
        return
    try:
        grid, warnings = _checked(file, catalog)
    except (ContractError, CatalogError) as error:
        problems = [asdict(problem) for problem in error.problems]
        click.echo(json.dumps({"ok": False, "problems": problems}, indent=2, ensure_ascii=False))
        sys.exit(error.exit_code)
    sizes = _sizes(grid)
    say_folder(grid.folder)
    size = {"cells": math.prod(sizes.values()), "dimensions": sizes}
    report = {"ok": True, "problems": [], "warnings": list(warnings), "name": grid.name, **size}
    click.echo(json.dumps(report, indent=2, ensure_ascii=False))


def cell_count(grid: Grid) -> str:
    """The size of a grid's cube in words: `20 cells = 10 scenario x 2 instance`."""
    sizes = _sizes(grid)
    cells = math.prod(sizes.values())
    product = " x ".join(f"{size:,} {name}" for name, size in sizes.items())
    return f"{cells:,} cell{'s' if cells != 1 else ''}{f' = {product}' if sizes else ''}"


def _checked(file: str, catalog: str | None) -> tuple[Grid, tuple[str, ...]]:
    """The grid and the warnings about it, after everything that can be checked without computing a cell."""
    from gridplan.contract import load_grid

    grid = load_grid(file, catalog)
    from gridplan.engine.catalog_warnings import old_prices
    from gridplan.engine.inputs import build_inputs

    try:
        inputs = build_inputs(grid)
    except CatalogError as error:
        raise ContractError([_in_file(problem, file) for problem in error.problems]) from None
    # A cube never depends on the day it is made on; a check may.
    aged = [] if grid.priced_on else old_prices(inputs.labels, clock.today(), "today")
    return grid, (*inputs.warnings, *aged)


def _in_file(problem: Problem, file: str) -> Problem:
    return Problem(problem.message, problem.file or file, problem.line, problem.column, problem.key)


def _sizes(grid: Grid) -> dict[str, int]:
    """Length of every dimension, outermost first: scenario, workload, then the axes as declared."""
    sizes: dict[str, int] = {}
    if grid.scenarios:
        sizes["scenario"] = len(grid.scenarios)
    if grid.workloads[0].name:
        sizes["workload"] = len(grid.workloads)
    return {**sizes, **{axis.name: len(axis.labels) for axis in grid.axes}}
