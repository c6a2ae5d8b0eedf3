"""What a load test is judged by: options for limits, contract and machine, and the result that they give."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gridplan.cli.catalog_option import say_folder
from gridplan.cli.sweep_options import points_of

if TYPE_CHECKING:
    from gridplan.errors import Problem
    from gridplan.measured import SweepPoint, SweepResult
    from gridplan.report.sweep_facts import Facts

__all__ = ["check_question", "judged", "question_options"]

F = TypeVar("F", bound=Callable[..., Any])

_MACHINE = {
    "weights": ("bytes", "Weights that a step reads on one GPU, such as 14.9GiB."),
    "bandwidth": ("bytes/s", "Peak memory bandwidth of one GPU, such as 2039GB/s."),
    "achieved_bandwidth": ("bytes/s", "Memory bandwidth that is achieved, for a softer limit."),
    "params": ("count", "Parameters that a prompt token multiplies on one GPU, such as 8.03e9 or '8.03 B'."),
    "flops": ("FLOP/s", "Peak FLOP/s of one GPU, such as '312 TFLOP/s'."),
}


def question_options(command: F) -> F:
    """Give a command `FILE...` and what they are judged by: `slo`, `grid`, figures of the machine, budget, `only`."""
    options = (
        click.argument("files", nargs=-1, required=True, metavar="FILE..."),
        click.option(
            "--slo", default=None, metavar="SPEC", help="Limits, such as ttft_p95=1s,tpot_p95=25ms,goodput=95%."
        ),
        click.option("--grid", default=None, metavar="GRID", help="Contract with limits, requests and machine."),
        click.option("--weights", default=None, metavar="BYTES", help=_MACHINE["weights"][1]),
        click.option("--bandwidth", default=None, metavar="RATE", help=_MACHINE["bandwidth"][1]),
        click.option("--achieved-bandwidth", default=None, metavar="RATE", help=_MACHINE["achieved_bandwidth"][1]),
        click.option("--params", default=None, metavar="COUNT", help=_MACHINE["params"][1]),
        click.option("--flops", default=None, metavar="RATE", help=_MACHINE["flops"][1]),
        click.option(
            "--error-budget", default="1%", show_default=True, metavar="SHARE", help="Share of requests that may fail."
        ),
        click.option(
            "--only",
            multiple=True,
            metavar="KEY=VALUE",
            help="Points with this model or setting alone, such as max_num_seqs=64.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_question(stated: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other before anything is read. Raises click.UsageError."""
    if stated["slo"] is None and stated["grid"] is None:
        raise click.UsageError("give the limits: --slo ttft_p95=1s,tpot_p95=25ms, or --grid with a contract")
    if stated["grid"] is not None and any(stated[name] for name in _MACHINE):
        raise click.UsageError("the contract of --grid says what the machine can do: leave --weights and its like out")


def judged(
    files: tuple[str, ...],
    stated: Mapping[str, Any],
    catalog: str | None,
    as_of: str | None = None,
    interpolate: bool = False,
) -> tuple[SweepResult, Facts]:
    """The files judged by the options of `question_options`, and what the contract says beside them.

    Raises ContractError with the problems of all files and options, click.UsageError for `--only` without points.
    """
    points, facts, budget = _inputs(files, stated, as_of, catalog)
    points = points_of(points, stated["only"])
    from gridplan.measured import sweep_result

    result = sweep_result(
        points,
        facts.slos,
        least=facts.least,
        output_lengths=facts.output_lengths,
        prompt_lengths=facts.prompt_lengths,
        error_budget=budget,
        interpolate=interpolate,
    )
    return result, facts


def _inputs(
    files: tuple[str, ...], stated: Mapping[str, Any], as_of: str | None, catalog: str | None
) -> tuple[list[SweepPoint], Facts, float]:
    """Points, limits and what is known beside them, or one error with the problems of all of them."""
    from dataclasses import replace

    from gridplan.errors import CatalogError, ContractError
    from gridplan.measured import parse_slos, read_sweep
    from gridplan.report.sweep_facts import Facts, facts_of_grid

    slo, grid = stated["slo"], stated["grid"]
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
    budget, wrong = _quantities(stated["error_budget"], as_of)
    problems += wrong
    if grid is None:
        found, wrong = _machine({name: stated[name] for name in _MACHINE})
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
