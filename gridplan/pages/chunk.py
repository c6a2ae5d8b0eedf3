"""Column chunks: the pages of one column in one row group, and what the footer and the page index say of them.

Source: Apache Parquet, parquet.thrift (ColumnMetaData, Statistics, ColumnIndex, OffsetIndex) and PageIndex.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

from gridplan.pages.kinds import COMPRESSION, PHYSICAL, Field, Value, plain
from gridplan.pages.page import DATA_PAGE, DICTIONARY_PAGE, PLAIN, RLE, RLE_DICTIONARY, Dictionary, Page
from gridplan.pages.thrift import Struct

__all__ = ["Chunk", "ChunkHead"]

UNORDERED, ASCENDING, DESCENDING = 0, 1, 2
"""How the extremes of pages follow each other (fact, parquet.thrift, enum BoundaryOrder)."""


class _Said(NamedTuple):
    """What is said of some pages wherever they lie in the file."""

    stored_bytes: int
    raw_bytes: int
    before: tuple[bytes, int]
    after: bytes
    column_index: bytes | None


class ChunkHead:
    """What all chunks of one column have in common; it remembers what it said of the last pages.

    Where a column does not depend on the axes that blocks are cut along, chunk after chunk has the same pages.
    """

    def __init__(self, field: Field, compression: str) -> None:
        self.kind, self.is_text = field.kind, field.kind == "string"
        self._begin = (
            Struct()
            .i32(1, PHYSICAL[field.kind])
            .i32s(2, (PLAIN, RLE, RLE_DICTIONARY) if self.is_text else (PLAIN, RLE))
            .binaries(3, (field.name.encode(),))
            .i32(4, COMPRESSION[compression])
            .begun()
        )
        self._pages: Sequence[Page] = ()
        self._said: _Said | None = None

    def said(self, pages: Sequence[Page]) -> _Said:
        """What is said of `pages`."""
        same = len(pages) == len(self._pages) and all(map(is_, pages, self._pages))
        if self._said is None or not same:
            self._said, self._pages = self._say(pages), list(pages)
        return self._said

    def _say(self, pages: Sequence[Page]) -> _Said:
        stored, raw = sum([len(page.data) for page in pages]), sum([page.raw_bytes for page in pages])
        bounds = [page.extremes for page in pages]
        # A page without extremes is one of nulls, or of text too long to keep; the latter leaves the chunk without.
        complete = all([pair is not None or page.nulls == page.rows for pair, page in zip(bounds, pages, strict=True)])
        known = [pair for pair in bounds if pair is not None] if complete else []
        # Between the two come the sizes and the places in the file, fields 6 to 9, and 11 with a dictionary.
        after = Struct(last=11 if self.is_text else 9)
        after.struct(12, self._statistics(pages, known)).structs(13, self._encodings(len(pages)))
        index = self._column_index(pages, known) if complete else None
        before = Struct(*self._begin).i64(5, sum([page.rows for page in pages])).begun()
        return _Said(stored, raw, before, after.begun()[0], index)

    def _encodings(self, pages: int) -> list[Struct]:
        """PageEncodingStats of a chunk of so many data pages."""
        counts = [(DATA_PAGE, RLE_DICTIONARY if self.is_text else PLAIN, pages)]
        if self.is_text:
            counts.insert(0, (DICTIONARY_PAGE, PLAIN, 1))
        return [Struct().i32(1, kind).i32(2, encoding).i32(3, count) for kind, encoding, count in counts]

    def _statistics(self, pages: Sequence[Page], known: Sequence[tuple[Value, Value]]) -> Struct:
        said = Struct().i64(3, sum([page.nulls for page in pages]))
        if known:
            least, most = min([low for low, _ in known]), max([high for _, high in known])
            said.binary(5, plain(self.kind, most)).binary(6, plain(self.kind, least)).flag(7, True).flag(8, True)
        return said

    def _column_index(self, pages: Sequence[Page], known: Sequence[tuple[Value, Value]]) -> bytes:
        """ColumnIndex, the extremes and nulls of every page."""
        bounds = [
            pair and (plain(self.kind, pair[0]), plain(self.kind, pair[1])) for pair in (p.extremes for p in pages)
        ]
        return (
            Struct()
            .flags(1, [pair is None for pair in bounds])
            .binaries(2, [pair[0] if pair else b"" for pair in bounds])
            .binaries(3, [pair[1] if pair else b"" for pair in bounds])
            .i32(4, _order(known))
            .i64s(5, [page.nulls for page in pages])
            .done()
        )


class Chunk:
    """One column of one row group, written from byte `start` of the file on."""

    def __init__(self, head: ChunkHead, pages: Sequence[Page], dictionary: Dictionary | None, start: int) -> None:
        own, raw = (len(dictionary.data), dictionary.raw_bytes) if dictionary else (0, 0)
        self._head, self._pages, self._said = head, pages, head.said(pages)
        self._start, self._first_page = start, start + own
        self.stored_bytes = self._said.stored_bytes + own
        """Bytes in the file."""
        self.raw_bytes = self._said.raw_bytes + raw
        """Bytes before compression, headers included."""
        self.column_index = self._said.column_index
        """ColumnIndex; None where the extremes of some pages are not known."""

    def metadata(self) -> bytes:
        """ColumnMetaData."""
        said = Struct(*self._said.before).i64(6, self.raw_bytes).i64(7, self.stored_bytes).i64(9, self._first_page)
        if self._head.is_text:
            said.i64(11, self._start)
        return said.begun()[0] + self._said.after + b"\0"

    def offset_index(self) -> bytes:
        """OffsetIndex, where every page lies."""
        places, at, row = [], self._first_page, 0
        for page in self._pages:
            places.append(Struct().i64(1, at).i32(2, len(page.data)).i64(3, row))
            at += len(page.data)
            row += page.rows
        return Struct().structs(1, places).done()


def _order(bounds: Sequence[tuple[Value, Value]]) -> int:
    if len(bounds) < 2:
        return ASCENDING
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    if lows == sorted(lows) and highs == sorted(highs):
        return ASCENDING
    if lows == sorted(lows, reverse=True) and highs == sorted(highs, reverse=True):
        return DESCENDING
    return UNORDERED
