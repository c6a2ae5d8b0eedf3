"""`gridplan chart heatmap`: a measure over two axes."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import source_of

__all__ = ["command"]

_OPTIONS = {name: f"--{name}" for name in ("x", "y", "measure", "at")}


@click.command("heatmap")
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--x", required=True, metavar="AXIS", help="The axis across.")
@click.option("--y", required=True, metavar="AXIS", help="The axis down.")
@click.option("--measure", default="replicas", show_default=True, metavar="NAME", help="The number of each cell.")
@picture_options
def command(
    source: str,
    x: str,
    y: str,
    measure: str,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """A measure of GRID, or of the cube in DIR, over two axes: what binds as colour, what has no plan hatched."""
    labels = parse_labels(at)
    from gridplan.report.charts.heatmap import heatmap

    drawn(lambda: heatmap(source_of(source, catalog), x, y, measure, labels), target, _OPTIONS)
