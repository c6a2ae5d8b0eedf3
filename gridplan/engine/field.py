"""Arrays that know their dimensions: the small type between a contract and the chain.

Every field has one array axis per dimension of the cube, in the declared order, of size 1 where it does not depend on
that dimension. So any two fields broadcast by position, nothing is ever aligned by label, and no label can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field", "Space", "combine", "lookup", "varying"]

Label = str | float


@dataclass(frozen=True, slots=True)
class Space:
    """The dimensions of the cube in order, each with its labels."""

    labels: Mapping[str, tuple[Label, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dimensions, outermost first."""
        return tuple(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each dimension."""
        return tuple(len(labels) for labels in self.labels.values())

    def along(self, name: str, values: Sequence[Any], dtype: Any) -> Field:
        """A field with one value per label of dimension `name`."""
        shape = [1] * len(self.labels)
        shape[self.names.index(name)] = len(values)
        data = np.empty(len(values), dtype=dtype)
        data[:] = list(values)
        return Field(data.reshape(shape), frozenset({name}))

    def constant(self, value: Any, dtype: Any) -> Field:
        """A field that depends on no dimension."""
        data = np.empty((1,) * len(self.labels), dtype=dtype)
        data.fill(value)
        return Field(data, frozenset())

    def stack(self, name: str, fields: Sequence[Field]) -> Field:
        """One field per label of dimension `name`, side by side; of a field that carries it already, its own slice."""
        position = self.names.index(name)
        dims = frozenset({name}).union(*(item.dims for item in fields))
        slices = [
            item.data.take([place], axis=position) if item.data.shape[position] > 1 else item.data
            for place, item in enumerate(fields)
        ]
        return Field(np.concatenate(np.broadcast_arrays(*slices), axis=position), dims)

    def position(self, labels: Mapping[str, Label]) -> dict[str, int]:
        """Index of each given label along its dimension."""
        return {name: self.labels[name].index(label) for name, label in labels.items()}


@dataclass(frozen=True, slots=True)
class Field:
    """`data` with one array axis per dimension of the cube; `dims` are those it depends on."""

    data: NDArray[Any]
    dims: frozenset[str]

    @property
    def unique(self) -> tuple[Any, ...]:
        """Distinct values in order of first appearance."""
        return tuple(dict.fromkeys(self.data.ravel().tolist()))

    def at(self, space: Space, index: Mapping[str, int]) -> Any:
        """The value in one cell; `index` gives the position along each dimension."""
        place = tuple(index[name] if self.data.shape[axis] > 1 else 0 for axis, name in enumerate(space.names))
        return self.data[place]


def combine(function: Callable[..., NDArray[Any]], *fields: Field) -> Field:
    """An array function of fields; the result depends on all their dimensions."""
    return Field(function(*(item.data for item in fields)), frozenset[str]().union(*(item.dims for item in fields)))


def lookup(function: Callable[..., Any], *fields: Field, dtype: Any = np.float64) -> Field:
    """A function of labels, elementwise: called once per distinct combination; None becomes NaN for numbers.

    This is how an attribute of a catalog entry becomes an input, whether its label is an axis, a constant, a coordinate
    or what a scenario says.
    """
    dims = frozenset[str]().union(*(item.dims for item in fields))
    missing = np.nan if dtype is np.float64 else None
    if all(item.data.size == 1 for item in fields):
        value = function(*(item.data.item() for item in fields))
        alone = np.empty(fields[0].data.shape, dtype=dtype)
        alone.fill(missing if value is None else value)
        return Field(alone, dims)
    arrays = np.broadcast_arrays(*(item.data for item in fields))
    known: dict[tuple[Any, ...], Any] = {}
    flat = np.empty(arrays[0].size, dtype=dtype)
    for cell, key in enumerate(zip(*(array.ravel().tolist() for array in arrays), strict=True)):
        if key not in known:
            value = function(*key)
            known[key] = missing if value is None else value
        flat[cell] = known[key]
    return Field(flat.reshape(arrays[0].shape), dims)


def varying(space: Space, item: Field) -> Field:
    """The same numbers without the dimensions along which they do not differ."""
    data, dims = item.data, set(item.dims)
    for axis, name in enumerate(space.names):
        if name not in dims:
            continue
        first = data.take([0], axis=axis)
        numbers = data.dtype != object
        if np.array_equal(data, np.broadcast_to(first, data.shape), equal_nan=numbers):
            data = first
            dims.discard(name)
    return Field(data, frozenset(dims))
