"""`gridplan choose`: the cheapest plan of each point, the front of several objectives, the choice of least regret."""

from __future__ import annotations

from typing import Any

import click

from gridplan.cli.choice_options import (
    accept_option,
    levers_option,
    mixed_option,
    parse_accepted,
    survives_option,
    where_option,
)
from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import (
    at_option,
    check_output,
    json_text,
    output_options,
    refuse_catalog_of_folder,
    say_warnings,
    source_of,
)

__all__ = ["command"]

_OPTIONS = {
    **{
        name: f"--{name}"
        for name in ("measure", "by", "levers", "where", "accept", "survives", "at", "also", "penalty")
    },
    "objectives": "--pareto",
}
"""What arguments of the functions are called here."""


@click.command()
@click.argument("source", metavar="GRID|DIR", type=click.Path())
@click.option("--measure", default=None, metavar="NAME", help="What is to be least (default: usd_per_mtok_output).")
@click.option("--by", default=None, metavar="AXIS,...", help="Axes that stay (default: all that happen).")
@levers_option
@where_option
@accept_option
@survives_option
@click.option("--also", default=None, metavar="NAME,...", help="Other measures of what is found.")
@click.option("--pareto", default=None, metavar="NAME[:max],...", help="Options that nothing beats in all of these.")
@click.option("--regret", "of_regret", is_flag=True, help="The choice of least regret over all axes not in --by.")
@click.option("--penalty", type=float, default=None, help="Of --regret: the measure where a choice fails.")
@mixed_option
@at_option
@output_options()
@on_scheduler
def command(
    source: str,
    measure: str | None,
    by: str | None,
    levers: str | None,
    where: tuple[str, ...],
    accept: tuple[str, ...],
    survives: str | None,
    also: str | None,
    pareto: str | None,
    of_regret: bool,
    penalty: float | None,
    mixed: bool,
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Choose among the plans of GRID, or of the cube in DIR: the best of what is chosen, for all that happens."""
    _check(source, output, force, catalog, pareto, of_regret, penalty, also)
    if pareto is not None and measure is not None:
        raise click.UsageError("--measure is not of --pareto: its objectives are what is compared")
    asked: dict[str, Any] = {"levers": levers, "where": where, "accept": parse_accepted(accept), "survives": survives}
    asked |= {"mixed": mixed, "at": parse_labels(at)}
    if not of_regret:
        asked["also"] = also or ()
    opened = source_of(source, catalog)
    with named_as_options(_OPTIONS):
        found = _asked(opened, measure or "usd_per_mtok_output", by, pareto, of_regret, penalty, asked)
    say_warnings(found.attrs)
    from gridplan.report import choice_tables
    from gridplan.report.solution import write_table

    if output is not None:
        click.echo(f"{output}: {write_table(choice_tables.flat(found), output):,} rows", err=True)
    if as_json:
        click.echo(json_text(choice_tables.data_of(found)))
    else:
        click.echo(choice_tables.finding(found) if output is not None else choice_tables.page(found))


def _asked(
    source: Any,
    measure: str,
    by: str | None,
    objectives: str | None,
    of_regret: bool,
    penalty: float | None,
    asked: dict[str, Any],
) -> Any:
    if objectives is not None:
        from gridplan.sensitivity.pareto import pareto

        return pareto(source, objectives, by, **asked)
    if of_regret:
        from gridplan.sensitivity.regret import regret

        return regret(source, measure, by, penalty=penalty, **asked)
    from gridplan.sensitivity.choice import cheapest

    return cheapest(source, measure, by, **asked)


def _check(
    source: str,
    output: str | None,
    force: bool,
    catalog: str | None,
    pareto: str | None,
    of_regret: bool,
    penalty: float | None,
    also: str | None,
) -> None:
    """Refuse what does not go together, and a file that cannot be written, before anything is computed."""
    if pareto is not None and of_regret:
        raise click.UsageError("--pareto and --regret are two questions: give one of them")
    if penalty is not None and not of_regret:
        raise click.UsageError("--penalty is of --regret")
    if also is not None and of_regret:
        raise click.UsageError("--also is not of --regret: a choice has other values in every state")
    refuse_catalog_of_folder(source, catalog)
    check_output(output, force)
