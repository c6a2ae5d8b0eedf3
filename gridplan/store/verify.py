"""Check a stored cube against its manifest: sizes, hashes, schema, and that every column repeats where it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gridplan.errors import VerifyError
from gridplan.store.arrow import arrow_schema
from gridplan.store.blocks import Block, Part
from gridplan.store.cells import CellValues
from gridplan.store.columns import Column
from gridplan.store.files import FileRecord, Receipt, hashed, store_errors
from gridplan.store.layout import WIDTH, Layout
from gridplan.store.manifest import Manifest, read_manifest
from gridplan.store.parquet import WriteOptions, file_schema
from gridplan.store.place import file_system, place_of
from gridplan.store.reader import read_columns, read_rows, reading, stored_part
from gridplan.store.sizes import check_sizes
from gridplan.store.slices import own_box
from gridplan.store.threads import readers_of, side_by_side
from gridplan.store.values import Arrays, take_block

__all__ = ["verify_cube"]

BATCH_BYTES = 2**26
"""Values of columns that are held at a time to be compared (policy), or one column where that is more."""


def verify_cube(folder: str | Path, deep: bool = True, *, sizes_only: bool = False) -> Manifest:
    """Read every byte of the cube in `folder` and return its manifest when all of it is as written.

    Checked are size and SHA-256 of every file and the schema of every part; with `deep` also the labels and ranks in
    every row, and that a column which does not depend on an axis holds one value along it; with `sizes_only` that every
    file is there with its size, and none is read. Raises VerifyError with every problem at once, StoreError where there
    is no finished cube.
    """
    folder = place_of(folder)
    manifest = read_manifest(folder)
    problems = check_sizes(folder, [*manifest.receipts, *manifest.dims])
    if not problems and not sizes_only:
        problems = _byte_problems(folder, manifest)
    if not problems and not sizes_only and deep and not manifest.options.get("drop_infeasible"):
        problems = _content_problems(folder, manifest)
    if problems:
        raise VerifyError("\n".join([*problems, "`gridplan run ... --resume` writes these parts again"]))
    return manifest


def _byte_problems(folder: Path, manifest: Manifest) -> list[str]:
    """Files with another hash; where there are none, parts with another schema."""
    schema = arrow_schema(manifest.layout)
    own = WriteOptions(grid_name=manifest.origin.grid_name, package_version=manifest.origin.package_version)
    usual = file_schema(manifest.layout, own)

    def look(record: Receipt | FileRecord) -> tuple[str, str]:
        path = folder / record.file
        with store_errors("read", path):
            digest, tail = hashed(folder, record.file)
        if digest != record.sha256:
            return f"{path} has another SHA-256 than the manifest says: it was altered", ""
        # To have Arrow read a footer takes longer than to hash a small file, and most say what this version writes.
        if isinstance(record, Receipt) and not usual.frames(tail) and not _has_schema(path, schema):
            return "", f"{path} has another schema than the manifest says"
        return "", ""

    records: list[Receipt | FileRecord] = [*manifest.receipts, *manifest.dims]
    found = list(side_by_side(look, records, readers_of(folder)))
    return [altered for altered, _ in found if altered] or [other for _, other in found if other]


def _has_schema(path: Path, schema: pa.Schema) -> bool:
    with reading(path):
        where, files = file_system(path)
        stored: pa.Schema = pq.read_schema(where, filesystem=files)
        return bool(stored.remove_metadata().equals(schema, check_metadata=True))


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
