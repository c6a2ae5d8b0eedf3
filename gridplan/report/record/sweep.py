"""The measured side: a load test judged against the limits of the plan, its curve and λ*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.errors import Problem
from gridplan.report.charts.chart import Chart
from gridplan.report.record.case import Case
from gridplan.report.record.document import Block, Figure, Note, Section, table
from gridplan.report.substitute import quantity_text
from gridplan.report.sweep_words import finding, interval_text, rate_text

if TYPE_CHECKING:
    from gridplan.contract.grid import Grid
    from gridplan.measured.sustained import Slo, SweepResult

__all__ = ["Sweep", "limits_of", "sweep_of", "sweep_section"]


@dataclass(frozen=True)
class Sweep:
    """A load test and what the contract could not say about it."""

    result: SweepResult
    notes: tuple[str, ...]
    files: tuple[str, ...]


def sweep_of(grid: Grid, files: Sequence[str], limits: tuple[Slo, ...] = ()) -> Sweep:
    """Read load tests and judge them by the limits of a contract, or by `limits`, those of a plan.

    Raises ContractError for files that cannot be read and for a contract without limits, with every problem.
    """
    from gridplan.measured import read_sweep, sweep_result
    from gridplan.report.sweep_facts import Facts, facts_of_grid
    from gridplan.sensitivity.cells import gathered, refuse

    problems: list[Problem] = []
    points, facts = [], Facts()
    with gathered(problems):
        points = read_sweep(tuple(files))
    with gathered(problems):
        facts = facts_of_grid(grid, limits_wanted=not limits)
    refuse(problems)
    result = sweep_result(
        points,
        limits or facts.slos,
        least=facts.least,
        output_lengths=facts.output_lengths,
        prompt_lengths=facts.prompt_lengths,
    )
    return Sweep(result, facts.notes, tuple(files))


def limits_of(case: Case) -> tuple[Slo, ...]:
    """The limits of the plan, as its axes and its scenario have them; empty where they are not known."""
    from gridplan.measured.sustained import Slo

    found = []
    for figure in ("ttft", "tpot", "e2e", "itl"):
        limit, percentile = case.input(f"{figure}_slo_s"), case.input(f"{figure}_slo_percentile") or "mean"
        if isinstance(limit, float):
            found.append(Slo(figure, "mean" if percentile == "mean" else float(percentile), limit))
    goodput = case.input("goodput_target")
    if isinstance(goodput, float):
        found.append(Slo("goodput", None, goodput))
    return tuple(found)


def sweep_section(case: Case, sweep: Sweep | None, charts: dict[str, Chart]) -> Section:
    """The load test, or a note that the rate of the plan was not measured here."""
    title = "Load against limits"
    if sweep is None:
        return Section("sweep", title, (_not_measured(case), *(Figure(*item) for item in charts.items())))
    from gridplan.report.sweep_page import check_lines, point_cells

    result = sweep.result
    said = finding(result)
    blocks: list[Block] = [Note(said[0].upper() + said[1:] + f". Interval {interval_text(result.interval_per_s)}.")]
    blocks.append(_beside_plan(case, result.lambda_instance_per_s))
    blocks += [Figure(*item) for item in charts.items()]
    heads, *rows = point_cells(result)
    blocks.append(table(f"Measured points of {', '.join(Path(file).name for file in sweep.files)}", heads, rows))
    if lines := [line.strip() for line in check_lines(result)]:
        cut = [line.partition(" ") for line in lines]
        checks = [(severity, *_named(rest)) for severity, _, rest in cut]
        blocks.append(table("What a reviewer finds in these figures", ("severity", "check", "finding"), checks))
    blocks += [Note(text) for text in sweep.notes]
    return Section("sweep", title, tuple(blocks))


def _named(rest: str) -> tuple[str, str]:
    name, _, said = rest.strip().partition(" ")
    return name.rstrip(":;"), said


def _not_measured(case: Case) -> Note:
    rate = case.number("lambda_instance")
    if rate is None:
        return Note("There is no rate to measure: no replica meets the limits.", "warning")
    said = quantity_text("lambda_instance", rate)
    if case.labels.get("capacity_source") == "measured":
        origin = case.origin("lambda_instance_given")
        return Note(
            f"λ* is {said} a replica, stated by the contract ({origin}). The load test is not attached: attach it with "
            "--sweep to show the curve, its limits and its checks. The rate holds for its model, engine, hardware, "
            "workload and limits, and for no other."
        )
    basis = case.labels.get("lambda_basis")
    return Note(
        f"No load test is attached. {said} a replica is predicted ({case.labels.get('capacity_source')}, basis "
        f"{basis}), a bound to be confirmed: measure it on the target hardware before it is signed, and attach it with "
        "--sweep.",
        "ask",
    )


def _beside_plan(case: Case, measured: float | None) -> Note:
    """Whether the plan is made with what the load test found."""
    planned = case.number("lambda_instance")
    if measured is None:
        return Note("No rate of this load test is known to hold every limit, so it supports no plan.", "warning")
    if planned is None:
        return Note(f"The load test sustains {rate_text(measured)}, but this cell has no plan.", "warning")
    said = quantity_text("lambda_instance", planned)
    if abs(planned - measured) <= 1e-9 * measured:
        return Note(f"The plan uses that rate: lambda_instance is {said}.")
    return Note(
        f"The plan is not made with that rate: lambda_instance is {said}, {planned / measured - 1:+.1%} from what the "
        "load test found. State it as lambda_instance_given, or say why not.",
        "warning",
    )
