"""Which cell of a cube a person means: labels as written, as text, or as a summary prints them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gridplan.engine.bundle import Inputs
from gridplan.engine.field import Field
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import format_label

__all__ = ["cell_index", "cut_to", "label_index", "label_positions"]

MOST_LISTED = 20
"""Labels up to which a message lists a whole axis (policy)."""


def cell_index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Position along every dimension of the cell that `labels` name.

    Raises ContractError if an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
    problems = []
    single = {name: 0 for name, axis in inputs.space.labels.items() if len(axis) == 1}
    nominal = {name: axis.index("nominal") for name, axis in inputs.space.labels.items() if name == "scenario"}
    for name, axis in inputs.space.labels.items():
        if name not in (*labels, *single, *nominal):
            problems.append(Problem(f"fix {name} at one of: {_listed(axis)}", key=name))
    return single | nominal | _positions(inputs.space.labels, labels, problems)


def label_index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Positions of the given labels along their dimensions; dimensions that none fixes are left out.

    Raises ContractError if an axis is unknown or a label is not on its axis, with the nearest labels.
    """
    return _positions(inputs.space.labels, labels, [])


def label_positions(axes: Mapping[str, Sequence[str | float]], labels: Mapping[str, str | float]) -> dict[str, int]:
    """The same along axes given by their labels: those of a cube that was opened, or of a grid without its inputs."""
    return _positions(axes, labels, [])


def cut_to(inputs: Inputs, index: Mapping[str, int]) -> Inputs:
    """The same inputs with the dimensions of `index` cut down to the label at that position."""
    names = inputs.space.names

    def cut(item: Field) -> Field:
        if item.dims.isdisjoint(index):
            return item
        place = tuple(
            slice(index[name], index[name] + 1) if name in index and item.data.shape[axis] > 1 else slice(None)
            for axis, name in enumerate(names)
        )
        return Field(item.data[place], item.dims)

    labels = inputs.space.labels
    space = type(inputs.space)(
        {name: (labels[name][index[name]],) if name in index else labels[name] for name in names}
    )
    fields = {
        part: {name: cut(item) for name, item in getattr(inputs, part).items()}
        for part in ("values", "labels", "stated")
    }
    return replace(inputs, space=space, **fields)  # type: ignore[arg-type]


def _positions(
    axes: Mapping[str, Sequence[str | float]], labels: Mapping[str, str | float], problems: list[Problem]
) -> dict[str, int]:
    """Positions of the given labels; raises `problems` and all that is wrong with them."""
    found: dict[str, int] = {}
    for name in (name for name in axes if name in labels):
        axis, position = axes[name], _find(axes[name], labels[name])
        if position is None:
            problems.append(
                Problem(f"{labels[name]} is not on the axis: {_listed(axis)}{_near(axis, labels[name])}", key=name)
            )
        else:
            found[name] = position
    for name in labels:
        if name not in axes:
            problems.append(Problem(f"{name} is not an axis of this grid{suggestion(name, axes)}", key=name))
    if problems:
        order = list(axes)
        raise ContractError(sorted(problems, key=lambda p: order.index(p.key) if p.key in order else len(order)))
    return found


def _listed(axis: Sequence[str | float]) -> str:
    """The labels of an axis, of a long one its ends and how many there are."""
    if len(axis) <= MOST_LISTED:
        return ", ".join(map(format_label, axis))
    return f"{', '.join(map(format_label, axis[:3]))}, ..., {format_label(axis[-1])} ({len(axis):,} labels)"


def _near(axis: Sequence[str | float], label: str | float) -> str:
    """The labels closest to one that is not there: by number, or by spelling."""
    numbers = [candidate for candidate in axis if not isinstance(candidate, str)]
    with contextlib.suppress(ValueError):
        wanted = float(label)
        if numbers:
            closest = sorted(numbers, key=lambda candidate: abs(candidate - wanted))[:2]
            return f" (nearest: {', '.join(map(format_label, sorted(closest)))})"
    return suggestion(str(label), [format_label(candidate) for candidate in axis])


def _find(axis: Sequence[str | float], label: str | float) -> int | None:
    """Position of a label as written or as text; numbers match to 12 significant digits, or as summaries print them."""
    shown = [format_label(candidate) for candidate in axis]
    numeric = not any(isinstance(candidate, str) for candidate in axis)
    with contextlib.suppress(ValueError):
        exact = format_label(float(label)) if numeric else str(label)
        if exact in shown:
            return shown.index(exact)
        # A summary prints six digits: pasted from there they must name one label only.
        printed = [at for at, candidate in enumerate(axis) if numeric and f"{candidate:.6g}" == f"{float(label):.12g}"]
        return printed[0] if len(printed) == 1 else None
    return None
