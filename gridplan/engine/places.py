"""Where a block of cells lies among the groups that a cube is folded into."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gridplan.chain.graph import Array
from gridplan.store.blocks import Block
from gridplan.store.layout import Layout

__all__ = ["Place"]


class Place:
    """Where one block lies among the groups, worked out once for all measures that are folded.

    Groups are the combinations of the labels of `by`, in axis order.
    """

    def __init__(self, layout: Layout, by: Sequence[str], block: Block) -> None:
        names = layout.dims
        self.block, self._shape = block, block.shape
        self._by = tuple(axis for axis, name in enumerate(names) if name in by)
        self._folded = tuple(axis for axis, name in enumerate(names) if name not in by)
        self.groups = self._numbers([layout.shape[axis] for axis in self._by])
        self._forms: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}

    def _numbers(self, sizes: Sequence[int]) -> Array:
        """Number of each group of the block among all groups."""
        if not sizes:
            return np.zeros(1, dtype=np.int64)
        ranges = [np.arange(self.block.start[axis], self.block.stop[axis]) for axis in self._by]
        index: Array = np.ravel_multi_index(np.meshgrid(*ranges, indexing="ij"), sizes).ravel()
        return index

    def table(self, values: Array) -> tuple[Array, int]:
        """The values of one measure in this block, a row per group, and how many cells each of them stands for.

        `values` may be of size 1 along dimensions they do not depend on.
        """
        form = self._forms.get(values.shape)
        if form is None:
            form = self._forms[values.shape] = self._form(values.shape)
        shape, repeat = form
        if shape != values.shape:
            values = np.broadcast_to(values, shape)
        if self._by:
            values = values.transpose(*self._by, *self._folded)
        return values.reshape(len(self.groups), -1), repeat

    def _form(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """The shape that has all groups, and the repeats along the axes that are folded."""
        grouped = tuple(self._shape[axis] if axis in self._by else size for axis, size in enumerate(shape))
        return grouped, math.prod(self._shape[axis] // shape[axis] for axis in self._folded)
