"""Check a stored cube against its manifest: sizes, hashes, schema, and that every column repeats where it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from gridplan.errors import VerifyError
from gridplan.store.arrow import arrow_schema
from gridplan.store.blocks import Block, Part
from gridplan.store.cells import CellValues
from gridplan.store.columns import Column
from gridplan.store.files import sha256_of, store_errors
from gridplan.store.layout import WIDTH, Layout
from gridplan.store.manifest import Manifest, check_sizes, read_manifest
from gridplan.store.place import file_system, place_of
from gridplan.store.reader import read_columns, read_rows, reading, stored_part
from gridplan.store.slices import own_box
from gridplan.store.values import Arrays, take_block

__all__ = ["verify_cube"]

BATCH_BYTES = 2**26
"""Values of columns that are held at a time to be compared (policy), or one column where that is more."""


def verify_cube(folder: str | Path, deep: bool = True) -> Manifest:
    """Read every byte of the cube in `folder` and return its manifest when all of it is as written.

    Checked are size and SHA-256 of every file and the schema of every part; with `deep` also the labels and ranks in
    every row, and that a column which does not depend on an axis holds one value along it. Raises VerifyError with
    every problem at once, StoreError where there is no finished cube.
    """
    folder = place_of(folder)
    manifest = read_manifest(folder)
    records = [*(receipt.record for receipt in manifest.receipts), *manifest.dims]
    problems = check_sizes(folder, records) or _hash_problems(folder, manifest)
    problems = problems or _schema_problems(folder, manifest)
    if not problems and deep and not manifest.options.get("drop_infeasible"):
        problems = _content_problems(folder, manifest)
    if problems:
        raise VerifyError("\n".join([*problems, "`gridplan run ... --resume` writes these parts again"]))
    return manifest


def _hash_problems(folder: Path, manifest: Manifest) -> list[str]:
    problems = []
    for record in [*(receipt.record for receipt in manifest.receipts), *manifest.dims]:
        path = folder / record.file
        with store_errors("read", path):
            if sha256_of(path) != record.sha256:
                problems.append(f"{path} has another SHA-256 than the manifest says: it was altered")
    return problems


def _schema_problems(folder: Path, manifest: Manifest) -> list[str]:
    schema = arrow_schema(manifest.layout)
    problems: list[str] = []
    for part in manifest.parts:
        with reading(folder / part.file):
            where, files = file_system(folder / part.file)
            if not pq.read_schema(where, filesystem=files).remove_metadata().equals(schema, check_metadata=True):
                problems.append(f"{folder / part.file} has another schema than the manifest says")
    return problems


def _content_problems(folder: Path, manifest: Manifest) -> list[str]:
    layout, parts = manifest.layout, manifest.parts
    wanted = [column for column in layout.columns if _read_for(layout, column) is None or _repeats(layout, column)]
    return [problem for some in _batches(layout, wanted) for problem in _differing(folder, layout, parts, some)]


def _read_for(layout: Layout, column: Column) -> Column | None:
    """The column whose values say what a column holds; None where the labels of an axis do."""
    needed = layout.column(column.base) if column.role == "rank" else column
    return None if needed.role == "axis" else needed


def _batches(layout: Layout, columns: Sequence[Column]) -> Iterator[list[Column]]:
    """Columns that are checked together, since every file is opened once for all of them."""
    batch: list[Column] = []
    held = 0.0
    for column in columns:
        read = _read_for(layout, column)
        needs = 0.0 if read is None else WIDTH["float64"] * own_box(layout, read, layout.block).rows
        if batch and held + needs > BATCH_BYTES:
            yield batch
            batch, held = [], 0.0
        batch.append(column)
        held += needs
    if batch:
        yield batch


def _repeats(layout: Layout, column: Column) -> bool:
    return any(size > 1 and dim not in column.dims for dim, size in zip(layout.dims, layout.shape, strict=True))


def _differing(folder: Path, layout: Layout, parts: Sequence[Part], columns: Sequence[Column]) -> list[str]:
    given = [needed for column in columns if (needed := _read_for(layout, column)) is not None]
    arrays, cells = read_columns(folder, layout, parts, given), CellValues(layout)
    differ: dict[str, list[str]] = {column.name: [] for column in columns}
    for part in parts:
        left = list(columns)
        with reading(folder / part.file), stored_part(folder, layout, part) as file:
            for group, block in enumerate(layout.row_groups(part)):
                for column in tuple(left):
                    stored = read_rows(file, column, group, block.rows)
                    if not np.array_equal(stored, _expected(cells, column, block, arrays), equal_nan=True):
                        cause = f"differs from the labels of its axis or along an axis outside {column.dims}"
                        differ[column.name].append(f"{folder / part.file}: column {column.name} {cause}")
                        left.remove(column)
    return [problem for problems in differ.values() for problem in problems]


def _expected(cells: CellValues, column: Column, block: Block, arrays: Arrays) -> npt.NDArray[Any]:
    """Every row of `block`, in the form in which rows are read."""
    values, valid = cells.of(column, block, take_block(arrays, block))
    if column.dtype != "string":
        values = values.astype(np.float64)
        if valid is not None:
            values[~valid] = np.nan
    return np.broadcast_to(values, block.shape).reshape(-1)
