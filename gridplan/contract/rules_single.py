"""Rules about one input at a time: stated once, an axis or a value, read, required, scaled within bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gridplan.contract.axes import rounded
from gridplan.contract.context import Context
from gridplan.contract.forms import AddTo, MultiplyBy
from gridplan.contract.grid import Change
from gridplan.contract.lookup import labels_of, stated, stated_length
from gridplan.contract.margins import MARGINS, PROPOSALS, has_margins
from gridplan.contract.values import out_of_bounds
from gridplan.dictionary import dictionary

__all__ = ["check_single_inputs"]

_SECTION_ONLY = ("workload", "slo", "deployment", "capacity", "policy", "workloads", "axes")
_REQUIRED = {
    "arrival_rate": "is required: the peak rate of requests that the fleet must carry, as a value or an axis",
    "rho_target": "is required: the share of one replica's capacity to plan for, as a value or an axis. Proposals by "
    f"what that capacity is (lambda_basis): {PROPOSALS}. Or give its factors by name ({', '.join(MARGINS)})",
}


def check_single_inputs(context: Context) -> None:
    """All rules of this module."""
    _stated_once(context)
    _axis_or_value(context)
    _scenarios_leave_axes(context)
    _required(context)
    _scaled_within_bounds(context)


def _stated_once(context: Context) -> None:
    for name, paths in context.stated.items():
        first, *others = sorted(map(context.problems.place, paths), key=lambda place: (place.line, place.column))
        for later in others:
            message = f"{name} is given twice: here and as {first.key} on line {first.line}"
            context.problems.at(later, message)


def _axis_or_value(context: Context) -> None:
    for name, axis in context.axes.items():
        for path in context.stated.get(name, ()):
            message = f"{name} is an axis (line {axis.line}) and has a base value here; keep one"
            context.problems.at(context.problems.place(path), message)


def _scenarios_leave_axes(context: Context) -> None:
    for name, entry in context.contract.scenarios.items():
        for key, form in entry.stated().items():
            if key in context.axes and not isinstance(form, MultiplyBy | AddTo):
                advice = "" if dictionary()[key].is_label else "; it may write {multiply: x} or {add: x}"
                message = f"scenario {name} sets {key}, which is an axis (line {context.axes[key].line}){advice}"
                context.problems.at(context.problems.place(("scenarios", name, key)), message)


def _required(context: Context) -> None:
    broken = context.problems.broken_paths
    for name, reason in _REQUIRED.items():
        hidden = any(name in path or (len(path) == 1 and path[0] in _SECTION_ONLY) for path in broken)
        if hidden or name in context.axes or name in context.grid.given:
            continue
        section = dictionary()[name].section
        for workload in context.grid.workloads:
            if name in workload.given or (name == "rho_target" and has_margins(context, workload)):
                continue
            path = ("workloads", workload.name) if workload.name else (section,)
            if context.problems.broken(path):
                continue
            place = context.problems.place((*path, name))
            context.problems.at(place, f"{name} {reason}")
            if name == "rho_target":
                break


def _scaled_within_bounds(context: Context) -> None:
    for scenario in context.grid.scenarios:
        for name, change in scenario.changes.items():
            if change.op == "set":
                continue
            base = list(_base_numbers(context, name))
            if not base and not dictionary()[name].default and not context.problems.broken_input(name):
                message = f"scenario {scenario.name} changes {name}, which has no base value"
                context.problems.at(change.place, message)
            for reason in _excesses(name, base, change):
                context.problems.at(change.place, f"scenario {scenario.name}: {reason}")
                break


def _base_numbers(context: Context, name: str) -> Iterator[float]:
    """Every number that a scenario's change of an input may start from."""
    grid = context.grid
    if grid.axis(name) is None and not any(stated(grid, name)):
        default = dictionary()[name].default
        if default and default.replace(".", "").isdigit():
            yield float(default)
        for workload in grid.workloads:
            lengths = [getattr(item, name) for item in workload.classes if name in ("prompt_tokens", "output_tokens")]
            yield from (stated_length(length) for length in lengths)
        return
    yield from (value for value in labels_of(grid, name, with_scenarios=False) if isinstance(value, float))


def _excesses(name: str, base: Iterable[float], change: Change) -> Iterator[str]:
    """What a change would make of base values where that is not allowed."""
    if not isinstance(change.value, float):
        return
    sign = "x" if change.op == "multiply" else "+"
    for number in base:
        result = rounded(number * change.value if change.op == "multiply" else number + change.value)
        shown = f"{number:.12g} {sign} {change.value:.12g} = {result:.12g}"
        if (reason := out_of_bounds(name, result, shown)) is not None:
            yield reason
