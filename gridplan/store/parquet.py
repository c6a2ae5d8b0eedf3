"""Write one part of a cube: from arrays, or from a function of blocks, to a finished Parquet file and its receipt."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gridplan.errors import StoreError, suggestion
from gridplan.pages.file import FileSchema, FileWriter
from gridplan.pages.kinds import Field
from gridplan.pages.page import Page, PageMaker
from gridplan.store.arrow import arrow_schema, file_metadata
from gridplan.store.blocks import Block, Part, cut
from gridplan.store.cells import CellValues
from gridplan.store.files import FileRecord, landing, make_folder, store_errors, write_text
from gridplan.store.layout import PAGE_ROWS, Layout
from gridplan.store.values import Arrays, put_block, take_block

__all__ = ["Compression", "PartWriter", "Receipt", "Source", "WriteOptions", "write_part"]

Compression = Literal["zstd", "snappy", "none"]

Source = Arrays | Callable[[Block], Arrays]
"""The values of a part: its arrays, or a function that computes the arrays of one block of it."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How files are written: compression, cells per block, whether rows of cells without a plan are left out, and the
    grid and package version named in each file."""

    compression: Compression = "zstd"
    block_cells: int = PAGE_ROWS
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


class PartWriter:
    """Writes parts of one cube; one for each thread, since it keeps finished pages for use again."""

    def __init__(self, layout: Layout, options: WriteOptions | None = None) -> None:
        self._layout, self._options = layout, options or WriteOptions()
        fields = [Field(column.name, column.dtype, column.categories) for column in layout.columns]
        said = file_metadata(arrow_schema(layout), self._options.grid_name, self._options.package_version)
        self._schema = FileSchema(fields, said, f"gridplan version {self._options.package_version}")
        self._maker = PageMaker(self._options.compression)
        self._values = CellValues(layout)

    def write(self, folder: Path, part: Part, arrays: Source) -> Receipt:
        """Write `part` to `folder/facts/part-NNNNN.parquet` and its receipt to `folder/receipts/part-NNNNN.json`.

        `arrays` holds every coordinate and measure of the layout on the labels of the part (`Arrays`), or is a function
        that gives them for one block of it, called in row order; memory then does not grow with the part. The bytes
        depend on nothing but layout, values and options. The file appears whole or not at all, the receipt after it.

        Raises StoreError for values that must not be stored, naming column and cell, and for a disk that refuses.
        """
        path = folder / part.file
        make_folder(path.parent)
        make_folder(folder / "receipts")
        with store_errors("write", path), landing(path) as temporary:
            with temporary.open("wb") as sink:
                file = FileWriter(sink, self._schema, self._maker, self._options.compression)
                for group in self._layout.row_groups(part):
                    self._write_group(file, part, group, arrays)
                size, digest = file.close()
            receipt = Receipt(part.number, part.file, file.rows, size, digest)
        write_text(folder / "receipts" / f"{path.stem}.json", json.dumps(asdict(receipt), indent=1) + "\n")
        return receipt

    def _write_group(self, file: FileWriter, part: Part, group: Block, arrays: Source) -> None:
        """Write one row group, page by page; none where all its rows are left out."""
        pages: list[list[Page]] = [[] for _ in self._schema.fields]
        rows = 0
        for block in cut(group, PAGE_ROWS):
            given = self._given(part, block, arrays)
            kept = self._kept(block, given) if self._options.drop_infeasible else None
            shape = block.shape if kept is None else (int(np.count_nonzero(kept)),)
            if not math.prod(shape):
                continue
            rows += math.prod(shape)
            for column, field, into in zip(self._layout.columns, self._schema.fields, pages, strict=True):
                values, valid = self._values.of(column, block, given)
                if kept is not None:
                    values = np.broadcast_to(values, block.shape)[kept]
                    valid = None if valid is None else np.broadcast_to(valid, block.shape)[kept]
                into.append(self._maker.page(field, values, valid, shape))
        if rows:
            file.row_group(rows, pages)

    def _given(self, part: Part, block: Block, arrays: Source) -> Arrays:
        """The arrays of a page, put together where they are computed in smaller blocks."""
        if not callable(arrays):
            return take_block(arrays, block.relative_to(part.block))
        pieces = list(cut(block, self._options.block_cells))
        if len(pieces) == 1:
            return arrays(block)
        whole: dict[str, npt.NDArray[Any]] = {}
        for piece in pieces:
            put_block(whole, block, piece, arrays(piece), self._layout)
        return whole

    def _kept(self, block: Block, given: Arrays) -> npt.NDArray[np.bool_] | None:
        """Which cells have a plan; None where all have."""
        codes, _ = self._values.of(self._layout.column("status"), block, given)
        fine = codes == self._layout.column("status").categories.index("ok")
        return None if fine.all() else np.broadcast_to(fine, block.shape)


def write_part(
    folder: Path, layout: Layout, part: Part, arrays: Source, options: WriteOptions | None = None
) -> Receipt:
    """Write one part of a cube; see `PartWriter.write`."""
    return PartWriter(layout, options).write(folder, part, arrays)
