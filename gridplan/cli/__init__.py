"""The command line: one file per command, each imported only when it is called.

Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 a check that was asked for failed, 2 bad input, 3
input/output, 130 interrupted.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

import click

from gridplan import __version__
from gridplan.errors import GridplanError, suggestion

__all__ = ["main"]

COMMANDS: Mapping[str, str] = {
    "run": "Plan every combination of a grid and write the cube as Parquet.",
    "estimate": "Print how large a grid is before running it.",
    "verify": "Check every part of a written cube against its receipt.",
    "slice": "Print cells of a written cube, or figures of them, by SQL.",
    "export": "Hand a written cube over: star schema, wide Parquet, CSV, Excel, DuckDB, Delta.",
    "explore": "Turn a cube in a local page: any two axes, every cell explained, what if; or write it as one file.",
    "explain": "Show the chain of one cell with its numbers.",
    "solve": "Ask backwards: the largest context, the fewest GPUs, the largest concurrency that fits.",
    "choose": "Choose: the cheapest plan of each point, the front of several objectives, the least regret.",
    "invert": "Ask backwards: how far an input may go, where two alternatives cost the same, which plan is least.",
    "fleet": "Pack several services on one fleet; find the cheapest fleet of two kinds of nodes.",
    "sensitivity": "Say what drives a measure: which axis, or which of several uncertain inputs.",
    "stress": "Show what scenarios ask for, and what the fleet as bought does in them.",
    "tornado": "Move inputs one at a time and show which matters most.",
    "diff": "Show what changed between two contracts or cubes, by how much and why.",
    "report": "Write the decision record: one page with the plan, its derivation, cost, stress and charts.",
    "chart": "Draw a heat map, stairs of cost, a Pareto front, a tornado and more, as SVG, PNG or data.",
    "validate": "Check a contract file and report every problem.",
    "measure": "Read a start-up log of an engine, check it and compare it with the prediction.",
    "schema": "Print the JSON Schema of the contract file.",
    "catalog": "List, show, compare or check accelerators, models, instances, engines and formats.",
}
"""Commands in the order of `--help`; the text stands here so that help imports none of them."""


class _LazyGroup(click.Group):
    """A group that knows its commands by name and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"gridplan.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no such command {args[0]!r}{suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="gridplan")
def cli() -> None:
    """Plan LLM-serving capacity: what fits, what binds, how many replicas, GPUs and nodes, and what it costs."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    try:
        code = cli.main(arguments, prog_name="gridplan", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except SystemExit as stop:
        # click leaves with 1 when the reader of our output has gone (`| head`), and says so only by what it put in
        # the place of stdout: nothing is wrong then.
        gone = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        sys.exit(0 if gone else stop.code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except GridplanError as error:
        click.echo("\n".join(f"error: {line}" for line in str(error).splitlines()), err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # What the program reads and writes reports its own errors; this is our own output, as on a full disk.
        click.echo(f"error: cannot write the output: {error.strerror or error}", err=True)
        sys.exit(3)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
