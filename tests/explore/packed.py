"""Boxes as a page reads them: written from the description of the format alone, and nothing but JSON, struct, NumPy."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Unpacked", "unpacked"]


@dataclass(frozen=True)
class Unpacked:
    """A box: `columns` has numbers as float64 with NaN for null, and text as objects with None for null."""

    start: list[int]
    size: list[int]
    columns: dict[str, np.ndarray]
    kinds: dict[str, str]


def unpacked(data: bytes) -> Unpacked:
    """What the bytes say; a byte that is outside of all arrays must be zero."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length].decode("utf-8"))
    first = (4 + length + 7) // 8 * 8
    assert not any(data[4 + length : first])
    used = first

    def array(kind: str, at: int, count: int) -> np.ndarray:
        nonlocal used
        assert at % 8 == 0
        begin = first + at
        assert begin == used, "arrays stand one after another"
        end = begin + count * int(kind[1])
        used = (end + 7) // 8 * 8
        assert not any(data[end:used])
        assert used <= len(data)
        return np.frombuffer(data, np.dtype(kind).newbyteorder("<"), count, begin)

    columns, kinds = dict[str, np.ndarray](), dict[str, str]()
    for about in header["columns"]:
        assert len(about["size"]) == len(header["size"])
        assert all(own in (1, whole) for own, whole in zip(about["size"], header["size"], strict=True))
        flat: Any = array(about["kind"], about["at"], int(np.prod(about["size"], dtype=int)))
        if "labels" in about:
            flat = np.array([*about["labels"], None], dtype=object)[flat]
        elif about["kind"] != "f8":
            flat = array("f8", about["table"], about["count"])[flat]
        columns[about["name"]] = flat.reshape(about["size"])
        kinds[about["name"]] = about["kind"]
    assert used == len(data)
    return Unpacked(header["start"], header["size"], columns, kinds)
