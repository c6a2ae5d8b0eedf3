"""`gridplan chart memory`: where the memory of one GPU goes."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import source_of

__all__ = ["command"]

_OPTIONS = {"axes": "--along", **{name: f"--{name}" for name in ("along", "at")}}


@click.command("memory")
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--along", default=None, metavar="AXIS", help="A bar for each label of this axis, at most 30.")
@picture_options
def command(
    source: str,
    along: str | None,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """The memory of one GPU of GRID, or of the cube in DIR: weights, what the engine takes, and the KV pool."""
    labels = parse_labels(at)
    from gridplan.report.charts.memory import memory

    drawn(lambda: memory(source_of(source, catalog), along, labels), target, _OPTIONS)
