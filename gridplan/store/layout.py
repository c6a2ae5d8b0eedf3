"""The shape of a stored cube: its axes, its columns and how it is cut into parts and row groups.

A layout is fixed before the first cell is evaluated. Every file of a cube, and the Dataset read back from it, follows
from the layout alone, which is what makes parts independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gridplan.errors import StoreError
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.checks import layout_problems
from gridplan.store.columns import AxisSpec, Column, DType, Role, axis_columns, rank_column

__all__ = ["AxisSpec", "Block", "Column", "DType", "Layout", "Part", "Role", "make_layout"]

ROWS_PER_PART = 2_000_000
"""Most rows of one file unless the caller says otherwise (policy): a second or so of work."""

FEWEST_ROWS_PER_PART = 250_000
"""Rows below which a cube is not cut into more files (policy): some 8 MB."""

PARTS = 200
"""Files that a cube is cut into between these bounds (policy): enough to keep threads busy to the end, to lose little
to a kill and to read little for a slice; few enough to list."""

ROWS_PER_ROW_GROUP = 1_000_000
"""Most rows of a row group (policy): readers prune and parallelise by row group."""

MOST_SMALL_GROUPS, FEWEST_ROWS_PER_LABEL = 64, 8_192
"""Labels of the outermost axis beyond which they share row groups, and rows from which each has its own all the same
(policy): readers skip the groups of other labels, but what is said of a group takes 30 kB for 100 columns."""

BYTES_PER_ROW_GROUP = 2**26
"""Most bytes of a row group before encoding, or one page of every column where that is more (policy): a reader decodes,
and a writer holds, a row group at a time."""

PAGE_ROWS = 131_072
"""Most rows of a page (policy): a megabyte of numbers, the usual size, which one block of the engine fills."""

WIDTH: Mapping[DType, float] = {"string": 4.0, "float64": 8.0, "int64": 8.0, "bool": 1.0}
"""Bytes of one value in the writer's memory (fact): text is held as int32 codes."""


@dataclass(frozen=True)
class Layout:
    """Axes and columns in file order: axes, ranks, coordinates, measures.

    Raises StoreError with every problem at once when names collide (also when they differ only in case, which SQL does
    not tell apart), labels repeat, a column names an axis that does not exist, or its dims are out of order.
    """

    axes: tuple[AxisSpec, ...]
    columns: tuple[Column, ...]
    row_group_rows: int = 0
    """Most rows of a row group; 0 stands for a million, or fewer where there are many columns."""

    def __post_init__(self) -> None:
        if self.row_group_rows == 0:
            width = sum(WIDTH.get(column.dtype, 0.0) for column in self.columns)
            fitting = int(BYTES_PER_ROW_GROUP / max(width, 1.0))
            object.__setattr__(self, "row_group_rows", min(ROWS_PER_ROW_GROUP, max(PAGE_ROWS, fitting)))
        problems = layout_problems(self.axes, self.columns)
        if problems:
            raise StoreError("\n".join(problems))

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes in declared order."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of labels along each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @property
    def cells(self) -> int:
        """Number of cells of the cube, which is the number of rows of the table."""
        return math.prod(self.shape)

    @property
    def block(self) -> Block:
        """The whole cube as one block."""
        return Block((0,) * len(self.axes), self.shape)

    @cached_property
    def given(self) -> tuple[Column, ...]:
        """Columns whose values the writer is given: coordinates and measures."""
        return tuple(column for column in self.columns if column.role in ("coord", "measure"))

    def column(self, name: str) -> Column:
        """The column of that name; KeyError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def labels_at(self, place: Sequence[int]) -> str:
        """The labels of the cell at these positions along the axes, as text for a message."""
        named = (f"{axis.name}={axis.labels[at]!r}" for axis, at in zip(self.axes, place, strict=True))
        return ", ".join(named) or "the only cell"

    @property
    def rows_per_part(self) -> int:
        """Most rows of a file of this cube, as its size asks for."""
        return min(ROWS_PER_PART, max(FEWEST_ROWS_PER_PART, self.cells // PARTS))

    def parts(self, rows_per_part: int | None) -> tuple[Part, ...]:
        """Cut the cube into files of at most `rows_per_part` rows; None gives a single file."""
        pieces = cut(self.block, self.cells if rows_per_part is None else rows_per_part)
        return tuple(Part(number, piece.start, piece.stop) for number, piece in enumerate(pieces))

    def row_groups(self, part: Part) -> Iterator[Block]:
        """The row groups of a part in order; none crosses a label of the outermost axis, unless labels are many."""
        for rows in cut(part.block, self.row_group_rows):
            many = rows.shape[:1] > (MOST_SMALL_GROUPS,) and math.prod(rows.shape[1:]) < FEWEST_ROWS_PER_LABEL
            yield from (rows,) if many else cut(rows, math.prod(rows.shape[1:]))


def make_layout(axes: Sequence[AxisSpec], columns: Sequence[Column], ranked: Collection[str] = ()) -> Layout:
    """The layout of a cube from its axes and its coordinates and measures.

    The axis columns are added in front, then a rank column for every text axis and for every column named in `ranked`
    (text whose labels have an order); coordinates come before measures, each in the order given. Raises StoreError with
    every problem at once.

    >>> speed = Column("speed", "measure", "float64", ("gpu",))
    >>> [column.name for column in make_layout([AxisSpec("gpu", ("b", "a"), True, "")], [speed]).columns]
    ['gpu', 'gpu_rank', 'speed']
    """
    own = axis_columns(axes)
    ordered = [*(column for column in own if column.dtype == "string"), *(c for c in columns if c.name in ranked)]
    coords = [column for column in columns if column.role != "measure"]
    measures = [column for column in columns if column.role == "measure"]
    return Layout(tuple(axes), (*own, *map(rank_column, ordered), *coords, *measures))
