"""What a run says at the end, gathered again from the files that it wrote."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from gridplan.engine.summary import Summary, counted_columns
from gridplan.engine.workers import Stopped, default_workers, spread
from gridplan.store.blocks import Block, Part
from gridplan.store.layout import Layout
from gridplan.store.open import check_files, whole_manifest
from gridplan.store.place import place_of
from gridplan.store.slices import slice_box, slice_layout
from gridplan.store.stream import Groups, groups_within, read_blocks

__all__ = ["stored_summary"]

PIECES = 4
"""Pieces that the row groups of a cube are dealt in to each thread (policy): few footers are read twice where a cube is
one file, and no thread waits long for the last one."""

Piece = tuple[Part, Groups]


def stored_summary(
    folder: str | Path, at: Mapping[str, str | float] | None = None, *, workers: int | None = None
) -> Summary:
    """The summary of the run that wrote the cube in `folder`, counted in its files.

    Only the columns that a summary looks at are read, a row group at a time, so memory does not grow with the cube.

    Parameters
    ----------
    folder
        A cube that `gridplan.run` wrote, with all its rows.
    at
        Labels by axis: count the slice there only, as if it were a cube of its own. At a label of the axis `scenario`
        the plans of that scenario are ranked; without it those of `nominal`, as after a run.
    workers
        Threads that read at once; as many as cores by default.

    Raises
    ------
    StoreError
        When the folder holds no finished cube, rows were left out, or a file that is read is missing, damaged or
        altered.
    ContractError
        If `at` names an axis or a label that the cube does not have, with the nearest labels.
    """
    folder, workers = place_of(folder), workers or default_workers()
    manifest = whole_manifest(folder)
    box = slice_box(manifest.layout, at)
    parts, layout = check_files(folder, manifest, box), slice_layout(manifest.layout, box)
    columns = counted_columns(layout)
    counted: list[Summary] = []

    def worker(stop: Event) -> Callable[[Piece], None]:
        summary = Summary(layout)
        counted.append(summary)

        def count(piece: Piece) -> None:
            for cells, arrays in read_blocks(folder, manifest.layout, *piece, columns):
                if stop.is_set():
                    raise Stopped
                summary.add(cells.relative_to(box), arrays)

        return count

    for _ in spread(_pieces(manifest.layout, parts, box, workers), worker, workers):
        pass
    total = Summary(layout)
    for one in counted:
        total.merge(one)
    return total


def _pieces(layout: Layout, parts: Sequence[Part], box: Block, workers: int) -> Iterator[Piece]:
    """The row groups with cells of `box`, some of one part at a time."""
    within = [(part, groups_within(layout, part, box)) for part in parts]
    most = math.ceil(sum(len(groups) for _, groups in within) / (workers * PIECES))
    for part, groups in within:
        for first in range(0, len(groups), most):
            yield part, groups[first : first + most]
