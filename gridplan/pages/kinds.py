"""What a column holds, how Parquet stores it, and how its extremes are ordered and written."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.pages.kind import Kind

__all__ = ["COMPRESSION", "PHYSICAL", "Field", "Kind", "Value", "extremes", "plain"]

Value = float | int | bool | bytes
"""One value of a column; text as UTF-8."""

PHYSICAL: Mapping[Kind, int] = {"bool": 0, "int64": 2, "float64": 5, "string": 6}
"""Parquet's physical types: BOOLEAN, INT64, DOUBLE, BYTE_ARRAY (fact, parquet.thrift, enum Type)."""

COMPRESSION: Mapping[str, int] = {"none": 0, "snappy": 1, "zstd": 6}
"""Parquet's codecs (fact, parquet.thrift, enum CompressionCodec)."""

LONGEST_EXTREME = 4096
"""Longest text kept as a statistic [bytes] (policy, that of Arrow's writer)."""

_DOUBLE, _INT64 = struct.Struct("<d"), struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a file: its name, what it holds, and the labels that the codes of a text column stand for."""

    name: str
    kind: Kind
    labels: tuple[str, ...] = ()


def plain(kind: Kind, value: Value) -> bytes:
    """A value as statistics hold it: PLAIN, text without its length."""
    if isinstance(value, bytes):
        return value
    if kind == "bool":
        return b"\1" if value else b"\0"
    return _DOUBLE.pack(value) if kind == "float64" else _INT64.pack(value)


def extremes(kind: Kind, values: npt.NDArray[Any], labels: Sequence[bytes]) -> tuple[Value, Value] | None:
    """The smallest and the largest of values that are not null; None without any, and for text too long to keep.

    Text is given as codes and ordered by its bytes. Zeros have a sign in doubles, and readers may compare either way:
    the smallest is written as -0.0, the largest as 0.0 (parquet.thrift, TypeDefinedOrder).
    """
    if not values.size:
        return None
    if kind == "string":
        used = [labels[code] for code in np.flatnonzero(np.bincount(values.ravel(), minlength=len(labels))).tolist()]
        least, most = min(used), max(used)
        return (least, most) if max(len(least), len(most)) <= LONGEST_EXTREME else None
    low, high = values.min().item(), values.max().item()
    return (low or -0.0, high or 0.0) if kind == "float64" else (low, high)
