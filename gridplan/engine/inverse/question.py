"""A question to a grid, checked: what is wanted, at which context, by which ceiling, and what is varied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from gridplan.contract.grid import Axis, By, Given, Grid, Measured
from gridplan.engine.inverse.following import JUMP_TOKENS
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion

__all__ = ["DEGREES", "MEASURES", "Context", "Question", "Target", "prepared", "question_of"]

Target = Literal["max_context", "min_tensor_parallel", "min_gpus", "max_concurrency"]
Context = Literal["length", "max_model_len"]

MEASURES = ("concurrency_memory_worst", "concurrency_memory_expected", "concurrency_memory")
"""Ceilings that can be asked for: every sequence at the context, at its final length, by `resident_context`."""

DEGREES = ("tensor_parallel", "pipeline_parallel", "data_parallel")
"""Degrees whose product is the GPUs of a replica."""

USUAL_GPUS_PER_NODE = 8
"""Largest tensor parallelism that is tried where no instance says how many GPUs a node has (policy, 2026-11-29)."""

_MOST_DEGREES = 1024
_MOST_TOKENS = 2**40
_POOLS = ("kv_pool_bytes_given", "kv_pool_tokens_given")


@dataclass(frozen=True)
class Question:
    """What `solve` was asked."""

    target: Target
    concurrency: int
    tokens: int | None
    context: Context
    measure: str
    scheduler: bool
    by: tuple[str, ...] | None
    max_tensor_parallel: int | None

    @property
    def is_of_degrees(self) -> bool:
        """Whether degrees of parallelism are the answer."""
        return self.target in ("min_tensor_parallel", "min_gpus")


def question_of(grid: Grid, **asked: Any) -> Question:
    """The question, or every problem of it.

    Raises
    ------
    ContractError
        For unknown names (with the nearest), numbers out of bounds, and what does not go together.
    """
    if not isinstance(grid, Grid):
        raise TypeError(f"a grid is due, from gridplan.load_grid, not {type(grid).__name__}")
    by = asked["by"]
    if by is not None:
        names = by.split(",") if isinstance(by, str) else by
        asked["by"] = tuple(dict.fromkeys(name.strip() for name in map(str, names) if name.strip()))
    question = Question(**asked)
    axes, stay = tuple(space_of(grid).labels), question.by or ()
    found = [
        _one_of("target", question.target, get_args(Target)),
        _one_of("context", question.context, get_args(Context)),
        _one_of("measure", question.measure, MEASURES),
        _whole("concurrency", question.concurrency, 2**53),
        _whole("tokens", question.tokens, _MOST_TOKENS),
        _whole("max_tensor_parallel", question.max_tensor_parallel, _MOST_DEGREES),
        *(_one_of("by", name, axes) for name in stay),
        *(
            Problem(f"{name} cannot stay: {why}", key="by")
            for name, why in _gone(question)
            if name in {*axes} & {*stay}
        ),
    ]
    if question.target == "max_context" and question.tokens is not None:
        found.append(Problem("leave it out: max_context solves for it", key="tokens"))
    if question.target == "max_concurrency" and question.concurrency != 1:
        found.append(Problem("leave it out: max_concurrency solves for it", key="concurrency"))
    if question.max_tensor_parallel is not None and not question.is_of_degrees:
        message = "bounds the candidates of min_tensor_parallel and min_gpus only"
        found.append(Problem(message, key="max_tensor_parallel"))
    if question.context == "max_model_len" and question.tokens is None and question.target != "max_context":
        found.append(Problem("needed with context max_model_len: the length to start the engine with", key="tokens"))
    problems = [problem for problem in (*found, *_against_grid(grid, question)) if problem is not None]
    if problems:
        raise ContractError(problems)
    return question


def prepared(grid: Grid, question: Question, gpus_per_node: float) -> Grid:
    """The grid without what is solved for, with candidates of tensor parallelism as an axis where they are asked."""
    dropped = {"capacity_model"}
    stated: dict[str, Given] = {}
    if question.context == "max_model_len":
        dropped.add("max_model_len")
        # Past the jump, where batched tokens no longer follow it: the search puts every length in its place.
        stated["max_model_len"] = Given(JUMP_TOKENS + 1.0, "policy", "solved for")
    axes = tuple(axis for axis in grid.axes if axis.name not in dropped)
    if question.is_of_degrees and not any(axis.name in _degree_axes(question) for axis in axes):
        dropped.add("tensor_parallel")
        most = question.max_tensor_parallel or int(max(gpus_per_node, 1))
        axes = (*axes, Axis("tensor_parallel", tuple(float(tp) for tp in range(1, most + 1))))
    return replace(
        grid,
        axes=axes,
        given={**{name: item for name, item in grid.given.items() if name not in dropped}, **stated},
        workloads=tuple(
            replace(item, given={name: value for name, value in item.given.items() if name not in dropped})
            for item in grid.workloads
        ),
        scenarios=tuple(
            replace(item, changes={name: change for name, change in item.changes.items() if name not in dropped})
            for item in grid.scenarios
        ),
        measured=Measured(),
    )


def _degree_axes(question: Question) -> tuple[str, ...]:
    return DEGREES if question.target == "min_gpus" else ("tensor_parallel",)


def _gone(question: Question) -> list[tuple[str, str]]:
    """Axes that no answer has, and why."""
    degrees = _degree_axes(question) if question.is_of_degrees else ()
    solved = [(name, f"{question.target} chooses from it") for name in degrees]
    if question.context == "max_model_len":
        solved.append(("max_model_len", "with context max_model_len the question replaces it"))
    return [*solved, ("capacity_model", "memory does not depend on it, and it is left out")]


def _one_of(key: str, given: object, allowed: tuple[str, ...]) -> Problem | None:
    if given in allowed:
        return None
    what = "an axis of this grid" if key == "by" else f"one of {', '.join(allowed)}"
    return Problem(f"{given} is not {what}{suggestion(str(given), allowed)}", key=key)


def _whole(key: str, given: object, most: int) -> Problem | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != given // 1:
        return Problem(f"must be a whole number, not {given!r}", key=key)
    if not 1 <= given <= most:
        return Problem(f"must be from 1 to {most:,}, not {given:,}", key=key)
    return None


def _against_grid(grid: Grid, question: Question) -> list[Problem]:
    """What the contract states of the thing that is solved for."""
    solved = []
    if question.context == "max_model_len":
        solved.append("max_model_len")
    if question.is_of_degrees:
        solved.append("tensor_parallel")
    problems = []
    for scenario in grid.scenarios:
        for name in set(solved) & set(scenario.changes):
            problems.append(_at(scenario.changes[name].place, f"scenario {scenario.name} changes {name}", name))
    for name, given in _stated(grid):
        if isinstance(given.value, By) and given.value.dimension in solved and name not in _POOLS:
            problems.append(_at(given.place, f"differs by {given.value.dimension}", name))
    if question.is_of_degrees:
        of_one = [item for item in _stated(grid) if item[0] in _POOLS and not isinstance(item[1].value, By)]
        for name, given in of_one:
            message = "is the pool at one tensor_parallel: leave it out to ask for another"
            problems.append(_located(given.place, message, name))
    return problems


def _stated(grid: Grid) -> list[tuple[str, Given]]:
    return [item for given in (grid.given, *(workload.given for workload in grid.workloads)) for item in given.items()]


def _at(place: object, head: str, name: str) -> Problem:
    return _located(place, f"{head}, which is solved for", name)


def _located(place: Any, message: str, name: str) -> Problem:
    if place is None:
        return Problem(message, key=name)
    return Problem(message, place.file, place.line, place.column, cast(str, place.key))
