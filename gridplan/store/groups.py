"""The pages of one row group: a cube's arrays, checked and encoded column by column as they come."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.pages.kinds import Field
from gridplan.pages.page import Page, PageMaker
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.cells import CellValues
from gridplan.store.columns import Column
from gridplan.store.layout import PAGE_ROWS, Layout
from gridplan.store.values import Arrays, Pairs, put_block, take_block

__all__ = ["GroupEncoder", "Source", "file_fields"]

Source = Arrays | Callable[[Block], Arrays | Iterator[tuple[str, npt.NDArray[Any]]]]
"""The values of a part: its arrays, or a function that gives those of one block, all at once or one after another.

One after another is quicker: an array is encoded while it is in cache, and may be forgotten then.
"""


def file_fields(layout: Layout) -> list[Field]:
    """The columns of a cube as those of its files."""
    return [Field(column.name, column.dtype, column.categories) for column in layout.columns]


class GroupEncoder:
    """Encodes row groups of one cube; not for use by several threads at once, since it keeps finished pages."""

    def __init__(self, layout: Layout, maker: PageMaker, block_cells: int, drop_infeasible: bool) -> None:
        self.fields = file_fields(layout)
        self._layout, self._maker = layout, maker
        self._block_cells, self._drop = block_cells, drop_infeasible
        self._cells = CellValues(layout)
        # A column is made from the array that bears its name, a rank from that of what it ranks, labels from nothing.
        self._made: dict[str, list[tuple[int, Column]]] = {}
        self._labels: list[tuple[int, Column]] = []
        for place, column in enumerate(layout.columns):
            base = layout.column(column.base) if column.role == "rank" else column
            into = self._labels if base.role == "axis" else self._made.setdefault(base.name, [])
            into.append((place, column))

    def pages(self, part: Part, group: Block, arrays: Source) -> tuple[int, list[list[Page]]]:
        """Rows of `group`, and the pages of every column in the order of the layout; rows left out are not counted."""
        pages: list[list[Page]] = [[] for _ in self.fields]
        rows = sum(self._add(block, self._pairs(part, block, arrays), pages) for block in cut(group, PAGE_ROWS))
        return rows, pages

    def _pairs(self, part: Part, block: Block, arrays: Source) -> Pairs:
        """The arrays of a page by name, put together where they are computed in smaller blocks."""
        if not callable(arrays):
            return take_block(arrays, block.relative_to(part.block)).items()
        pieces = list(cut(block, self._block_cells))
        if len(pieces) == 1:
            return _pairs(arrays(block))
        whole: dict[str, npt.NDArray[Any]] = {}
        for piece in pieces:
            put_block(whole, block, piece, _pairs(arrays(piece)), self._layout)
        return whole.items()

    def _add(self, block: Block, pairs: Pairs, pages: list[list[Page]]) -> int:
        """Append one page to every column, none where all rows are left out; returns the rows."""
        kept, shape = None, block.shape
        if self._drop:
            given = dict(pairs)
            kept, pairs = self._kept(block, given), given.items()
            shape = block.shape if kept is None else (int(np.count_nonzero(kept)),)
            if not math.prod(shape):
                return 0
        waiting = set(self._made)
        for place, column in self._labels:
            pages[place].append(self._page(place, column, block, {}, kept, shape))
        for name, values in pairs:
            for place, column in self._made.get(name, ()):
                pages[place].append(self._page(place, column, block, {name: values}, kept, shape))
            waiting.discard(name)
        for name in waiting:
            self._cells.of(self._layout.column(name), block, {})  # says that nothing was given
        return math.prod(shape)

    def _page(
        self,
        place: int,
        column: Column,
        block: Block,
        arrays: Arrays,
        kept: npt.NDArray[np.bool_] | None,
        shape: tuple[int, ...],
    ) -> Page:
        values, valid = self._cells.of(column, block, arrays)
        if kept is not None:
            values = np.broadcast_to(values, block.shape)[kept]
            valid = None if valid is None else np.broadcast_to(valid, block.shape)[kept]
        return self._maker.page(self.fields[place], values, valid, shape)

    def _kept(self, block: Block, given: Arrays) -> npt.NDArray[np.bool_] | None:
        """Which cells have a plan; None where all have."""
        codes, _ = self._cells.of(self._layout.column("status"), block, given)
        fine = codes == self._layout.column("status").categories.index("ok")
        return None if fine.all() else np.broadcast_to(fine, block.shape)


def _pairs(found: Arrays | Iterator[tuple[str, npt.NDArray[Any]]]) -> Pairs:
    return found.items() if isinstance(found, Mapping) else found
