"""`gridplan chart pareto`: options by two objectives."""

from __future__ import annotations

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.choice_options import (
    accept_option,
    levers_option,
    mixed_option,
    parse_accepted,
    survives_option,
    where_option,
)
from gridplan.cli.explain import parse_labels
from gridplan.cli.study_options import source_of

__all__ = ["command"]

_NAMES = ("objectives", "by", "levers", "where", "accept", "survives", "at")
_OPTIONS = {name: f"--{name}" for name in _NAMES}


@click.command("pareto")
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--objectives", required=True, metavar="NAME[:max],NAME", help="Two measures: across, and up.")
@click.option("--by", default=None, metavar="AXIS,...", help="Axes that stay: a front for each of at most 6 points.")
@levers_option
@where_option
@accept_option
@survives_option
@mixed_option
@picture_options
def command(
    source: str,
    objectives: str,
    by: str | None,
    levers: str | None,
    where: tuple[str, ...],
    accept: tuple[str, ...],
    survives: str | None,
    mixed: bool,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """Options of GRID, or of the cube in DIR, by two objectives: those that nothing beats in both, the others grey."""
    labels, accepted = parse_labels(at), parse_accepted(accept)
    from gridplan.report.charts.pareto import pareto_chart

    drawn(
        lambda: pareto_chart(
            source_of(source, catalog),
            objectives,
            by,
            labels,
            levers=levers,
            where=where,
            accept=accepted,
            survives=survives,
            mixed=mixed,
        ),
        target,
        _OPTIONS,
    )
