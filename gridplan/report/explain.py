"""The chain of one cell with its numbers: formula, substituted values, result, and where every input came from."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridplan import chain
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import column_arrays, plan_columns
from gridplan.engine.field import Field
from gridplan.engine.inputs import build_inputs
from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.report.explanation import Explanation, InputLine, Line
from gridplan.report.sections import SECTIONS
from gridplan.report.substitute import formula_used, names_in, quantity_text, substituted
from gridplan.report.verdict import verdict

__all__ = ["explain"]


def explain(grid: Grid, /, **labels: str | float) -> Explanation:
    """Explain one cell of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    labels
        One label per axis. An axis with a single label may be left out, and so may `scenario` (then `nominal`).

    Raises
    ------
    ContractError
        If an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
    inputs = build_inputs(grid)
    index = _index(inputs, labels)
    cell = _one_cell(inputs, index)
    plan = plan_columns(cell)
    values = chain.evaluate(plan.steps, {name: item.data for name, item in cell.values.items()})
    arrays = column_arrays(plan, values, {name: item.data for name, item in plan.constants.items()})
    numbers = {name: float(np.ravel(array)[0]) for name, array in values.items() if np.size(array) == 1}
    texts: dict[str, str | None] = {}
    for column in plan.layout.given:
        value = arrays[column.name].ravel()[0]
        if column.dtype == "string":
            texts[column.name] = column.categories[int(value)] if value >= 0 else None
        else:
            numbers[column.name] = float(value)
    for name, item in cell.labels.items():
        texts.setdefault(name, item.data.ravel()[0])
    known = numbers
    lines = _lines(known, texts)
    chosen = {name: inputs.space.labels[name][position] for name, position in index.items()}
    return Explanation(
        grid=grid.name,
        labels=chosen,
        status=texts["status"] or "",
        reason=texts["infeasible_reason"],
        facts=texts,
        inputs=_inputs(inputs, cell, index, lines),
        lines=lines,
        verdict=verdict(known, texts),
        warnings=(*inputs.warnings, *_anchor_warning(known["anchor_ratio"])),
    )


def _anchor_warning(ratio: float) -> list[str]:
    """A sentence where first principles and the measurement disagree too far to carry one by the other."""
    low, high = ANCHOR_RANGE
    if np.isnan(ratio) or low <= ratio <= high:
        return []
    return [f"anchor_ratio {ratio:.3g} lies outside {low:g} to {high:g}: the scaled rate rests on a poor model"]


MOST_LISTED = 20
"""Labels up to which a message lists a whole axis (policy)."""


def _index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Position of the cell along every dimension."""
    problems = []
    found: dict[str, int] = {}
    for name, axis in inputs.space.labels.items():
        if name not in labels and name == "scenario":
            found[name] = axis.index("nominal")
        elif name not in labels and len(axis) == 1:
            found[name] = 0
        elif name not in labels:
            problems.append(Problem(f"fix {name} at one of: {_listed(axis)}", key=name))
        else:
            position = _find(axis, labels[name])
            if position is None:
                problems.append(
                    Problem(f"{labels[name]} is not on the axis: {_listed(axis)}{_near(axis, labels[name])}", key=name)
                )
            else:
                found[name] = position
    for name in labels:
        if name not in inputs.space.labels:
            problems.append(
                Problem(f"{name} is not an axis of this grid{suggestion(name, inputs.space.labels)}", key=name)
            )
    if problems:
        raise ContractError(problems)
    return found


def _shown(label: str | float) -> str:
    return label if isinstance(label, str) else f"{label:.12g}"


def _listed(axis: Sequence[str | float]) -> str:
    """The labels of an axis, of a long one its ends and how many there are."""
    if len(axis) <= MOST_LISTED:
        return ", ".join(map(_shown, axis))
    return f"{', '.join(map(_shown, axis[:3]))}, ..., {_shown(axis[-1])} ({len(axis):,} labels)"


def _near(axis: Sequence[str | float], label: str | float) -> str:
    """The labels closest to one that is not there: by number, or by spelling."""
    numbers = [candidate for candidate in axis if not isinstance(candidate, str)]
    with contextlib.suppress(ValueError):
        wanted = float(label)
        if numbers:
            closest = sorted(numbers, key=lambda candidate: abs(candidate - wanted))[:2]
            return f" (nearest: {', '.join(map(_shown, sorted(closest)))})"
    return suggestion(str(label), [_shown(candidate) for candidate in axis])


def _find(axis: tuple[str | float, ...], label: str | float) -> int | None:
    """Position of a label as written or as text; numbers match to 12 significant digits, or as summaries print them."""
    shown = [_shown(candidate) for candidate in axis]
    numeric = not any(isinstance(candidate, str) for candidate in axis)
    with contextlib.suppress(ValueError):
        exact = _shown(float(label)) if numeric else str(label)
        if exact in shown:
            return shown.index(exact)
        # A summary prints six digits: pasted from there they must name one label only.
        printed = [at for at, candidate in enumerate(axis) if numeric and f"{candidate:.6g}" == f"{float(label):.12g}"]
        return printed[0] if len(printed) == 1 else None
    return None


def _one_cell(inputs: Inputs, index: Mapping[str, int]) -> Inputs:
    """The same inputs with every dimension cut down to one label."""
    names = inputs.space.names

    def cut(item: Field) -> Field:
        if not item.dims:
            return item
        place = tuple(
            slice(index[name], index[name] + 1) if item.data.shape[axis] > 1 else slice(None)
            for axis, name in enumerate(names)
        )
        return Field(item.data[place], item.dims)

    space = type(inputs.space)({name: (inputs.space.labels[name][index[name]],) for name in names})
    values = {name: cut(item) for name, item in inputs.values.items()}
    labels = {name: cut(item) for name, item in inputs.labels.items()}
    stated = {name: cut(item) for name, item in inputs.stated.items()}
    return replace(inputs, space=space, values=values, labels=labels, stated=stated)


def _lines(known: Mapping[str, float], texts: Mapping[str, str | None]) -> tuple[Line, ...]:
    lines = []
    for section, names in SECTIONS.items():
        for name in names:
            if np.isnan(known[name]) or (name == "memory_shortfall_bytes_per_gpu" and known[name] == 0):
                continue
            row = dictionary()[name]
            formula = formula_used(name, known, texts)
            lines.append(
                Line(
                    section=section,
                    name=name,
                    symbol=row.symbol,
                    long_name=row.long_name,
                    formula=formula,
                    numbers=substituted(formula, known),
                    value=known[name],
                    unit=row.unit,
                    text=quantity_text(name, known[name]),
                )
            )
    return tuple(lines)


def _inputs(inputs: Inputs, cell: Inputs, index: Mapping[str, int], lines: tuple[Line, ...]) -> tuple[InputLine, ...]:
    """Inputs that the printed formulas use, with provenance; labels first."""
    used = dict.fromkeys(name for line in lines for name in names_in(line.formula))
    found = []
    for name in (*("instance", "gpu", "model", "engine", "weight_dtype", "kv_dtype", "capacity_model"), *used):
        item = cell.labels.get(name) or cell.values.get(name)
        if item is None or item.data.size != 1 or name not in inputs.origins:
            continue
        value = item.data.ravel()[0]
        if value is None or (not isinstance(value, str) and np.isnan(value)):
            continue
        origin = inputs.origins[name](index)
        number = value if isinstance(value, str) else float(value)
        found.append(
            InputLine(
                name, number, quantity_text(name, number), origin.cls, origin.source, origin.as_of, origin.provider
            )
        )
    return tuple(found)
