"""What an axis is to a decision: a lever that is chosen, or an uncertainty that happens."""

from __future__ import annotations

from collections.abc import Iterable

from gridplan.dictionary import axis_role

__all__ = ["axis_role", "levers", "uncertainties"]


def levers(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the axes that are chosen, in their order."""
    return tuple(name for name in names if axis_role(name) == "lever")


def uncertainties(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the axes that are not."""
    return tuple(name for name in names if axis_role(name) != "lever")
