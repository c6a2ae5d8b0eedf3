"""Questions about a grid as it was written: which values may an input have, and where do they stand."""

from __future__ import annotations

from collections.abc import Iterator

from gridplan.contract.grid import By, Given, Grid, Lengths, Place, Scalar
from gridplan.contract.labels import LabelBook

__all__ = ["gpus_of", "labels_of", "plain_values", "stated", "stated_length"]


def stated(grid: Grid, name: str) -> Iterator[Given]:
    """Every base value of an input: of the sections and of each workload."""
    if name in grid.given:
        yield grid.given[name]
    for workload in grid.workloads:
        if name in workload.given:
            yield workload.given[name]


def labels_of(grid: Grid, name: str, with_scenarios: bool = True) -> dict[Scalar, Place | None]:
    """Every value that input `name` takes somewhere in the cube, with the place that first says so.

    Without scenarios: every value that it has before a scenario changes it.
    """
    found: dict[Scalar, Place | None] = {}
    axis = grid.axis(name)
    if axis is not None:
        found.update(dict.fromkeys(axis.labels, axis.place))
    for given in stated(grid, name):
        for value in _flat(given.value):
            found.setdefault(value, given.place)
    for scenario in grid.scenarios if with_scenarios else ():
        change = scenario.changes.get(name)
        if change is not None and change.op == "set":
            for value in _flat(change.value):
                found.setdefault(value, change.place)
    return found


def gpus_of(grid: Grid, book: LabelBook) -> dict[Scalar, Place | None]:
    """Every GPU of the cube: named, or fixed by an instance."""
    found = labels_of(grid, "gpu")
    for instance, place in labels_of(grid, "instance").items():
        gpu = book.gpu_of(str(instance))
        if gpu is not None:
            found.setdefault(gpu, place)
    return found


def plain_values(grid: Grid, name: str, workload: int) -> tuple[list[float], Place | None]:
    """The numbers of an input before scenarios: axis labels, or one plain value; empty where it differs by label."""
    axis = grid.axis(name)
    if axis is not None:
        return [label for label in axis.labels if isinstance(label, float)], axis.place
    given = grid.workloads[workload].given.get(name, grid.given.get(name))
    if given is None or not isinstance(given.value, float):
        return [], None
    return [given.value], given.place


def stated_length(length: float | Lengths) -> float:
    """A length [tokens]; of a distribution its mean or its highest quantile, for its nodes are not known here."""
    if not isinstance(length, Lengths):
        return length
    return length.quantiles[-1][1] if length.quantiles else length.mean


def _flat(value: Scalar | By) -> Iterator[Scalar]:
    if not isinstance(value, By):
        yield value
        return
    yield from value.values.values()
    if value.default is not None:
        yield value.default
