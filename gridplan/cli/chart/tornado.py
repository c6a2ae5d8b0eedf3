"""`gridplan chart tornado`: inputs moved one at a time."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import names_of, source_of
from gridplan.cli.tornado import parse_ranges, vary_option

__all__ = ["command"]

_OPTIONS = {"vary": "--vary", "measures": "--measure", "at": "--at", "source": "GRID"}


@click.command("tornado")
@click.argument("source", metavar="GRID", type=click.Path())
@vary_option
@click.option(
    "--measure",
    multiple=True,
    metavar="NAME,...",
    help="A panel each; the first one sorts (default: nodes,usd_per_mtok_output).",
)
@picture_options
def command(
    source: str,
    vary: tuple[str, ...],
    measure: tuple[str, ...],
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """Inputs of one cell of GRID moved one at a time: bars to the low and the high end, widest swing first."""
    labels, ranges = parse_labels(at), parse_ranges(vary)
    names = names_of(measure)
    from gridplan.report.charts.tornado import MEASURES, tornado

    drawn(lambda: tornado(source_of(source, catalog), ranges, names or MEASURES, labels), target, _OPTIONS)
