"""Check a stored cube against its manifest: sizes, hashes, schema, and that every column repeats where it should."""

from __future__ import annotations

from collections.abc import Sequence
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
from gridplan.store.layout import Layout
from gridplan.store.manifest import Manifest, check_sizes, read_manifest
from gridplan.store.reader import read_columns, read_rows, reading, stored_part
from gridplan.store.values import Arrays, take_block

__all__ = ["verify_cube"]


def verify_cube(folder: str | Path, deep: bool = True) -> Manifest:
    """Read every byte of the cube in `folder` and return its manifest when all of it is as written.

    Checked are size and SHA-256 of every file and the schema of every part; with `deep` also the labels and ranks in
    every row, and that a column which does not depend on an axis holds one value along it. Raises VerifyError with
    every problem at once, StoreError where there is no finished cube.
    """
    folder = Path(folder)
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
            if not pq.read_schema(folder / part.file).remove_metadata().equals(schema, check_metadata=True):
                problems.append(f"{folder / part.file} has another schema than the manifest says")
    return problems


def _content_problems(folder: Path, manifest: Manifest) -> list[str]:
    layout, parts = manifest.layout, manifest.parts
    cells = CellValues(layout)
    problems: list[str] = []
    # One column at a time, so that no more than one is ever held.
    for column in layout.columns:
        needed = layout.column(column.base) if column.role == "rank" else column
        if needed.role == "axis" or _repeats(layout, column):
            given = [needed] if needed.role != "axis" else []
            problems += _differing(folder, layout, parts, column, read_columns(folder, layout, parts, given), cells)
    return problems


def _repeats(layout: Layout, column: Column) -> bool:
    return any(size > 1 and dim not in column.dims for dim, size in zip(layout.dims, layout.shape, strict=True))


def _differing(
    folder: Path, layout: Layout, parts: Sequence[Part], column: Column, arrays: Arrays, cells: CellValues
) -> list[str]:
    problems: list[str] = []
    for part in parts:
        with reading(folder / part.file), stored_part(folder, layout, part) as file:
            for group, block in enumerate(layout.row_groups(part)):
                stored = read_rows(file, column, group, block.rows)
                if not np.array_equal(stored, _expected(cells, column, block, arrays), equal_nan=True):
                    cause = f"differs from the labels of its axis or along an axis outside {column.dims}"
                    problems.append(f"{folder / part.file}: column {column.name} {cause}")
                    break
    return problems


def _expected(cells: CellValues, column: Column, block: Block, arrays: Arrays) -> npt.NDArray[Any]:
    """Every row of `block`, in the form in which rows are read."""
    values, valid = cells.of(column, block, take_block(arrays, block))
    if column.dtype != "string":
        values = values.astype(np.float64)
        if valid is not None:
            values[~valid] = np.nan
    return np.broadcast_to(values, block.shape).reshape(-1)
