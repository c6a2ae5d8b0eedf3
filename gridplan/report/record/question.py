"""What is wrong with the question of a record, found before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.errors import Problem, suggestion
from gridplan.report.charts.source import axes_of_source
from gridplan.report.record.case import Asked
from gridplan.report.record.found import positions
from gridplan.sensitivity.cells import gathered
from gridplan.sensitivity.source import PROVIDER

__all__ = ["question_problems"]


def question_problems(
    source: Grid | str | Path, asked: Asked, vary: Mapping[str, str], sweep: Sequence[str]
) -> list[Problem]:
    """What is wrong with labels, measure, conditions, precisions, what survives, ranges and load tests, all of it.

    Raises StoreError for a folder that is no cube.
    """
    from gridplan.sensitivity.asked import SURVIVAL
    from gridplan.sensitivity.constraints import Condition, conditions
    from gridplan.sensitivity.ranges import ranges_of

    problems: list[Problem] = []
    axes = axes_of_source(source)
    with gathered(problems):
        positions(axes, asked.at)
    row = dictionary().get(asked.measure)
    if row is None or row.is_label or row.role != "measure":
        said = f"{asked.measure} is not a measure to choose by{suggestion(asked.measure, all_measures())}"
        if row is not None and row.is_label:
            said = f"{asked.measure} is a label, and has no least"
        problems.append(Problem(said, key="measure"))
    if asked.survives is not None and asked.survives not in SURVIVAL:
        said = f"{asked.survives} is none of {', '.join(SURVIVAL)}{suggestion(asked.survives, SURVIVAL)}"
        problems.append(Problem(said, key="survives"))
    read: list[Condition] = []
    with gathered(problems):
        read = conditions(asked.where)
    known = [*axes, *dictionary(), PROVIDER]
    named = [("where", item.name) for item in read] + [("accept", name) for name in asked.accept]
    problems += [
        Problem(f"{name} is not a measure of this cube{suggestion(name, known)}", key=key)
        for key, name in named
        if name not in known
    ]
    problems += ranges_of(vary)[1] if vary else []
    return problems + (_unreadable(sweep) if sweep else [])


def _unreadable(files: Sequence[str]) -> list[Problem]:
    """What is wrong with files of load tests."""
    from gridplan.measured import read_sweep

    problems: list[Problem] = []
    with gathered(problems):
        read_sweep(tuple(files))
    return [item if item.key else replace(item, key="sweep") for item in problems]
