"""Data pages and dictionary pages: definition levels, values, compression and the header in front.

Source: Apache Parquet, README.md ("Data Pages") and parquet.thrift (PageHeader); version 1 data pages, which every
reader takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gridplan.pages.hybrid import hybrid, run
from gridplan.pages.kinds import Field, Kind, Value, extremes
from gridplan.pages.thrift import Struct

__all__ = ["PLAIN", "RLE", "RLE_DICTIONARY", "ZSTD_LEVELS", "Dictionary", "Page", "PageMaker"]

PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
"""Encodings (fact, parquet.thrift, enum Encoding)."""

DATA_PAGE, DICTIONARY_PAGE = 0, 2
"""Types of pages (fact, parquet.thrift, enum PageType)."""

ZSTD_LEVELS: Mapping[Kind, int] = {"string": 1, "float64": 1, "bool": 1, "int64": -5}
"""Level of compression by what a column holds (measurement, 2026-11, zstd of pyarrow 26, cubes of 1e6 to 1e8 cells).

For doubles level 3 takes half as long again and saves 4%. In small whole numbers level 1 stumbles over the zero bytes
of each value: all whole numbers of a cell take it 73 to 154 ns and 1.8 to 3 bytes, and level -5 takes 7 to 36 ns and
0.1 to 2 bytes.
"""

KEPT_BYTES = 2**23
"""Finished pages that one maker keeps for use again [bytes] (policy); they are dropped together when full."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A finished data page: its bytes, header included, and what the metadata says of it."""

    data: bytes
    raw_bytes: int
    rows: int
    nulls: int
    extremes: tuple[Value, Value] | None


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The dictionary page of a text column, its labels as bytes, and how many bits an index takes."""

    data: bytes
    raw_bytes: int
    labels: tuple[bytes, ...]
    width: int


class PageMaker:
    """Makes the pages of columns; not for use by several threads at once.

    Values that repeat along whole axes of a block are given once, on axes of size 1, and pages made of such values are
    kept: the same values on the same block give the same page, whichever column they belong to.
    """

    def __init__(self, compression: str) -> None:
        self._codecs = {kind: _codec(compression, level) for kind, level in ZSTD_LEVELS.items()}
        self._dictionaries: dict[tuple[str, ...], Dictionary] = {}
        self._kept: dict[tuple[object, ...], Page] = {}
        self._kept_bytes = 0

    def page(self, field: Field, values: Array, valid: Array | None, shape: tuple[int, ...]) -> Page:
        """The page of `values` spread over `shape`, row by row, last axis fastest.

        `values` holds float64, int64, bool, or int codes of labels, on as many axes as `shape`, of size 1 where they
        repeat; `valid` (False where there is no value) has the shape of `values`, or is None without nulls.
        """
        rows = math.prod(shape)
        if values.size == rows:
            return self._make(field, values, valid, shape)
        known = None if valid is None else valid.tobytes()
        key = (field.kind, field.labels, shape, values.shape, values.tobytes(), known)
        page = self._kept.get(key)
        if page is None:
            page = self._make(field, values, valid, shape)
            self._keep(key, page, 2 * values.nbytes + len(page.data))
        return page

    def _keep(self, key: tuple[object, ...], page: Page, size: int) -> None:
        if self._kept_bytes + size > KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = 0
        if size <= KEPT_BYTES:
            self._kept[key] = page
            self._kept_bytes += size

    def dictionary(self, field: Field) -> Dictionary:
        """The dictionary page of a text column: its labels in the order of their codes."""
        found = self._dictionaries.get(field.labels)
        if found is None:
            labels = tuple(label.encode() for label in field.labels)
            body = b"".join(len(label).to_bytes(4, "little") + label for label in labels)
            header = Struct().i32(1, len(labels)).i32(2, PLAIN)
            data, raw = self._framed(field, body, Struct().i32(1, DICTIONARY_PAGE), 7, header)
            # One label takes one bit: a width of 0 is legal and not understood everywhere.
            width = max(1, (len(labels) - 1).bit_length()) if labels else 0
            found = self._dictionaries[field.labels] = Dictionary(data, raw, labels, width)
        return found

    def _make(self, field: Field, values: Array, valid: Array | None, shape: tuple[int, ...]) -> Page:
        rows = math.prod(shape)
        # Along trailing axes of size 1 every value repeats: it is told apart and compared once.
        repeat = _repeats(values.shape, shape)
        present = _spread(values, shape, repeat)
        if valid is None:
            levels = run(1, rows, width=1)
        else:
            known = _spread(valid, shape, repeat)
            present, levels = present[known], hybrid(known, width=1, repeat=repeat)
        body = len(levels).to_bytes(4, "little") + levels
        header = Struct().i32(1, rows)
        labels: tuple[bytes, ...] = ()
        if field.kind == "string":
            dictionary = self.dictionary(field)
            labels = dictionary.labels
            body += bytes((dictionary.width,)) + hybrid(present, dictionary.width, repeat)
            header.i32(2, RLE_DICTIONARY)
        else:
            body = b"".join((body, _plain(field, np.repeat(present, repeat) if repeat > 1 else present).data))
            header.i32(2, PLAIN)
        data, raw = self._framed(field, body, Struct().i32(1, DATA_PAGE), 5, header.i32(3, RLE).i32(4, RLE))
        return Page(data, raw, rows, rows - present.size * repeat, extremes(field.kind, present, labels))

    def _framed(self, field: Field, body: bytes, header: Struct, number: int, inner: Struct) -> tuple[bytes, int]:
        """A page of `body`, compressed, behind its header, and its size before compression."""
        codec = self._codecs[field.kind]
        packed = codec.compress(body, asbytes=True) if codec else body
        head = header.i32(2, len(body)).i32(3, len(packed)).struct(number, inner).done()
        return head + packed, len(head) + len(body)


def _codec(compression: str, level: int) -> pa.Codec | None:
    if compression == "none":
        return None
    return pa.Codec(compression, level if compression == "zstd" else None)


def _repeats(own: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """How often each value follows itself: the rows along the last axes that are of size 1 in `own`."""
    repeat = 1
    for size, full in zip(reversed(own), reversed(shape), strict=True):
        if size != 1:
            break
        repeat *= full
    return repeat


def _spread(values: Array, shape: tuple[int, ...], repeat: int) -> Array:
    """The rows of `values` over `shape` as a 1-d array, each once instead of `repeat` times."""
    rows = math.prod(shape) // repeat
    if values.size == rows:
        return values.reshape(-1)
    axes = [full if size != 1 else 0 for size, full in zip(values.shape, shape, strict=True)]
    last = max((axis for axis, size in enumerate(axes) if size), default=-1)
    spread = [full if axis <= last else 1 for axis, full in enumerate(shape)]
    return np.broadcast_to(values, spread).reshape(-1)


def _plain(field: Field, values: Array) -> Array:
    """A 1-d array whose memory is its values in PLAIN encoding."""
    if field.kind == "bool":
        return np.packbits(values, bitorder="little")
    return np.ascontiguousarray(values, dtype="<f8" if field.kind == "float64" else "<i8")
