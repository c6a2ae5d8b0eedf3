"""The stairs of a contract: planned at the rates that are asked for, whatever it states itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem
from gridplan.quantities import format_label
from gridplan.report.charts.rows import plain
from gridplan.report.charts.stair_walk import Plan, Stair, Step, beyond, walk
from gridplan.sensitivity.fixed import fixed_at, inputs_of
from gridplan.sensitivity.search import to_digits
from gridplan.sensitivity.varied import Varied, varied

__all__ = ["SHORT", "Walked", "of_nodes", "walked"]

RATE = "arrival_rate"
SHORT = "fleet_sufficient false"
"""Why a rate has no plan although a replica would do: the nodes, budget or power of the contract do not hold it."""

_POINTS = 120
"""Rates at which a measure that falls within a step is planned, over the range (policy); each step has three."""

_ALIKE = 1e-9
_READ = ("infeasible_reason", "fleet_sufficient", "nodes", "replicas_active", "lambda_safe", "arrival_rate_next_step")


@dataclass(frozen=True)
class Walked:
    """The stairs of a contract over a range, the rate that it states (None where it is an axis, or not one number)."""

    stairs: list[Stair]
    low: float
    high: float
    own: float | None
    level: bool
    moved: bool


def of_nodes(measure: str) -> bool:
    """Whether a measure can change only with a node: bills and counts of nodes; others change with each replica."""
    return measure.startswith(("usd_per_month", "usd_per_hour", "nodes", "gpus_deployed"))


def walked(grid: Grid, measure: str, by: str | None, fixed: Mapping[str, str | float]) -> Walked:
    """Walk the stair of each label of `by`. Raises ContractError where a scenario states the rate outright."""
    cut = fixed_at(grid, fixed)
    moved = varied(cut, RATE)
    if (moved.times == 0.0).any():
        raise ContractError([Problem("this scenario states arrival_rate itself: nothing is left to walk", key="at")])
    low, high, own = _range(cut, moved)
    labels = [""] if by is None else [format_label(label) for label in space_of(moved.grid).labels[by]]
    planner = _Planner(moved, measure, len(labels))
    stairs = walk(planner.plans, labels, low, high)
    level = planner.finish(stairs, (low, high))
    return Walked(stairs, low, high, own, level, bool((moved.times != 1.0).any() or (moved.plus != 0.0).any()))


def _range(grid: Grid, moved: Varied) -> tuple[float, float, float | None]:
    """From the lowest to the highest label; without an axis from a tenth to twice the rate that is stated."""
    axis = grid.axis(RATE)
    if axis is not None and len(axis.labels) > 1:
        numbers = [float(label) for label in axis.labels]
        return min(numbers), max(numbers), None
    if axis is not None:
        stated = np.array([float(axis.labels[0])])
    else:
        stated = np.unique(to_digits((inputs_of(grid).values[RATE].data - moved.plus) / moved.times))
    if not np.isfinite(stated).all():
        raise ContractError([Problem("arrival_rate is not known here: make it an axis to draw over", key="x")])
    ends = to_digits(np.array([stated.min() / 10.0, stated.max() * 2.0]))
    return float(ends[0]), float(ends[1]), float(stated[0]) if stated.size == 1 else None


@dataclass
class _Planner:
    """Plans at any rates, of each label of `by` its own."""

    moved: Varied
    measure: str
    series: int

    def plans(self, asked: list[list[float]]) -> list[list[Plan]]:
        """What is planned at these rates; lists of unequal length are filled up and cut again."""
        longest = max(len(own) for own in asked)
        filler = next(own[0] for own in asked if own)
        padded = [[*own, *[filler] * (longest - len(own))] for own in asked]
        figures = self._figures(np.array(padded, np.float64).T)
        ends = self._ends(figures)
        names = dict.fromkeys((self.measure, "nodes"))
        found = []
        for place, own in enumerate(asked):
            plans = []
            for at, rate in enumerate(own):
                here = {name: plain(figures[name][at, place]) for name in names}
                why = self._why({name: figures[name][at, place] for name in figures})
                plans.append(Plan(rate, float(ends[at, place]), why, here))
            found.append(plans)
        return found

    def _figures(self, rates: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        shape = space_of(self.moved.grid).shape
        spread = rates.reshape(len(rates), *shape)
        found = self.moved.figures(spread, dict.fromkeys((self.measure, *_READ)))
        return {name: np.broadcast_to(item, spread.shape).reshape(rates.shape) for name, item in found.items()}

    def _ends(self, figures: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """The largest rate of the same plan, as the contract would state it."""
        end = figures["arrival_rate_next_step"]
        if not of_nodes(self.measure):
            end = np.fmin(end, figures["replicas_active"] * figures["lambda_safe"])
        one = np.broadcast_to(self.moved.plus, space_of(self.moved.grid).shape).reshape(-1)
        times = np.broadcast_to(self.moved.times, space_of(self.moved.grid).shape).reshape(-1)
        return np.asarray((end - one) / times)

    def _why(self, figures: Mapping[str, Any]) -> str | None:
        reason = figures["infeasible_reason"]
        if reason is not None:
            return str(reason)
        if figures["fleet_sufficient"] == 0.0:
            return SHORT
        return f"{self.measure} is null" if np.isnan(figures[self.measure]) else None

    def finish(self, stairs: Sequence[Stair], span: tuple[float, float]) -> bool:
        """Whether the measure is the same all over each step; if not, points are planned within the steps."""
        ends = [[_inside(step) for step in stair.steps if step.why is None] for stair in stairs]
        if not any(ends):
            return True
        level = True
        for stair, plans in zip(stairs, self.plans(ends), strict=True):
            steps = [step for step in stair.steps if step.why is None]
            level = level and all(
                plan.why is None
                and math.isclose(plan.figures[self.measure], step.figures[self.measure], rel_tol=_ALIKE)
                for step, plan in zip(steps, plans, strict=True)
            )
        if level:
            for stair in stairs:
                stair.steps = _merged(stair.steps)
            return True
        for stair, plans in zip(stairs, self.plans([_within(stair.steps, span) for stair in stairs]), strict=True):
            stair.points = [plan for plan in plans if plan.why is None]
        return False


def _inside(step: Step) -> float:
    """A rate at the end of a step that is surely in it."""
    return max(float(to_digits(np.array(step.high * (1.0 - 1e-11)))), min(beyond(step.low), step.high))


def _within(steps: Sequence[Step], span: tuple[float, float]) -> list[float]:
    """Rates from the beginning to the end of each step, in equal ratios, more of them in longer steps."""
    whole = math.log(span[1] / span[0]) or 1.0
    found: list[float] = []
    for step in (step for step in steps if step.why is None):
        low, high = min(beyond(step.low), step.high), _inside(step)
        count = max(3, round(_POINTS * math.log(max(high / low, 1.0)) / whole))
        found += to_digits(np.geomspace(low, high, count)).tolist() if high > low else [high]
    return list(dict.fromkeys(found))


def _merged(steps: Sequence[Step]) -> list[Step]:
    """Neighbours that differ in nothing that is drawn, made one."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and (last.high, last.why, last.figures) == (step.low, step.why, step.figures):
            found[-1] = replace(last, high=step.high)
        else:
            found.append(step)
    return found
