"""Inputs that a class may state for itself, as arrays with a class axis: latency limits and prefix hits.

A class that states none has that of the contract. A scenario that names the class changes its value; one that scales or
shifts the input for all does so to the values of classes too, and one that sets it may not, where a class has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridplan.contract.bounds import bounds_of
from gridplan.contract.grid import Change, TrafficClass
from gridplan.contract.sections import LIMITS
from gridplan.engine.field import Field, lookup, varying
from gridplan.engine.resolve import Resolver

__all__ = [
    "CLASS_INPUTS",
    "PERCENTILES",
    "Owners",
    "class_inputs",
    "named",
    "percentile_labels",
    "percentile_numbers",
    "stated_by_classes",
]

PERCENTILES = tuple(f"{name}_slo_percentile" for name in LIMITS)

CLASS_INPUTS = ("prefix_hit_ratio", *(f"{name}_slo_s" for name in LIMITS), *PERCENTILES)
"""Inputs that a class may state for itself."""

Owners = Sequence[Sequence[int]]
"""For every workload the position of the class behind each entry of the class axis."""


def class_inputs(resolver: Resolver, owners: Owners) -> dict[str, Field]:
    """`class_<input>` for each of `CLASS_INPUTS`; limits that do not exist are NaN, and so is the percentile `mean`."""
    return {f"class_{name}": _spread(resolver, name, owners) for name in CLASS_INPUTS}


def percentile_labels(resolver: Resolver, name: str) -> Field:
    """The percentile of a limit as the contract writes it, `mean` where it states none."""
    return resolver.resolve(name, resolver.space.constant("mean", object))


def percentile_numbers(labels: Field) -> Field:
    """Percentiles as numbers from 50 to 99.9; NaN is the mean."""
    return lookup(lambda label: None if label in (None, "mean") else float(label), labels)


def stated_by_classes(resolver: Resolver, name: str) -> bool:
    """Whether a class states that input for itself, or a scenario does so for it."""
    grid = resolver.grid
    stated = any(name in item.own for workload in grid.workloads for item in workload.classes)
    return stated or any(name in changes for scenario in grid.scenarios for changes in scenario.classes.values())


def named(item: TrafficClass) -> str:
    """How a message about a class begins; the one class of a workload with random lengths has no name."""
    return f"class {item.name}: " if item.name else ""


def _spread(resolver: Resolver, name: str, owners: Owners) -> Field:
    """One input with the class axis last."""
    common = percentile_labels(resolver, name) if name in PERCENTILES else resolver.resolve(name)
    width = max(map(len, owners))
    if not stated_by_classes(resolver, name):
        numbers = _numbers(name, common)
        return Field(np.broadcast_to(numbers.data[..., np.newaxis], (*numbers.data.shape, width)), numbers.dims)
    of_class = [
        [_numbers(name, _of_class(resolver, name, item, common)) for item in workload.classes]
        for workload in resolver.grid.workloads
    ]
    absent = _numbers(name, common)
    columns: dict[tuple[int, ...], Field] = {}
    order = []
    for position in range(width):
        key = tuple(places[position] if position < len(places) else -1 for places in owners)
        if key not in columns:
            parts = [absent if k < 0 or not fields else fields[k] for k, fields in zip(key, of_class, strict=True)]
            several = "workload" in resolver.space.labels
            columns[key] = resolver.space.stack("workload", parts) if several else parts[0]
        order.append(key)
    dims = frozenset[str]().union(*(item.dims for item in columns.values()))
    arrays = np.broadcast_arrays(*(columns[key].data for key in order))
    return Field(np.stack(arrays, axis=-1), dims)


def _numbers(name: str, item: Field) -> Field:
    return percentile_numbers(item) if name in PERCENTILES else item


def _of_class(resolver: Resolver, name: str, item: TrafficClass, common: Field) -> Field:
    """The input of one class: its own, else that of the contract, after every scenario."""
    own = item.own.get(name)
    base = common if own is None else resolver.shifted(name, resolver.value(name, own.value, own.place))
    scenarios = resolver.grid.scenarios
    if own is None and not any(name in scenario.classes.get(item.name, {}) for scenario in scenarios):
        return base
    fields = []
    for position, scenario in enumerate(scenarios):
        here = _at(resolver, base, position)
        everywhere = scenario.changes.get(name) if own is not None else None
        for change in (everywhere, scenario.classes.get(item.name, {}).get(name)):
            if change is everywhere and change is not None and change.op == "set":
                said = f"scenario {scenario.name} sets {name}, and class {item.name} has its own: name it under classes"
                resolver.problem(said, name, change.place)
                continue
            here = resolver.changed(name, here, change)
            _check(resolver, name, item, scenario.name, here, change)
        fields.append(here)
    return varying(resolver.space, resolver.space.stack("scenario", fields)) if fields else base


def _at(resolver: Resolver, item: Field, scenario: int) -> Field:
    """The field in one scenario."""
    axis = resolver.space.names.index("scenario")
    place = scenario if item.data.shape[axis] > 1 else 0
    return Field(np.take(item.data, [place], axis=axis), item.dims - {"scenario"})


def _check(
    resolver: Resolver, name: str, item: TrafficClass, scenario: str, found: Field, change: Change | None
) -> None:
    """Note a value that a scenario takes out of bounds."""
    if change is None or change.op == "set" or name in PERCENTILES:
        return
    bounds = bounds_of(name)
    outside = [value for value in found.data.ravel().tolist() if not np.isnan(value) and not bounds.holds(value)]
    if outside:
        said = f"scenario {scenario} takes {name} of class {item.name} to {outside[0]:g}; it must be {bounds}"
        resolver.problem(said, name, change.place)
