"""`gridplan chart stairs`: a bill, or a count of nodes, over the arrival rate."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import source_of

__all__ = ["command"]

_OPTIONS = {"axes": "--by", **{name: f"--{name}" for name in ("measure", "x", "by", "at")}}


@click.command("stairs")
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--measure", default="usd_per_month", show_default=True, metavar="NAME", help="The number drawn.")
@click.option("--x", default="arrival_rate", show_default=True, metavar="AXIS", help="An axis of numbers, across.")
@click.option("--by", default=None, metavar="AXIS", help="One more axis: a series for each of its labels, at most 6.")
@picture_options
def command(
    source: str,
    measure: str,
    x: str,
    by: str | None,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """A bill, or a count of nodes, of GRID over the arrival rate with every step, or of the cube in DIR at its labels.

    Where arrival_rate is no axis of GRID, it goes from a tenth of its rate to twice it.
    """
    labels = parse_labels(at)
    from gridplan.report.charts.stairs import stairs

    drawn(lambda: stairs(source_of(source, catalog), measure, x, by, labels), target, _OPTIONS)
