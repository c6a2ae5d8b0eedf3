"""A box as bytes that a page reads: a header in JSON, then arrays of numbers, little-endian, each at a multiple of 8.

The first four bytes are the length of the header. It has the positions where the box begins (`start`), its labels
along each axis (`size`) and for each column `size` (1 along axes on which it does not depend), `kind` and `at` (of its
array, from the first multiple of 8 after the header). Kind `f8` is numbers, NaN for null; `u1`, `u2` and `u4` are
places in a table: that of a text is `labels`, that of numbers an array of `count` numbers at `table`. The place after
the last label is null.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.explore.box import Box

__all__ = ["pack"]

_SMALL: tuple[tuple[int, str], ...] = ((2**8, "u1"), (2**16, "u2"), (2**32, "u4"))


def pack(box: Box, compact: bool = False) -> bytes:
    """The bytes of a box; `compact` writes each distinct number once, which takes longer and less room."""
    heap = _Heap()
    columns = []
    for column in box.columns:
        array = box.arrays[column.name]
        about: dict[str, Any] = {"name": column.name, "size": list(array.shape)}
        if column.dtype == "string":
            codes = np.where(array < 0, len(column.categories), array)
            about |= heap.places(codes, len(column.categories) + 1) | {"labels": list(column.categories)}
        elif compact:
            about |= _compact(heap, array)
        else:
            about |= {"kind": "f8", "at": heap.add(array.astype("<f8", copy=False))}
        columns.append(about)
    header = json.dumps({"start": list(box.start), "size": list(box.shape), "columns": columns}, ensure_ascii=False)
    head = struct.pack("<I", len(header.encode())) + header.encode()
    return _padded(head) + b"".join(heap.pieces)


def _compact(heap: _Heap, array: npt.NDArray[Any]) -> dict[str, Any]:
    """Numbers as places in a table of the distinct ones, where that is shorter."""
    distinct, places = np.unique(array, return_inverse=True)
    kind = next(kind for most, kind in _SMALL if len(distinct) <= most)
    if len(distinct) * 8 + array.size * int(kind[1]) >= array.size * 8:
        return {"kind": "f8", "at": heap.add(array.astype("<f8", copy=False))}
    about = heap.places(places, len(distinct))
    return about | {"table": heap.add(distinct.astype("<f8")), "count": len(distinct)}


class _Heap:
    """Arrays one after another, each at a multiple of 8."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.length = 0

    def add(self, array: npt.NDArray[Any]) -> int:
        """Append an array and say where it begins."""
        at, piece = self.length, _padded(np.ascontiguousarray(array).tobytes())
        self.pieces.append(piece)
        self.length += len(piece)
        return at

    def places(self, codes: npt.NDArray[Any], count: int) -> dict[str, Any]:
        """Append places among `count` in as few bytes as they take."""
        kind = next(kind for most, kind in _SMALL if count <= most)
        return {"kind": kind, "at": self.add(codes.astype(f"<{kind}"))}


def _padded(piece: bytes) -> bytes:
    return piece + b"\0" * (-len(piece) % 8)
