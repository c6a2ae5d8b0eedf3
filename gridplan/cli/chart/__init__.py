"""`gridplan chart KIND`: one picture of a cube, one file per kind, each imported only when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from gridplan.errors import suggestion

__all__ = ["KINDS", "command"]

KINDS: Mapping[str, str] = {
    "heatmap": "A measure over two axes: what binds as colour, what has no plan hatched.",
    "stairs": "A bill, or a count of nodes, over the arrival rate, with every step of the fleet.",
    "pareto": "Options by two objectives: those that nothing beats in both, the others grey.",
    "tornado": "What each input, moved alone between two ends, does to the plan of one cell.",
    "sweep": "A load test against its limits: each figure over the offered rate, and the rate that holds all of them.",
    "memory": "The memory of one GPU: weights, what the engine takes, the KV pool.",
    "break-even": "Two bills over the values of an input, and where they cross.",
    "measured": "Load tests of one replica: every figure as predicted over as measured.",
}
"""Kinds in the order of `--help`."""


class _LazyKinds(click.Group):
    """Kinds by name; the file of the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(KINDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in KINDS:
            return None
        module = importlib.import_module(f"gridplan.cli.chart.{cmd_name.replace('-', '_')}")
        found: click.Command = module.command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in KINDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such kind of chart {args[0]!r}{suggestion(args[0], KINDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Kinds"):
            formatter.write_dl(list(KINDS.items()))


@click.group("chart", cls=_LazyKinds)
def command() -> None:
    """Draw one chart as .svg, .png, .csv (its numbers) or .json (its Vega-Lite specification)."""
