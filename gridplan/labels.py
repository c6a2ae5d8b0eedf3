"""Which labels of an axis a person means: as written, as text, or as a summary prints them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import format_label

__all__ = ["label_positions", "listed"]

MOST_LISTED = 20
"""Labels up to which a message lists a whole axis (policy)."""


def label_positions(
    axes: Mapping[str, Sequence[str | float]], labels: Mapping[str, str | float], known: Iterable[Problem] = ()
) -> dict[str, int]:
    """Position of each of `labels` among those of its axis; axes that none fixes are left out.

    Text must be that of the label; numbers match to 12 significant digits, or to the six that a summary prints where
    these are of one label only.

    Raises ContractError if an axis is unknown or a label is not on its axis, with the nearest labels; `known` are
    problems found before, said with these in the order of the axes.

    >>> label_positions({"gpu": ("a100", "b200"), "rho_target": (0.1, 0.3)}, {"rho_target": 0.1 + 0.2})
    {'rho_target': 1}
    """
    problems, found = list(known), dict[str, int]()
    for name in (name for name in axes if name in labels):
        axis, position = axes[name], _find(axes[name], labels[name])
        if position is None:
            problems.append(
                Problem(f"{labels[name]} is not on the axis: {listed(axis)}{_near(axis, labels[name])}", key=name)
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


def listed(axis: Sequence[str | float]) -> str:
    """The labels of an axis as text, of a long one its ends and how many there are.

    >>> listed(["b200", 0.5])
    'b200, 0.5'
    """
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
