"""How a cube is cut: blocks of labels in row order, for parts, row groups and evaluation alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import sub

__all__ = ["Block", "Part", "cut", "pieces"]


@dataclass(frozen=True, slots=True)
class Block:
    """A box of label positions: along axis i the positions from `start[i]` up to, not including, `stop[i]`.

    >>> Block((0, 2), (1, 5)).shape, Block((0, 2), (1, 5)).rows
    ((1, 3), 3)
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels along each axis."""
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))

    @property
    def rows(self) -> int:
        """Number of cells, which is the number of rows in a file."""
        return math.prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Index that takes this block out of an array of the whole cube."""
        return tuple(slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True))

    def meet(self, other: Block) -> Block | None:
        """The cells of both; None where they have none in common.

        >>> Block((0, 2), (3, 5)).meet(Block((2, 0), (9, 4)))
        Block(start=(2, 2), stop=(3, 4))
        """
        start = tuple(map(max, self.start, other.start))
        stop = tuple(map(min, self.stop, other.stop))
        return Block(start, stop) if all(map(int.__lt__, start, stop)) else None

    def relative_to(self, outer: Block) -> Block:
        """The same box counted from the first label of `outer`, which must contain it."""
        start = tuple(at - origin for at, origin in zip(self.start, outer.start, strict=True))
        stop = tuple(at - origin for at, origin in zip(self.stop, outer.start, strict=True))
        return Block(start, stop)


@dataclass(frozen=True, slots=True)
class Part:
    """A block that becomes one file: whole inner axes, a range of labels on one axis, single labels outside it."""

    number: int
    start: tuple[int, ...]
    stop: tuple[int, ...]

    @property
    def block(self) -> Block:
        """The labels of this part."""
        return Block(self.start, self.stop)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels along each axis."""
        return self.block.shape

    @property
    def rows(self) -> int:
        """Number of rows in the file."""
        return math.prod(map(sub, self.stop, self.start))  # asked of every part whenever a manifest is read

    @property
    def file(self) -> str:
        """Path of the file inside the folder of the cube."""
        return f"facts/part-{self.number:05d}.parquet"

    @property
    def receipt_file(self) -> str:
        """Path of its receipt, which is written after it."""
        return f"receipts/part-{self.number:05d}.json"


def cut(block: Block, rows: int) -> Iterator[Block]:
    """Cut `block` into blocks of at most `rows` cells that follow each other in row order (last axis fastest).

    Each piece holds whole inner axes, a range of labels on one axis and single labels outside it, so its cells are
    consecutive rows. Pieces along the cut axis differ by at most one label, so no tiny rest is left over. Raises
    ValueError when `rows` is below 1.

    >>> [piece.shape for piece in cut(Block((0, 0), (2, 5)), 3)]
    [(1, 2), (1, 3), (1, 2), (1, 3)]
    """
    if (found := _cut_axis(block, rows)) is None:
        yield block
        return
    axis, count = found
    first_label, labels_along = block.start[axis], block.shape[axis]
    bounds = [first_label + labels_along * piece // count for piece in range(count + 1)]
    outside = [range(block.start[before], block.stop[before]) for before in range(axis)]
    for labels in itertools.product(*outside):
        ends = tuple(label + 1 for label in labels)
        for first, last in itertools.pairwise(bounds):
            yield Block((*labels, first, *block.start[axis + 1 :]), (*ends, last, *block.stop[axis + 1 :]))


def _cut_axis(block: Block, rows: int) -> tuple[int, int] | None:
    """The axis along which `cut` cuts and into how many ranges of labels; None where the block stays whole."""
    if rows < 1:
        raise ValueError(f"a block needs at least one row, not {rows}")
    if block.rows <= rows:
        return None
    shape = block.shape
    inner = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    axis = next(axis for axis, cells in enumerate(inner) if cells <= rows)
    return axis, math.ceil(shape[axis] / (rows // inner[axis]))


def pieces(block: Block, rows: int) -> int:
    """How many blocks `cut` gives, without making them.

    >>> pieces(Block((0, 0), (2, 5)), 3)
    4
    """
    if (found := _cut_axis(block, rows)) is None:
        return 1
    axis, count = found
    return math.prod(block.shape[:axis]) * count
