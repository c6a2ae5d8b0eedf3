"""Read columns of a stored cube row group by row group, for what is counted and never held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gridplan.store.blocks import Block, Part
from gridplan.store.columns import Column
from gridplan.store.layout import Layout
from gridplan.store.reader import decoded, reading, stored_part
from gridplan.store.slices import own_box

__all__ = ["groups_within", "read_blocks"]

Groups = Sequence[tuple[int, Block]]
"""Row groups of a part: the number of each in its file, and its cells that are wanted."""


def groups_within(layout: Layout, part: Part, box: Block) -> Groups:
    """The row groups of a part that hold cells of `box`, each with these cells."""
    if part.block.meet(box) is None:
        return []
    found = ((group, block.meet(box)) for group, block in enumerate(layout.row_groups(part)))
    return [(group, cells) for group, cells in found if cells is not None]


def read_blocks(
    folder: Path, layout: Layout, part: Part, groups: Groups, columns: Iterable[Column]
) -> Iterator[tuple[Block, dict[str, Any]]]:
    """The cells of each of `groups`, with the values of `columns` there: size 1 along axes a column does not depend on.

    Text is int32 codes of the column's categories, -1 for null; numbers are float64, NaN for null. All columns of one
    row group are held at once, and nothing of the others.

    Raises StoreError for a file that is missing, damaged, or not the one that the layout describes.
    """
    columns = list(columns)
    blocks = list(layout.row_groups(part))
    with reading(folder / part.file), stored_part(folder, layout, part) as file:
        for group, cells in groups:
            # Callers run a part a thread, so the reader has no use for threads of its own.
            table = file.read_row_group(group, columns=[column.name for column in columns], use_threads=False)
            arrays = {}
            for column in columns:
                own = own_box(layout, column, cells).relative_to(blocks[group])
                rows = decoded(column, table.column(column.name).chunks)
                arrays[column.name] = rows.reshape(blocks[group].shape)[own.slices]
            yield cells, arrays
