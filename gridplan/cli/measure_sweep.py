"""`gridplan measure sweep`: the rate that a load test shows one replica to sustain, and whether to believe it."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridplan.cli.catalog_option import catalog_option, folder_in_use, say_folder
from gridplan.cli.output import refuse_existing, write_block
from gridplan.cli.sweep_options import check_targets, points_of

if TYPE_CHECKING:
    from gridplan.errors import Problem
    from gridplan.measured import SweepPoint
    from gridplan.report.sweep_facts import Facts

__all__ = ["sweep_command"]

_MACHINE = {
    "weights": ("bytes", "Weights that a step reads on one GPU, such as 14.9GiB."),
    "bandwidth": ("bytes/s", "Peak memory bandwidth of one GPU, such as 2039GB/s."),
    "achieved_bandwidth": ("bytes/s", "Memory bandwidth that is achieved, for a softer limit."),
    "params": ("count", "Parameters that a prompt token multiplies on one GPU, such as 8.03e9 or '8.03 B'."),
    "flops": ("FLOP/s", "Peak FLOP/s of one GPU, such as '312 TFLOP/s'."),
}


@click.command("sweep")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--slo", "slo", default=None, metavar="SPEC", help="Limits, such as ttft_p95=1s,tpot_p95=25ms,goodput=95%."
)
@click.option("--grid", default=None, metavar="GRID", help="Contract with limits, requests and machine.")
@click.option("--weights", default=None, metavar="BYTES", help=_MACHINE["weights"][1])
@click.option("--bandwidth", default=None, metavar="RATE", help=_MACHINE["bandwidth"][1])
@click.option("--achieved-bandwidth", default=None, metavar="RATE", help=_MACHINE["achieved_bandwidth"][1])
@click.option("--params", default=None, metavar="COUNT", help=_MACHINE["params"][1])
@click.option("--flops", default=None, metavar="RATE", help=_MACHINE["flops"][1])
@click.option(
    "--error-budget", default="1%", show_default=True, metavar="SHARE", help="Share of requests that may fail."
)
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE",
    help="Points with this model or setting alone, such as max_num_seqs=64.",
)
@click.option("--interpolate", is_flag=True, help="Also say where a line between the neighbours reaches a limit.")
@click.option("--as-of", default=None, metavar="DATE", help="Day of the test, YYYY-MM-DD (default: as the files say).")
@catalog_option
@click.option("-o", "--output", default=None, type=click.Path(), help="Write the rate as a contract block.")
@click.option("--chart", default=None, type=click.Path(), help="Write the sweep as an SVG chart.")
@click.option("--force", is_flag=True, help="Replace the files of -o and --chart.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def sweep_command(
    files: tuple[str, ...],
    slo: str | None,
    grid: str | None,
    weights: str | None,
    bandwidth: str | None,
    achieved_bandwidth: str | None,
    params: str | None,
    flops: str | None,
    error_budget: str,
    only: tuple[str, ...],
    interpolate: bool,
    as_of: str | None,
    catalog: str | None,
    output: str | None,
    chart: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Read load tests (files and folders) and print the last measured rate at which every limit holds, with the
    findings of a reviewer on each point.

    Exit code 1 when no rate is known to hold (no block is written then), 2 when a file, a limit or an option is wrong,
    3 when an output cannot be written.
    """
    machine = dict(zip(_MACHINE, (weights, bandwidth, achieved_bandwidth, params, flops), strict=True))
    if slo is None and grid is None:
        raise click.UsageError("give the limits: --slo ttft_p95=1s,tpot_p95=25ms, or --grid with a contract")
    if grid is not None and any(machine.values()):
        raise click.UsageError("the contract of --grid says what the machine can do: leave --weights and its like out")
    check_targets(files, output, chart)
    points, facts, budget = _inputs(files, slo, grid, machine, error_budget, as_of, catalog)
    points = points_of(points, only)
    from gridplan.measured import sweep_result
    from gridplan.report.sweep_block import capacity_block
    from gridplan.report.sweep_chart import sweep_chart
    from gridplan.report.sweep_data import sweep_data
    from gridplan.report.sweep_page import sweep_page

    result = sweep_result(
        points,
        facts.slos,
        least=facts.least,
        output_lengths=facts.output_lengths,
        prompt_lengths=facts.prompt_lengths,
        error_budget=budget,
        interpolate=interpolate,
    )
    known = result.lambda_instance_per_s is not None
    written: list[tuple[Path, str]] = []
    if output is not None and known:
        folder = folder_in_use(catalog)
        written.append((Path(output), capacity_block(result, as_of, None if folder is None else folder.catalog)))
    if chart is not None:
        written.append((Path(chart), sweep_chart(result)))
    for path, _ in written:
        refuse_existing(path, force)
    if as_json:
        click.echo(json.dumps(sweep_data(result, facts.notes), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(sweep_page(result, facts.notes))
    for path, text in written:
        write_block(path, text)
    if not known:
        if output is not None:
            click.echo(f"{output}: not written, since no measured rate is known to hold every limit", err=True)
        sys.exit(1)


def _inputs(
    files: tuple[str, ...],
    slo: str | None,
    grid: str | None,
    machine: dict[str, str | None],
    error_budget: str,
    as_of: str | None,
    catalog: str | None,
) -> tuple[list[SweepPoint], Facts, float]:
    """Points, limits and what is known beside them, or one error with the problems of all of them."""
    from dataclasses import replace

    from gridplan.errors import CatalogError, ContractError
    from gridplan.measured import parse_slos, read_sweep
    from gridplan.report.sweep_facts import Facts, facts_of_grid

    problems: list[Problem] = []
    points: list[SweepPoint] = []
    facts, budget = Facts(), 0.0
    try:
        points = read_sweep(files)
    except ContractError as error:
        problems += error.problems
    try:
        if grid is not None:
            from gridplan import load_grid

            contract = load_grid(grid, catalog)
            say_folder(contract.folder)
            facts = facts_of_grid(contract, limits_wanted=slo is None)
    except (ContractError, CatalogError) as error:
        problems += error.problems
    try:
        if slo is not None:
            facts = replace(facts, slos=parse_slos(slo))
    except ContractError as error:
        problems += error.problems
    budget, wrong = _quantities(error_budget, as_of)
    problems += wrong
    if grid is None:
        found, wrong = _machine(machine)
        problems += wrong
        facts = replace(facts, least=found.least)
    if problems:
        raise ContractError(problems)
    return points, facts, budget


def _quantities(error_budget: str, as_of: str | None) -> tuple[float, list[Problem]]:
    from gridplan.errors import Problem
    from gridplan.quantities import parse_quantity

    problems: list[Problem] = []
    budget = -1.0
    with contextlib.suppress(ValueError):
        budget = parse_quantity(error_budget, "1") if error_budget.strip().endswith("%") else float(error_budget)
    if not 0 <= budget <= 1:
        problems.append(Problem(f"{error_budget[:40]!r} is not a share: write 1% or 0.01", "--error-budget"))
    if as_of is not None and not _is_day(as_of):
        problems.append(Problem(f"{as_of[:40]!r} is not a day: write YYYY-MM-DD", "--as-of"))
    return budget, problems


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _machine(stated: dict[str, str | None]) -> tuple[Facts, list[Problem]]:
    """The least possible latencies from figures of one GPU; two of a kind are needed to say anything."""
    from gridplan.errors import Problem
    from gridplan.quantities import parse_quantity
    from gridplan.report.sweep_facts import Facts, facts_of_machine

    values: dict[str, float | None] = dict.fromkeys(stated)
    problems: list[Problem] = []
    for name, text in stated.items():
        if text is None:
            continue
        option = f"--{name.replace('_', '-')}"
        try:
            plain = re.fullmatch(r"\d+(\.\d*)?([eE]\+?\d+)?", text.strip()) if name == "params" else None
            values[name] = float(text) if plain else parse_quantity(text, _MACHINE[name][0])
            if not 0 < (values[name] or 0.0) < float("inf"):
                raise ValueError(f"must be above 0; {text} is not")
        except ValueError as error:
            problems.append(Problem(str(error), option))
    for one, others in (("weights", ("bandwidth", "achieved_bandwidth")), ("params", ("flops",))):
        if (stated[one] is None) != all(stated[other] is None for other in others):
            both = f"--{one} and --{others[0]}"
            problems.append(Problem(f"{both} are given together or not at all"))
    if problems:
        return Facts(), problems
    return facts_of_machine(*values.values()), problems
