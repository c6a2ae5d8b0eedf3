"""A question of choice as it is asked, made into the options it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.contract.grid import Grid
from gridplan.engine.survivors import WITHOUT_SPOT
from gridplan.errors import Problem, suggestion
from gridplan.sensitivity.axes import axes_of, split_axes
from gridplan.sensitivity.cells import gathered, refuse
from gridplan.sensitivity.constraints import Condition, accepted, conditions
from gridplan.sensitivity.options import Options, options_of
from gridplan.sensitivity.question import Question
from gridplan.sensitivity.source import cube_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SURVIVAL", "Split", "options_for", "question_of", "staying"]

Split = Callable[[Mapping[str, int]], tuple[tuple[str, ...], tuple[str, ...]]]
"""From the labels of each axis to the axes that stay and those that are chosen along."""

SURVIVAL = {
    f"{unit}{'' if kind == 'slo' else '-headroom'}": f"survives_{unit}_loss_{kind}"
    for unit in ("gpu", "node", "zone")
    for kind in ("slo", "headroom")
}
"""What a plan may have to survive, and the measure that says so: limits hold, or the headroom is kept as well."""


def staying(by: str | Iterable[str] | None, levers: str | Iterable[str] | None) -> Split:
    """The split that `split_axes` makes of `by` and `levers`."""
    return lambda sizes: split_axes(sizes, by, levers)


def options_for(
    source: Grid | xr.Dataset | str | Path,
    measures: tuple[str, ...],
    split: Split,
    where: str | Iterable[str],
    accept: Mapping[str, str | Sequence[str]] | None,
    survives: str | None,
    also: tuple[str, ...],
    at: Mapping[str, str | float] | None,
    mixed: bool,
) -> tuple[Options, dict[str, Any]]:
    """The options of a question as it was asked, and what is said about it."""
    wrong: list[Problem] = []
    question = Question(measures, (), (), None, mixed)
    with gathered(wrong):
        question = question_of(measures, where, accept, survives, mixed)

    def first(sizes: Mapping[str, int]) -> None:
        problems = list(wrong)
        with gathered(problems):
            split(sizes)
        refuse(problems)

    optional = (WITHOUT_SPOT,) if survives else ()
    asked_as = dict.fromkeys(also, "also") | {item.name: "where" for item in question.where}
    asked_as |= {item.name: "accept" for item in question.accept} | {question.survives or "": "survives"}
    asked_as = {name: key for name, key in asked_as.items() if name not in measures}
    cube = cube_of(source, (*question.names, *also), optional=optional, at=at, asked_as=asked_as, first=first)
    sizes = {name: cube.sizes[name] for name in axes_of(cube)}
    stay, chosen = split(sizes)
    found = options_of(cube, stay, chosen, question)
    warned = [str(cube.attrs["warnings"])] if "warnings" in cube.attrs else []
    attrs = {name: text for name, text in cube.attrs.items() if name != "warnings"}
    attrs |= {"measure": ", ".join(measures), "by": ", ".join(stay), "levers": ", ".join(chosen)}
    attrs |= {"where": "; ".join([where] if isinstance(where, str) else where), "survives": survives or ""}
    attrs["accept"] = "; ".join(f"{item.name}={','.join(item.values)}" for item in question.accept)
    attrs["at"] = ", ".join(f"{name}={label}" for name, label in (at or {}).items())
    attrs["warnings"] = "\n".join([*warned, *found.warnings])
    return found, {name: text for name, text in attrs.items() if text != ""}


def question_of(
    measures: tuple[str, ...],
    where: str | Iterable[str],
    accept: Mapping[str, str | Sequence[str]] | None,
    survives: str | None,
    mixed: bool,
) -> Question:
    """The question of choice, read; raises ContractError with all that is wrong in its conditions."""
    problems: list[Problem] = []
    if survives is not None and survives not in SURVIVAL:
        said = f"{survives} is none of {', '.join(SURVIVAL)}{suggestion(survives, SURVIVAL)}"
        problems.append(Problem(said, key="survives"))
    read: list[Condition] = []
    with gathered(problems):
        read = conditions(where)
    refuse(problems)
    return Question(measures, tuple(read), tuple(accepted(accept)), SURVIVAL[survives] if survives else None, mixed)
