"""`gridplan chart measured`: load tests of one replica against what a contract predicts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import loaded_grid, names_of
from gridplan.cli.sweep_options import check_targets, points_of

if TYPE_CHECKING:
    from gridplan.contract.grid import Grid
    from gridplan.measured import SweepPoint
    from gridplan.report.charts.chart import Chart

__all__ = ["command"]

_OPTIONS = {"at": "--at", "figures": "--figures"}


@click.command("measured")
@click.argument("grid", metavar="GRID", type=click.Path())
@click.option(
    "--sweep",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(),
    help="Load tests of one replica: a file or a folder; repeatable.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE",
    help="Points with this model or setting alone, such as max_num_seqs=64.",
)
@click.option(
    "--figures",
    default=None,
    metavar="NAME,...",
    help="Figures to compare, such as ttft_p95,tpot_mean (default: those of the limits, and means).",
)
@picture_options
def command(
    grid: str,
    files: tuple[str, ...],
    only: tuple[str, ...],
    figures: str | None,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """Load tests of one replica against GRID: every figure as predicted over as measured, at each rate or number of
    clients."""
    for path in target.outputs:
        check_targets((grid, *files), {"-o": path})
    labels = parse_labels(at)
    names = None if figures is None else names_of((figures,))
    from gridplan.report.charts.measured import measured

    def draw() -> Chart:
        contract, points = _read(grid, files, catalog)
        return measured(contract, points_of(points, only), labels, names)

    drawn(draw, target, _OPTIONS)


def _read(grid: str, files: tuple[str, ...], catalog: str | None) -> tuple[Grid, list[SweepPoint]]:
    """The contract and the load points, or one error with the problems of both."""
    from gridplan.errors import CatalogError, ContractError, Problem
    from gridplan.measured import read_sweep

    problems: list[Problem] = []
    contract, points = None, []
    try:
        contract = loaded_grid(grid, catalog)
    except (ContractError, CatalogError) as error:
        problems += error.problems
    try:
        points = read_sweep(files)
    except ContractError as error:
        problems += error.problems
    if contract is None or problems:
        raise ContractError(problems)
    return contract, points
