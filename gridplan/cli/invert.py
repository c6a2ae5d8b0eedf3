"""`gridplan invert`: how far an input may go, where two alternatives cost the same, and which plan is least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.scheduler_option import on_scheduler
from gridplan.cli.study_options import at_option, check_output, json_text, loaded_grid, output_options, say_warnings
from gridplan.errors import ContractError, Problem

if TYPE_CHECKING:
    import xarray as xr

    from gridplan.contract.grid import Grid

__all__ = ["command", "read_ends"]

TARGETS = "max:INPUT, min:INPUT, next_replica, next_node, break_even_api, break_even:AXIS=A,B, cheapest, fewest_gpus"

_LEAST = {"cheapest": "usd_per_month", "fewest_gpus": "gpus_deployed"}

_TAKEN: Mapping[str, frozenset[str]] = {
    "threshold": frozenset({"where", "low", "high", "factor", "nodes", "budget", "power", "by"}),
    "next": frozenset({"nodes", "budget", "power", "by"}),
    "break_even": frozenset({"vary", "measure", "low", "high", "points"}),
    "least": frozenset({"where", "by"}),
}
"""Options that each kind of question takes beside those of every one."""

_OPTIONS = {
    **{name: f"--{name}" for name in ("low", "high", "factor", "nodes", "budget", "power", "by", "vary", "points")},
    **{"where": "--while", "while": "--while", "for": "--for", "input": "--for", "against": "--for", "at": "--at"},
    **{"measure": "--measure", "low, high": "--low, --high"},
}
"""What arguments behind the options are called here."""


@click.command()
@click.argument("grid", type=click.Path())
@click.option("--for", "target", required=True, metavar="QUESTION", help=f"What is asked: {TARGETS}.")
@click.option(
    "--while",
    "where",
    multiple=True,
    metavar="CONDITION",
    help='What must hold, as "usd_per_month <= 150000" or slo_held; may be given several times.',
)
@click.option("--low", default=None, metavar="VALUE", help="Where to look from; may have a unit.")
@click.option("--high", default=None, metavar="VALUE", help="Where to look to; may have a unit.")
@click.option("--factor", is_flag=True, help="Search a factor of the input as it is, not a value.")
@click.option("--nodes", type=int, default=None, metavar="N", help="A fleet that caps the plan.")
@click.option("--budget", type=float, default=None, metavar="USD", help="A bill of a month that caps the plan.")
@click.option("--power", type=float, default=None, metavar="KW", help="A power of the facility that caps the plan.")
@click.option("--vary", default=None, metavar="INPUT", help="Compare both at every value of an input (break_even).")
@click.option("--measure", default=None, metavar="NAME", help="What is compared there (default usd_per_month).")
@click.option("--points", type=int, default=None, metavar="N", help="Values that are compared first (default 257).")
@at_option
@click.option(
    "--by",
    default=None,
    metavar="AXIS,...",
    help="Axes that stay; of the others the best of what is chosen, the worst of what is not.",
)
@output_options()
@on_scheduler
def command(
    grid: str,
    target: str,
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask GRID backwards: how far an input may go while conditions hold, or where two alternatives cost the same."""
    check_output(output, force)
    kind = _kind(target)
    given = {name: value for name, value in options.items() if value is not None and value is not False and value != ()}
    _refuse_others(target, kind, given)
    labels = parse_labels(at)
    loaded = loaded_grid(grid, catalog)
    with named_as_options(_OPTIONS):
        found = _asked(loaded, target, kind, labels, given)
    _tell(found, output, as_json)


def _kind(target: str) -> str:
    if target in _LEAST:
        return "least"
    if target == "break_even_api" or target.startswith("break_even:"):
        return "break_even"
    return "next" if target in ("next_replica", "next_node") else "threshold"


def _refuse_others(target: str, kind: str, given: Mapping[str, Any]) -> None:
    others = [name for name in given if name not in _TAKEN[kind]]
    if others:
        raise ContractError([Problem(f"--for {target} does not take it", key=_OPTIONS[name]) for name in others])


def _asked(loaded: Grid, target: str, kind: str, labels: dict[str, str], given: dict[str, Any]) -> xr.Dataset:
    """The answer to the question of each kind."""
    if kind == "least":
        from gridplan.sensitivity.best import best

        return best(loaded, _LEAST[target], at=labels, **given)
    if kind == "break_even":
        from gridplan.sensitivity.break_even import break_even

        against = "api" if target == "break_even_api" else target.partition(":")[2]
        read_ends(given, given.get("vary"))
        return break_even(loaded, against=against, at=labels, **given)
    from gridplan.sensitivity.thresholds import invert

    read_ends(given, target.partition(":")[2])
    return invert(loaded, target, at=labels, **given)


def read_ends(given: dict[str, Any], name: str | None) -> None:
    """Read the ends of the range as numbers, in the unit of the input where they have none."""
    from gridplan.dictionary import dictionary
    from gridplan.quantities import parse_quantity

    row = dictionary().get(name or "")
    problems = []
    for key in ("low", "high"):
        if key not in given:
            continue
        text = given[key]
        try:
            given[key] = float(text)
        except ValueError:
            try:
                if row is None or given.get("factor"):
                    raise ValueError(f"{text!r} is not a number") from None
                given[key] = parse_quantity(text, row.unit)
            except ValueError as error:
                problems.append(Problem(str(error), key=key))
    if problems:
        raise ContractError(problems)


def _tell(found: xr.Dataset, output: str | None, as_json: bool) -> None:
    from gridplan.report.inversion import answer_data, answer_page, finding
    from gridplan.report.solution import write_table

    say_warnings(found.attrs)
    if output is not None:
        click.echo(f"{output}: {write_table(found, output):,} rows", err=True)
    if as_json:
        click.echo(json_text(answer_data(found)))
    elif output is None:
        click.echo(answer_page(found))
    else:
        click.echo(finding(found), err=True)
