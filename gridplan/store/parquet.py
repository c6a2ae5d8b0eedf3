"""Write one part of a cube: from arrays, or from a function of blocks, to a finished Parquet file and its receipt."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gridplan.errors import StoreError, suggestion
from gridplan.store.arrow import arrow_schema, file_metadata
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.encode import SpanBuffer
from gridplan.store.files import FileRecord, landing, make_folder, sha256_of, store_errors, write_text
from gridplan.store.layout import Layout, rows_per_label
from gridplan.store.values import Arrays, take_block

__all__ = ["Compression", "Receipt", "Source", "WriteOptions", "open_writer", "write_part"]

Compression = Literal["zstd", "snappy", "none"]

Source = Arrays | Callable[[Block], Arrays]
"""The values of a part: its arrays, or a function that computes the arrays of one block of it."""

ZSTD_LEVEL = 1
"""Level 3 is slower and saves 8% on a planning cube (measurement, 2026, 18 columns)."""

BLOCK_CELLS = 32_768
"""Cells evaluated and copied at once (measurement, 2026): 16k to 128k stay in cache and cost least per cell."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How files are written: compression, cells per block, whether rows of cells without a plan are left out, and the
    grid and package version named in each file."""

    compression: Compression = "zstd"
    block_cells: int = BLOCK_CELLS
    drop_infeasible: bool = False
    grid_name: str = ""
    package_version: str = ""

    def __post_init__(self) -> None:
        known = get_args(Compression)
        if self.compression not in known:
            near = suggestion(self.compression, known)
            raise StoreError(f"compression {self.compression!r} is not one of {', '.join(known)}{near}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A finished part: its number, path inside the folder, rows, size and SHA-256."""

    number: int
    file: str
    rows: int
    bytes: int
    sha256: str

    @property
    def record(self) -> FileRecord:
        """The receipt without its number."""
        return FileRecord(self.file, self.rows, self.bytes, self.sha256)


def write_part(
    folder: Path, layout: Layout, part: Part, arrays: Source, options: WriteOptions | None = None
) -> Receipt:
    """Write `part` to `folder/facts/part-NNNNN.parquet` and its receipt to `folder/receipts/part-NNNNN.json`.

    `arrays` holds every coordinate and measure of the layout on the labels of the part (`Arrays`), or is a function
    that gives them for one block of it, called in row order; memory then does not grow with the part. The bytes depend
    on nothing but layout, values and options. The file appears whole or not at all, the receipt after the file.

    Raises StoreError for values that must not be stored, naming column and cell, and for a disk that refuses.
    """
    options = options or WriteOptions()
    path = folder / part.file
    make_folder(path.parent)
    make_folder(folder / "receipts")
    with store_errors("write", path), landing(path) as temporary:
        rows = _write_rows(temporary, layout, part, arrays, options)
        receipt = Receipt(part.number, part.file, rows, temporary.stat().st_size, sha256_of(temporary))
    write_text(folder / "receipts" / f"{path.stem}.json", json.dumps(asdict(receipt), indent=1) + "\n")
    return receipt


def _write_rows(path: Path, layout: Layout, part: Part, arrays: Source, options: WriteOptions) -> int:
    """Write the rows of a part; returns how many."""
    rows = 0
    spans = list(layout.spans(part))
    buffer = SpanBuffer(layout, max(span.rows for span in spans))
    text = [column.name for column in layout.columns if column.dtype == "string"]
    with open_writer(path, buffer.schema, options, text) as writer:
        writer.add_key_value_metadata(file_metadata(arrow_schema(layout), options.grid_name, options.package_version))
        for span in spans:
            for block in cut(span, options.block_cells):
                buffer.put(
                    block, arrays(block) if callable(arrays) else take_block(arrays, block.relative_to(part.block))
                )
            table = buffer.table()
            if not options.drop_infeasible:
                writer.write_table(table, row_group_size=rows_per_label(span))
                rows += table.num_rows
                continue
            # Label by label, because a row group holds one label of the outermost axis also where rows are missing.
            for first in range(0, table.num_rows, rows_per_label(span)):
                kept = _feasible(table.slice(first, rows_per_label(span)))
                if kept.num_rows:
                    writer.write_table(kept)
                rows += kept.num_rows
    return rows


def _feasible(table: pa.Table) -> pa.Table:
    """The rows whose status is ok."""
    return table.filter(pc.equal(table["status"].combine_chunks().cast(pa.string()), "ok"))


def open_writer(path: Path, schema: pa.Schema, options: WriteOptions, text: list[str]) -> pq.ParquetWriter:
    """A Parquet writer with the settings of every file of a cube; `text` names the dictionary-encoded columns.

    Numbers are PLAIN, because a dictionary of doubles costs a fifth of the speed and seldom saves bytes after zstd.
    Version 1 data pages are what the oldest readers take.
    """
    settings: dict[str, Any] = {"compression": options.compression}
    if options.compression == "zstd":
        settings["compression_level"] = ZSTD_LEVEL
    return pq.ParquetWriter(
        str(path),
        schema,
        store_schema=False,
        use_dictionary=text,
        write_statistics=True,
        write_page_index=True,
        data_page_version="1.0",
        **settings,
    )
