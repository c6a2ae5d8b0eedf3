"""Write one part of a cube: from arrays, or from a function of blocks, to a finished Parquet file and its receipt."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from gridplan.errors import StoreError, suggestion
from gridplan.pages.file import FileSchema, FileWriter
from gridplan.pages.page import PageMaker
from gridplan.store.arrow import arrow_schema, file_metadata
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt, discard, in_hand, land, make_folder, store_errors, write_text
from gridplan.store.groups import GroupEncoder, Source, file_fields
from gridplan.store.layout import PAGE_ROWS, Layout

__all__ = ["Compression", "PartWriter", "Source", "Unlanded", "WriteOptions", "file_schema", "write_part"]

Compression = Literal["zstd", "snappy", "none"]


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
class Unlanded:
    """A part that is written whole under its temporary name."""

    folder: Path
    temporary: Path
    receipt: Receipt

    def discard(self) -> None:
        """Remove the file: nothing will land it."""
        discard(self.temporary)

    def land(self) -> Receipt:
        """Force the file to disk, give it its name, and write its receipt after it; may run on any thread.

        Raises StoreError for a disk that refuses.
        """
        path = self.folder / self.receipt.file
        with store_errors("write", path):
            land(self.temporary, path)
        text = json.dumps(asdict(self.receipt), indent=1) + "\n"
        write_text(self.folder / "receipts" / f"{path.stem}.json", text)
        return self.receipt


def file_schema(layout: Layout, options: WriteOptions) -> FileSchema:
    """What the files of all parts of a cube say alike."""
    said = file_metadata(arrow_schema(layout), options.grid_name, options.package_version)
    created_by = f"gridplan version {options.package_version}"
    return FileSchema(file_fields(layout), said, created_by, options.compression)


class PartWriter:
    """Writes parts of one cube; one for each thread."""

    def __init__(self, layout: Layout, options: WriteOptions | None = None) -> None:
        options = options or WriteOptions()
        self._layout, self._maker = layout, PageMaker(options.compression)
        self._encoder = GroupEncoder(layout, self._maker, options.block_cells, options.drop_infeasible)
        self._schema = file_schema(layout, options)

    def begin(self, folder: Path, part: Part, arrays: Source) -> Unlanded:
        """Write `part` under a temporary name; nothing is left of it where that fails.

        `arrays` holds every coordinate and measure of the layout on the labels of the part (`Arrays`), or is a function
        that gives them for one block of it, called in row order; memory then does not grow with the part. The bytes
        depend on nothing but layout, values and options.

        Raises StoreError for values that must not be stored, naming column and cell, and for a disk that refuses.
        """
        path = folder / part.file
        make_folder(path.parent)
        make_folder(folder / "receipts")
        with store_errors("write", path), in_hand(path) as temporary, temporary.open("wb") as sink:
            file = FileWriter(sink, self._schema, self._maker)
            for group in self._layout.row_groups(part):
                rows, pages = self._encoder.pages(part, group, arrays)
                if rows:
                    file.row_group(rows, pages)
            size, digest = file.close()
        return Unlanded(folder, temporary, Receipt(part.number, part.file, file.rows, size, digest))

    def write(self, folder: Path, part: Part, arrays: Source) -> Receipt:
        """Write `part` to `folder/facts/part-NNNNN.parquet`, then its receipt to `folder/receipts/part-NNNNN.json`.

        The file appears whole or not at all. Arguments and errors as for `begin`.
        """
        return self.begin(folder, part, arrays).land()


def write_part(
    folder: Path, layout: Layout, part: Part, arrays: Source, options: WriteOptions | None = None
) -> Receipt:
    """Write one part of a cube; see `PartWriter.write`."""
    return PartWriter(layout, options).write(folder, part, arrays)
