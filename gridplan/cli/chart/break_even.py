"""`gridplan chart break-even`: two bills over the values of an input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.chart.options import Target, drawn, picture_options
from gridplan.cli.explain import parse_labels
from gridplan.cli.invert import read_ends
from gridplan.cli.study_options import source_of

if TYPE_CHECKING:
    from gridplan.report.charts.chart import Chart

__all__ = ["command"]

_OPTIONS = {
    **{name: f"--{name}" for name in ("vary", "against", "measure", "at", "low", "high", "points")},
    **{"source": "GRID", "axes": "--vary", "input": "--vary", "low, high": "--low, --high"},
}


@click.command("break-even")
@click.argument("source", metavar="GRID", type=click.Path())
@click.option("--vary", default="arrival_rate", show_default=True, metavar="INPUT", help="The input across.")
@click.option(
    "--against",
    default="api",
    show_default=True,
    metavar="api|AXIS=A,B",
    help="An API against one's own fleet, or two labels of an axis: the second is asked to pay off.",
)
@click.option("--measure", default="usd_per_month", show_default=True, metavar="NAME", help="What is compared.")
@click.option("--low", default=None, metavar="VALUE", help="Where the range begins; may have a unit.")
@click.option("--high", default=None, metavar="VALUE", help="Where the range ends; may have a unit.")
@click.option("--points", type=int, default=None, metavar="N", help="Values that are compared first (default 257).")
@picture_options
def command(
    source: str,
    vary: str,
    against: str,
    measure: str,
    low: str | None,
    high: str | None,
    points: int | None,
    at: tuple[str, ...],
    target: Target,
    catalog: str | None,
) -> None:
    """Two bills of one cell of GRID over the values of an input, every crossing labelled."""
    labels = parse_labels(at)
    asked: dict[str, Any] = {"low": low, "high": high, "points": points}
    given = {name: value for name, value in asked.items() if value is not None}

    def draw() -> Chart:
        from gridplan.report.charts.break_even import break_even

        read_ends(given, vary)
        return break_even(source_of(source, catalog), vary, against, measure, labels, **given)

    drawn(draw, target, _OPTIONS)
