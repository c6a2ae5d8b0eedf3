"""What the contract says about one input, as a field: axis, stated value, value per label, then scenario changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan.catalog import Catalog
from gridplan.contract.grid import By, Change, Given, Grid, Place
from gridplan.dictionary import dictionary
from gridplan.engine.field import Field, Space, combine, lookup
from gridplan.errors import GridplanError, Problem

__all__ = ["Origin", "OriginOf", "Resolver", "space_of", "unknown_labels"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the value of an input comes from: its class, source, date, and what provided it."""

    cls: str
    source: str
    as_of: str = ""
    provider: str = "contract"


_SHIFTS: Mapping[str, Callable[..., Any]] = {
    "set": lambda base, value: value,
    "multiply": np.multiply,
    "add": np.add,
}
"""What a study makes of an input and its value."""

OriginOf = Callable[[Mapping[str, int]], Origin]


def space_of(grid: Grid) -> Space:
    """Dimensions of the cube of a grid."""
    return Space(grid.dimensions)


class Resolver:
    """Turns names of inputs into fields; collects problems instead of raising at the first."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.space = space_of(grid)
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.fields: dict[str, Field] = {}
        self.origins: dict[str, OriginOf] = {}

    def problem(self, message: str, name: str, place: Place | None = None) -> None:
        """Note one thing that is wrong with input `name`."""
        place = place or self._place(name)
        if place is None:
            self.problems.append(Problem(message, file=self.grid.path, key=name))
        else:
            self.problems.append(Problem(message, place.file, place.line, place.column, place.key))

    def _place(self, name: str) -> Place | None:
        axis = self.grid.axis(name)
        if axis is not None:
            return axis.place
        given = self.grid.given.get(name) or next(
            (workload.given[name] for workload in self.grid.workloads if name in workload.given), None
        )
        return given.place if given is not None else None

    def is_given(self, name: str) -> bool:
        """Whether the contract speaks of `name`: as an axis, a value, or in a scenario that sets it."""
        return (
            self.grid.axis(name) is not None
            or name in self.grid.given
            or any(name in workload.given for workload in self.grid.workloads)
            or any(name in scenario.changes for scenario in self.grid.scenarios)
            or (name in self.grid.shifts and self.grid.shifts[name].op == "set")
        )

    def dtype(self, name: str) -> Any:
        """Array type of input `name`."""
        return object if dictionary()[name].is_label else np.float64

    def missing(self, name: str) -> Any:
        """How "not given" looks for input `name`."""
        return None if dictionary()[name].is_label else np.nan

    def resolve(self, name: str, default: Field | None = None, origin: OriginOf | None = None) -> Field:
        """The field of input `name`: what the contract says, `default` where it says nothing, then scenario changes."""
        if name in self.fields:
            return self.fields[name]
        base, base_origin = self._base(name)
        if base is None:
            base = default if default is not None else self.space.constant(self.missing(name), self.dtype(name))
            base_origin = origin
        elif default is not None:
            fallback = default.data
            empty = _absent(base.data)
            if empty.any():
                base = Field(np.where(empty, fallback, base.data), base.dims | default.dims)
        self.fields[name] = self._scenarios(name, base)
        self.origins[name] = self._origin_of(name, base_origin)
        return self.fields[name]

    def peek(self, name: str) -> Field:
        """What the contract alone states of `name`, also where a scenario sets it; a default may fill the rest."""
        base, _ = self._base(name)
        stated = base if base is not None else self.space.constant(self.missing(name), self.dtype(name))
        changes = [scenario.changes.get(name) for scenario in self.grid.scenarios]
        if any(change is not None and change.op == "set" for change in changes):
            sets = [change if change is not None and change.op == "set" else None for change in changes]
            stated = self.space.stack("scenario", [self.changed(name, stated, change) for change in sets])
        return self.shifted(name, stated) if self._shift_op(name) == "set" else stated

    def over_default(self, name: str) -> tuple[Field, Field]:
        """How a numeric input follows from its default: value = share x default + stated part.

        The share is 0 where the contract gives a value, 1 where it gives none, and what scenarios multiply it by.
        """
        base, _ = self._base(name)
        stated = base if base is not None else self.space.constant(np.nan, np.float64)
        share = Field(np.isnan(stated.data).astype(float), stated.dims)
        part = self._scenarios(name, Field(np.nan_to_num(stated.data), stated.dims))
        changes = [scenario.changes.get(name) for scenario in self.grid.scenarios]
        if not any(changes):
            return self._share_shifted(name, share), part

        def changed(change: Change | None) -> Field:
            if change is None or change.op == "add":
                return share
            if change.op == "set":
                return self.space.constant(0.0, np.float64)
            return combine(np.multiply, share, self.value(name, change.value, change.place))

        of_scenarios = self.space.stack("scenario", [changed(change) for change in changes])
        return self._share_shifted(name, of_scenarios), part

    def _base(self, name: str) -> tuple[Field | None, OriginOf | None]:
        axis = self.grid.axis(name)
        dtype = self.dtype(name)
        if axis is not None:
            cls = dictionary()[name].cls
            return self.space.along(name, axis.labels, dtype), lambda _: Origin(cls, "axis of the contract")
        if name in self.grid.given:
            given = self.grid.given[name]
            return self.value(name, given.value, given.place), lambda _: _origin(given)
        stated = [workload.given.get(name) for workload in self.grid.workloads]
        if not any(stated):
            return None, None
        parts = [
            self.value(name, given.value, given.place)
            if given is not None
            else self.space.constant(self.missing(name), dtype)
            for given in stated
        ]
        if "workload" not in self.space.labels:
            return parts[0], lambda _: _origin(stated[0])

        def origin(index: Mapping[str, int]) -> Origin:
            return _origin(stated[index["workload"]])

        return self.space.stack("workload", parts), origin

    def value(self, name: str, value: float | str | By, place: Place | None) -> Field:
        """A stated value as a field; one value per label follows the field of its dimension."""
        if not isinstance(value, By):
            return self.space.constant(value, self.dtype(name))
        if value.dimension == "workload":
            labels: Field = self.space.along("workload", self.space.labels.get("workload", ("",)), object)
        else:
            labels = self.fields.get(value.dimension) or self.resolve(value.dimension)
        table, rest = value.values, value.default
        absent = [label for label in labels.unique if label not in table]
        if absent and rest is None and name != "lambda_instance_given":
            named = ", ".join(str(label) for label in absent)
            self.problem(f"no value for {value.dimension} {named}; add it or a default", name, place)
        unused = [label for label in table if label not in labels.unique]
        if unused:
            self.warnings.append(f"{name} by {value.dimension}: {', '.join(unused)} not in this grid")
        return lookup(lambda label: table.get(label, rest), labels, dtype=self.dtype(name))

    def _scenarios(self, name: str, base: Field) -> Field:
        """Changes of every scenario applied to `base`, side by side along `scenario`."""
        changes = [scenario.changes.get(name) for scenario in self.grid.scenarios]
        if any(changes):
            base = self.space.stack("scenario", [self.changed(name, base, change) for change in changes])
        return self.shifted(name, base)

    def shifted(self, name: str, base: Field) -> Field:
        """A field after what a study does to that input; itself where it does nothing."""
        if name not in self.grid.shifts:
            return base
        change = _SHIFTS[self.grid.shifts[name].op]
        # NaN leaves the input as it is.
        return combine(lambda a, b: np.where(np.isnan(b), a, change(a, b)), base, self._shift(name))

    def _shift(self, name: str) -> Field:
        values = self.grid.shifts[name].values
        names = self.space.names
        return Field(values, frozenset(names[axis] for axis in range(len(names)) if values.shape[axis] > 1))

    def _shift_op(self, name: str) -> str:
        return self.grid.shifts[name].op if name in self.grid.shifts else ""

    def _share_shifted(self, name: str, share: Field) -> Field:
        """The share of a default that is left after a study sets the input or multiplies it."""
        op = self._shift_op(name)
        if op == "multiply":
            return self.shifted(name, share)
        if op == "set":
            return combine(lambda kept, value: np.where(np.isnan(value), kept, 0.0), share, self._shift(name))
        return share

    def changed(self, name: str, base: Field, change: Change | None) -> Field:
        """A field after a scenario's change of it; itself where there is none."""
        if change is None:
            return base
        value = self.value(name, change.value, change.place)
        if change.op == "set":
            return value
        if bool(np.isnan(base.data).all()):
            self.problem(f"a scenario wants to {change.op} {name}, which has no value", name, change.place)
        operation = np.multiply if change.op == "multiply" else np.add
        return combine(operation, base, value)

    def _origin_of(self, name: str, base: OriginOf | None) -> OriginOf:
        def origin(index: Mapping[str, int]) -> Origin:
            found = base(index) if base is not None else Origin(dictionary()[name].cls, "default", provider="default")
            if self.grid.scenarios and (change := self.grid.scenarios[index["scenario"]].changes.get(name)):
                scenario = self.grid.scenarios[index["scenario"]].name
                if change.op == "set":
                    return Origin("assumption", f"scenario {scenario}")
                return Origin(found.cls, f"{found.source}, scenario {scenario}", found.as_of, found.provider)
            return found

        return origin


def _absent(data: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value is not given: None among labels, NaN among numbers."""
    if data.dtype == object:
        return np.asarray([value is None for value in data.ravel()]).reshape(data.shape)
    return np.asarray(np.isnan(data))


def _origin(given: Given | None) -> Origin:
    if given is None:
        return Origin("", "not given", provider="none")
    return Origin(given.cls, given.source or "contract", given.as_of)


def unknown_labels(resolver: Resolver, catalog: Catalog) -> None:
    """Note every label of the contract that the catalog does not have."""
    finders: dict[str, Callable[[str], Any]] = {
        "gpu": catalog.gpu,
        "model": catalog.model,
        "draft_model": catalog.model,
        "instance": catalog.instance,
        "engine": catalog.engine,
        "weight_dtype": lambda d: catalog.dtype("weight", d),
        "kv_dtype": lambda d: catalog.dtype("kv", d),
    }
    for name, find in finders.items():
        if not resolver.is_given(name):
            continue
        for label in resolver.peek(name).unique:
            try:
                if label is not None:
                    find(label)
            except GridplanError as error:
                resolver.problem(str(error), name)
