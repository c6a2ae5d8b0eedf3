"""`gridplan chart tornado`: inputs moved one at a time."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options, source_of
from gridplan.cli.explain import parse_labels
from gridplan.cli.tornado import parse_ranges

__all__ = ["command"]

_OPTIONS = {"vary": "--vary", "measures": "--measure", "at": "--at", "source": "GRID"}


@click.command("tornado")
@click.argument("source", metavar="GRID", type=click.Path())
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="INPUT=LOW:HIGH,...",
    help="An input and its ends: 2:5, '20 ms:40 ms', x0.5:x2, -20%:+20%. May be given several times.",
)
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
    names = [name.strip() for text in measure for name in text.split(",") if name.strip()]
    from gridplan.report.charts.tornado import MEASURES, tornado

    drawn(lambda: tornado(source_of(source, catalog), ranges, names or MEASURES, labels), target, _OPTIONS)
