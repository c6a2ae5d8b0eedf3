"""Column chunks: the pages of one column in one row group, and what the footer and the page index say of them.

Source: Apache Parquet, parquet.thrift (ColumnMetaData, Statistics, ColumnIndex, OffsetIndex) and PageIndex.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridplan.pages.kinds import COMPRESSION, PHYSICAL, Field, Value, plain
from gridplan.pages.page import DATA_PAGE, DICTIONARY_PAGE, PLAIN, RLE, RLE_DICTIONARY, Dictionary, Page
from gridplan.pages.thrift import Struct

__all__ = ["Chunk"]

UNORDERED, ASCENDING, DESCENDING = 0, 1, 2
"""How the extremes of pages follow each other (fact, parquet.thrift, enum BoundaryOrder)."""


@dataclass(frozen=True)
class Chunk:
    """One column of one row group, written from byte `start` of the file on."""

    field: Field
    pages: Sequence[Page]
    dictionary: Dictionary | None
    start: int

    @property
    def stored_bytes(self) -> int:
        """Bytes in the file."""
        return sum(len(page.data) for page in self.pages) + (len(self.dictionary.data) if self.dictionary else 0)

    @property
    def raw_bytes(self) -> int:
        """Bytes before compression, headers included."""
        return sum(page.raw_bytes for page in self.pages) + (self.dictionary.raw_bytes if self.dictionary else 0)

    def metadata(self, compression: str) -> Struct:
        """ColumnMetaData."""
        own = RLE_DICTIONARY if self.dictionary else PLAIN
        said = (
            Struct()
            .i32(1, PHYSICAL[self.field.kind])
            .i32s(2, (PLAIN, RLE, RLE_DICTIONARY) if self.dictionary else (PLAIN, RLE))
            .binaries(3, (self.field.name.encode(),))
            .i32(4, COMPRESSION[compression])
            .i64(5, sum(page.rows for page in self.pages))
            .i64(6, self.raw_bytes)
            .i64(7, self.stored_bytes)
            .i64(9, self._first_page)
        )
        counts = [(DATA_PAGE, own, len(self.pages))]
        if self.dictionary:
            said.i64(11, self.start)
            counts.insert(0, (DICTIONARY_PAGE, PLAIN, 1))
        said.struct(12, self._statistics())
        return said.structs(13, (Struct().i32(1, a).i32(2, b).i32(3, c) for a, b, c in counts))

    @property
    def _first_page(self) -> int:
        return self.start + (len(self.dictionary.data) if self.dictionary else 0)

    def _statistics(self) -> Struct:
        nulls = sum(page.nulls for page in self.pages)
        said = Struct().i64(3, nulls)
        known = [page.extremes for page in self.pages if page.extremes is not None]
        if known and self._complete:
            kind = self.field.kind
            least, most = min(low for low, _ in known), max(high for _, high in known)
            said.binary(5, plain(kind, most)).binary(6, plain(kind, least)).flag(7, True).flag(8, True)
        return said

    @property
    def _complete(self) -> bool:
        """Whether the extremes of every page with a value are known."""
        return all(page.extremes is not None or page.nulls == page.rows for page in self.pages)

    def column_index(self) -> bytes | None:
        """ColumnIndex, the extremes and nulls of every page; None where some are not known."""
        if not self._complete:
            return None
        kind = self.field.kind
        bounds = [page.extremes for page in self.pages]
        known = [pair for pair in bounds if pair is not None]
        return (
            Struct()
            .flags(1, (pair is None for pair in bounds))
            .binaries(2, (plain(kind, pair[0]) if pair else b"" for pair in bounds))
            .binaries(3, (plain(kind, pair[1]) if pair else b"" for pair in bounds))
            .i32(4, _order(known))
            .i64s(5, (page.nulls for page in self.pages))
            .done()
        )

    def offset_index(self) -> bytes:
        """OffsetIndex, where every page lies."""
        places, at, row = [], self._first_page, 0
        for page in self.pages:
            places.append(Struct().i64(1, at).i32(2, len(page.data)).i64(3, row))
            at += len(page.data)
            row += page.rows
        return Struct().structs(1, places).done()


def _order(bounds: Sequence[tuple[Value, Value]]) -> int:
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    if lows == sorted(lows) and highs == sorted(highs):
        return ASCENDING
    if lows == sorted(lows, reverse=True) and highs == sorted(highs, reverse=True):
        return DESCENDING
    return UNORDERED
