"""The load of each hour of a cycle, as a workload states it."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.contract.forms import Scalar
from gridplan.contract.values import Reader
from gridplan.contract.yaml import KeyPath
from gridplan.quantities import parse_quantity

__all__ = ["read_hourly_load"]


def read_hourly_load(reader: Reader, entries: Sequence[Scalar], path: KeyPath) -> tuple[float, ...]:
    """Loads as shares of the highest one; empty where something is wrong, which is noted."""
    if len(entries) < 2:
        reader.problems.add(path, "hourly_load is the load of each hour of a cycle: at least 2 numbers")
        return ()
    numbers = [_number(reader, raw, (*path, index)) for index, raw in enumerate(entries)]
    loads = [number for number in numbers if number is not None]
    if len(loads) < len(entries):
        return ()
    highest = max(loads)
    if highest == 0:
        reader.problems.add(path, "hourly_load is 0 in every hour: nothing arrives")
        return ()
    return tuple(load / highest for load in loads)


def _number(reader: Reader, raw: Scalar, path: KeyPath) -> float | None:
    try:
        number = parse_quantity(raw, "1")
    except ValueError as error:
        reader.problems.add(path, str(error))
        return None
    if number < 0:
        reader.problems.add(path, f"hourly_load must be >= 0; {raw} is not")
        return None
    return number + 0.0
