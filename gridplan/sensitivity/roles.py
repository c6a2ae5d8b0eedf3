"""What an axis is to a decision: a lever that is chosen, or an uncertainty that happens."""

from __future__ import annotations

from collections.abc import Iterable

from gridplan.dictionary import dictionary

__all__ = ["axis_role", "levers", "uncertainties"]


def axis_role(name: str) -> str:
    """`lever` for an axis of class policy (GPU, parallelism, formats, targets, spares, purchase), else `uncertainty`.

    Scenarios, workloads, traffic, prices and samples are what the world does.

    >>> axis_role("tensor_parallel"), axis_role("arrival_rate"), axis_role("scenario")
    ('lever', 'uncertainty', 'uncertainty')
    """
    row = dictionary().get(name)
    return "lever" if row is not None and row.cls == "policy" else "uncertainty"


def levers(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the axes that are chosen, in their order."""
    return tuple(name for name in names if axis_role(name) == "lever")


def uncertainties(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the axes that are not."""
    return tuple(name for name in names if axis_role(name) != "lever")
