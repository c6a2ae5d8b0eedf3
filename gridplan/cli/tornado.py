"""`gridplan tornado`: inputs moved one at a time."""

from __future__ import annotations

import click

from gridplan.cli.explain import parse_labels
from gridplan.cli.named_options import named_as_options
from gridplan.cli.study_options import check_output, json_text, loaded_grid, names_of, output_options, say_warnings
from gridplan.errors import ContractError, Problem

__all__ = ["command", "parse_ranges", "vary_option"]

_OPTIONS = {"vary": "--vary", "measures": "--measure", "at": "--at"}


vary_option = click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="INPUT=LOW:HIGH,...",
    help="An input and its ends: 2:5, '20 ms:40 ms', x0.5:x2, -20%:+20%. May be given several times.",
)


def parse_ranges(texts: tuple[str, ...]) -> dict[str, str]:
    """`rho_target=0.6:0.8,output_tokens=x0.5:x2` (also given several times) as ranges by input."""
    ranges: dict[str, str] = {}
    problems = []
    for item in (part for text in texts for part in text.split(",") if part.strip()):
        name, sign, spec = (part.strip() for part in item.partition("="))
        if not sign or not name or not spec:
            problems.append(Problem(f"--vary takes INPUT=LOW:HIGH, not {item!r}"))
        elif name in ranges:
            problems.append(Problem(f"--vary names {name} twice"))
        ranges[name] = spec
    if problems:
        raise ContractError(problems)
    return ranges


@click.command()
@click.argument("grid", type=click.Path())
@vary_option
@click.option(
    "--measure",
    multiple=True,
    metavar="NAME,...",
    help="What moves; the first one sorts (default: nodes,usd_per_mtok_output).",
)
@click.option("--at", multiple=True, metavar="AXIS=LABEL,...", help="The cell: one label per axis.")
@output_options()
def command(
    grid: str,
    vary: tuple[str, ...],
    measure: tuple[str, ...],
    at: tuple[str, ...],
    output: str | None,
    force: bool,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Move inputs of one cell of GRID one at a time, low and high, and sort them by what that does to the plan."""
    check_output(output, force)
    labels, ranges = parse_labels(at), parse_ranges(vary)
    names = names_of(measure)
    loaded = loaded_grid(grid, catalog)
    from gridplan.report.frames import plain_rows, write_frame
    from gridplan.report.tornado_page import tornado_page
    from gridplan.sensitivity.tornado import MEASURES, tornado

    with named_as_options(_OPTIONS):
        found = tornado(loaded, ranges, names or MEASURES, labels)
    warnings = say_warnings(found.attrs)
    if output is not None:
        click.echo(f"{output}: {write_frame(found, output):,} rows", err=True)
    if as_json:
        about = {"grid": loaded.name, "cell": found.attrs["cell"], "finding": found.attrs["finding"]}
        answer = {**about, "warnings": warnings, "rows": plain_rows(found)}
        click.echo(json_text(answer))
    elif output is None:
        click.echo(tornado_page(found))
