"""Read columns of a stored cube back into arrays, each on its own dims, taking only the rows that hold them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gridplan.errors import StoreError
from gridplan.store.blocks import Block, Part
from gridplan.store.columns import Column
from gridplan.store.files import store_errors
from gridplan.store.layout import Layout
from gridplan.store.objects import is_there
from gridplan.store.place import file_system
from gridplan.store.slices import own_box

__all__ = ["decoded", "read_columns", "read_rows", "reading", "stored_part"]


def read_columns(
    folder: Path, layout: Layout, parts: Iterable[Part], columns: Iterable[Column], box: Block | None = None
) -> dict[str, Any]:
    """Arrays of the cells of `box` for `columns`, in the form a writer is given: size 1 where a column does not depend.

    `box` is the whole cube by default. A column that does not depend on an axis is read at one label of that axis only,
    and files and row groups without a cell that is needed are left alone. Files are read one column of one row group
    at a time, so what is held beside the result is at most a million values.

    Raises StoreError for a file that is missing, damaged, or not the one that the layout describes.
    """
    boxes = {column: own_box(layout, column, box or layout.block) for column in columns}
    arrays = {column.name: _empty(column, own) for column, own in boxes.items()}
    distinct = set(boxes.values())  # of a hundred columns there are a dozen, and a part may be one of very many
    for part in parts:
        if not any(part.block.meet(own) for own in distinct):
            continue
        with reading(folder / part.file), stored_part(folder, layout, part) as file:
            for group, block in enumerate(layout.row_groups(part)):
                for column, own in boxes.items():
                    _read_into(arrays[column.name], own, column, file, group, block)
    return arrays


def _empty(column: Column, own: Block) -> npt.NDArray[Any]:
    return np.empty(own.shape, dtype=np.int32 if column.dtype == "string" else np.float64)


def _read_into(
    target: npt.NDArray[Any], own: Block, column: Column, file: pq.ParquetFile, group: int, block: Block
) -> None:
    """Fill the cells of `target`, which is that of the box `own`, that lie in one row group."""
    found = own.meet(block)
    if found is None:
        return
    cells = found.relative_to(block)
    rows = np.arange(block.rows).reshape(block.shape)[cells.slices] if found != block else None
    needed = block.rows if rows is None else int(rows.max()) + 1
    values = read_rows(file, column, group, needed)
    target[found.relative_to(own).slices] = values.reshape(found.shape) if rows is None else values[rows]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system or the Parquet reader says about a damaged file into one StoreError."""
    with store_errors("read", path):
        try:
            yield
        except pa.ArrowException as error:
            raise StoreError(f"{path} is damaged ({error}): run it again with --resume") from error


def stored_part(folder: Path, layout: Layout, part: Part) -> pq.ParquetFile:
    """Open the file of a part, text as dictionaries. Raises StoreError when its columns or row groups are not ours."""
    path = folder / part.file
    text = [column.name for column in layout.columns if column.dtype == "string"]
    with reading(path):
        if not is_there(path):
            raise StoreError(f"{path} is missing: run it again with --resume")
        where, files = file_system(path)
        found = pq.read_metadata(where, filesystem=files)
        if found.schema.names != [column.name for column in layout.columns]:
            raise StoreError(f"{path} has other columns than the manifest says: it was altered")
        groups = [found.row_group(group).num_rows for group in range(found.num_row_groups)]
        if groups != [block.rows for block in layout.row_groups(part)]:
            raise StoreError(f"{path} has other row groups than the manifest says: it was altered")
        return pq.ParquetFile(where, metadata=found, read_dictionary=text, filesystem=files)


def read_rows(file: pq.ParquetFile, column: Column, group: int, rows: int) -> npt.NDArray[Any]:
    """The first `rows` values of a column in a row group: int32 codes for text, else float64 with NaN for null."""
    chunks: list[pa.Array] = []
    if rows == file.metadata.row_group(group).num_rows:
        chunks = file.read_row_group(group, columns=[column.name]).column(0).chunks
    else:
        # Batches are decoded as they are asked for: the rest of the row group stays encoded.
        for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=[column.name]):
            chunks.append(batch.column(0))
            if sum(map(len, chunks)) >= rows:
                break
    return decoded(column, chunks)[:rows]


def decoded(column: Column, chunks: Sequence[pa.Array]) -> npt.NDArray[Any]:
    """Rows of a column as Arrow gives them: int32 codes for text, else float64 with NaN for null.

    Raises StoreError for a label that the manifest does not know.
    """
    pieces = [_codes(column, chunk) if column.dtype == "string" else _numbers(chunk) for chunk in chunks]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _numbers(chunk: pa.Array) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = chunk.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _codes(column: Column, chunk: pa.Array) -> npt.NDArray[Any]:
    """Codes among the categories of the column; each chunk of a file brings a dictionary of its own."""
    own = {label: code for code, label in enumerate(column.categories)}
    labels = chunk.dictionary.to_pylist()
    unknown = [label for label in labels if label not in own]
    if unknown:
        raise StoreError(
            f"column {column.name} holds {unknown[0]!r}, a label the manifest does not know: it was altered"
        )
    table = np.array([*(own[label] for label in labels), -1], dtype=np.int32)
    indices = chunk.indices if chunk.null_count == 0 else chunk.indices.fill_null(len(labels))
    places: npt.NDArray[Any] = indices.to_numpy(zero_copy_only=False)
    codes: npt.NDArray[Any] = table[places]
    return codes
