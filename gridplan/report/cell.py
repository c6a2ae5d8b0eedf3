"""Which cell of a cube a person means: labels as written, as text, or as a summary prints them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from gridplan.engine.bundle import Inputs
from gridplan.errors import ContractError, Problem, suggestion

__all__ = ["cell_index"]

MOST_LISTED = 20
"""Labels up to which a message lists a whole axis (policy)."""


def cell_index(inputs: Inputs, labels: Mapping[str, str | float]) -> dict[str, int]:
    """Position along every dimension of the cell that `labels` name.

    Raises ContractError if an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
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
