"""Which classes a latency limit judges together: a limit of the contract is one on the mixture of its requests."""

from __future__ import annotations

import numpy as np

from gridplan.contract.grid import Scenario, TrafficClass
from gridplan.contract.sections import LIMITS
from gridplan.engine.class_inputs import Owners
from gridplan.engine.field import Field, varying
from gridplan.engine.resolve import Resolver

__all__ = ["limit_groups"]


def limit_groups(resolver: Resolver, owners: Owners) -> dict[str, Field]:
    """`class_<latency>_slo_group` with the class axis last.

    0 for classes under the limit of the contract; a class that states a limit or a percentile of its own, or for which
    a scenario does, is judged alone and has the number after its position.
    """
    return {f"class_{name}_slo_group": _groups(resolver, name, owners) for name in LIMITS}


def _groups(resolver: Resolver, latency: str, owners: Owners) -> Field:
    grid, space = resolver.grid, resolver.space
    scenarios = grid.scenarios or (None,)
    numbers = np.zeros((len(grid.workloads), len(scenarios), max(map(len, owners))))
    for w, (workload, places) in enumerate(zip(grid.workloads, owners, strict=True)):
        for s, scenario in enumerate(scenarios):
            own = [_states(item, scenario, latency) for item in workload.classes] or [False]
            numbers[w, s, : len(places)] = [(place + 1) * own[place] for place in places]
    # Workloads and scenarios are dimensions of the cube where there are several, in the order of its axes.
    table = numbers if _first(space.names, "workload", "scenario") else numbers.swapaxes(0, 1)
    sizes = dict(zip(("workload", "scenario"), numbers.shape, strict=False))
    shape = [sizes.get(name, 1) for name in space.names]
    dims = frozenset(sizes) & frozenset(space.names)
    return varying(space, Field(table.reshape([*shape, numbers.shape[-1]]), dims))


def _first(names: tuple[str, ...], one: str, other: str) -> bool:
    """Whether dimension `one` comes before `other`, or one of them does not exist."""
    return one not in names or other not in names or names.index(one) < names.index(other)


def _states(item: TrafficClass, scenario: Scenario | None, latency: str) -> bool:
    stated = {*item.own, *(scenario.classes.get(item.name, {}) if scenario is not None else ())}
    return bool(stated & {f"{latency}_slo_s", f"{latency}_slo_percentile"})
