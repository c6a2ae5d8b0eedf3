"""A Parquet file, written row group by row group and hashed on the way.

Source: Apache Parquet, README.md ("File format") and parquet.thrift (FileMetaData, RowGroup, SchemaElement).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from gridplan.pages.chunk import Chunk, ChunkHead
from gridplan.pages.kinds import PHYSICAL, Field
from gridplan.pages.page import Page, PageMaker
from gridplan.pages.thrift import Struct

__all__ = ["FileSchema", "FileWriter"]

MAGIC = b"PAR1"

FORMAT_VERSION = 2
"""Files with the encodings of format 2 (fact, parquet.thrift, FileMetaData.version)."""

OPTIONAL, UTF8 = 1, 0
"""Every column may hold nulls, whether it does or not: all files of all cubes read as one data set (policy)."""

JOINED_BYTES = 2**20
"""Bytes that are written and hashed at once (policy): few calls, little memory."""

Place = tuple[int, int]
"""Where something lies in a file, and how many bytes it takes."""


class FileSchema:
    """What every file of a cube says alike: its columns, key-value metadata and writer."""

    def __init__(self, fields: Sequence[Field], metadata: Mapping[str, str], created_by: str, compression: str) -> None:
        self.fields = tuple(fields)
        self.heads = [ChunkHead(field, compression) for field in fields]
        root = Struct().binary(4, b"schema").i32(5, len(self.fields))
        elements = [root.done(), *(_element(field) for field in self.fields)]
        pairs = [Struct().binary(1, k.encode()).binary(2, v.encode()).done() for k, v in metadata.items()]
        # TypeDefinedOrder for every column, without which readers leave the extremes aside.
        orders = [Struct().struct(1, Struct()).done()] * len(self.fields)
        self.begins = Struct().i32(1, FORMAT_VERSION).structs(2, elements).begun()
        self.ends = Struct(last=4).structs(5, pairs).binary(6, created_by.encode()).structs(7, orders).done()

    def frames(self, tail: bytes) -> bool:
        """Whether a file with these last bytes says of itself what all of these files say; not when it is unclear."""
        length = int.from_bytes(tail[-8:-4], "little")
        footer = tail[-8 - length : -8]
        return len(footer) == length and footer.startswith(self.begins[0]) and footer.endswith(self.ends)


def _element(field: Field) -> bytes:
    said = Struct().i32(1, PHYSICAL[field.kind]).i32(3, OPTIONAL).binary(4, field.name.encode())
    if field.kind == "string":
        said.i32(6, UTF8).struct(10, Struct().struct(1, Struct()))
    return said.done()


class FileWriter:
    """One file, written to `sink` from its first byte to its last."""

    def __init__(self, sink: BinaryIO, schema: FileSchema, maker: PageMaker) -> None:
        self._sink, self._schema, self._maker = sink, schema, maker
        self._hash = hashlib.sha256()
        self._at = 0
        self._groups: list[_Group] = []
        self.rows = 0
        self._put(MAGIC)

    def _put(self, data: bytes) -> int:
        """Write `data`; returns where it begins."""
        start = self._at
        self._sink.write(data)
        self._hash.update(data)
        self._at += len(data)
        return start

    def _put_all(self, pieces: Sequence[bytes]) -> None:
        """Write pieces one behind the other, joined into few larger ones: each call hands the processor over."""
        waiting: list[bytes] = []
        size = 0
        for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= JOINED_BYTES:
                self._put(b"".join(waiting))
                waiting.clear()
                size = 0
        self._put(b"".join(waiting))

    def row_group(self, rows: int, columns: Sequence[Sequence[Page]]) -> None:
        """Write a row group of `rows` rows: the pages of every column, in the order of the schema."""
        group, written = _Group(rows, self._at), []
        for field, head, pages in zip(self._schema.fields, self._schema.heads, columns, strict=True):
            dictionary = self._maker.dictionary(field) if field.kind == "string" else None
            chunk = Chunk(head, pages, dictionary, group.start + group.bytes)
            written += [*((dictionary.data,) if dictionary else ()), *(page.data for page in pages)]
            group.add(chunk)
        self._put_all(written)
        self._groups.append(group)
        self.rows += rows

    def close(self) -> tuple[int, str]:
        """Write page indexes and footer; returns the size of the file [bytes] and its SHA-256."""
        extremes = [[self._index(data) for data in group.column_indexes] for group in self._groups]
        offsets = [[self._index(data) for data in group.offset_indexes] for group in self._groups]
        groups = [
            group.metadata(ordinal, offsets[ordinal], extremes[ordinal]) for ordinal, group in enumerate(self._groups)
        ]
        footer = Struct(*self._schema.begins).i64(3, self.rows).structs(4, groups).begun()[0] + self._schema.ends
        self._put(footer)
        self._put(len(footer).to_bytes(4, "little") + MAGIC)
        return self._at, self._hash.hexdigest()

    def _index(self, data: bytes | None) -> Place | None:
        return None if data is None else (self._put(data), len(data))


class _Group:
    """What is kept of a row group once its pages are in the file."""

    def __init__(self, rows: int, start: int) -> None:
        self.rows, self.start = rows, start
        self.raw_bytes = self.bytes = 0
        self.chunks: list[bytes] = []
        self.column_indexes: list[bytes | None] = []
        self.offset_indexes: list[bytes] = []

    def add(self, chunk: Chunk) -> None:
        self.raw_bytes += chunk.raw_bytes
        self.bytes += chunk.stored_bytes
        self.chunks.append(chunk.metadata())
        self.column_indexes.append(chunk.column_index)
        self.offset_indexes.append(chunk.offset_index())

    def metadata(self, ordinal: int, offsets: Sequence[Place | None], extremes: Sequence[Place | None]) -> Struct:
        """RowGroup, once it is known where the page indexes lie."""
        columns = []
        for chunk, place, bounds in zip(self.chunks, offsets, extremes, strict=True):
            said = Struct().i64(2, 0).whole(3, chunk)
            if place is not None:
                said.i64(4, place[0]).i32(5, place[1])
            if bounds is not None:
                said.i64(6, bounds[0]).i32(7, bounds[1])
            columns.append(said)
        said = Struct().structs(1, columns).i64(2, self.raw_bytes).i64(3, self.rows)
        said.i64(5, self.start).i64(6, self.bytes)
        # The number is 16 bits wide and may be left out.
        return said.i16(7, ordinal) if ordinal < 2**15 else said
