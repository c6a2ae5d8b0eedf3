"""Parquet's RLE and bit-packing hybrid, for definition levels and dictionary indices.

Source: Apache Parquet, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.pages.thrift import varint

__all__ = ["hybrid", "run"]

MOST_RUNS = 256
"""Runs up to which they are written one by one (policy): beyond that packing all values at once is quicker."""

SHORTEST_RUN = 16
"""Mean length from which runs are worth it (policy): a run of 16 values takes no more bytes than they take packed."""

_UNSIGNED = {1: np.uint8, 2: np.uint16, 3: np.uint32, 4: np.uint32}


def run(value: int, count: int, width: int) -> bytes:
    """`value`, `count` times over, as one run of values of `width` bits.

    >>> run(1, 200, width=1).hex()
    '900301'
    """
    return varint(count << 1) + value.to_bytes(-(-width // 8), "little")


def hybrid(values: npt.NDArray[Any], width: int, repeat: int = 1) -> bytes:
    """A 1-d array of whole numbers of at most `width` bits, each `repeat` times: all as runs, or all bit-packed.

    >>> hybrid(np.array([3, 0]), width=2, repeat=100).hex(), hybrid(np.arange(8), width=3).hex()
    ('c80103c80100', '0388c6fa')
    """
    if not values.size:
        return b""
    changes = np.flatnonzero(values[1:] != values[:-1])
    count = values.size * repeat
    if not changes.size or (changes.size < MOST_RUNS and (changes.size + 1) * SHORTEST_RUN <= count):
        ends = [*(changes + 1).tolist(), values.size]
        starts = [0, *ends[:-1]]
        own = values[starts].tolist()
        return b"".join(run(v, (end - start) * repeat, width) for v, start, end in zip(own, starts, ends, strict=True))
    groups = -(-count // 8)
    return varint(groups << 1 | 1) + _packed(np.repeat(values, repeat) if repeat > 1 else values, width, groups)


def _packed(values: npt.NDArray[Any], width: int, groups: int) -> bytes:
    """Groups of eight values, lowest bits first, the last group filled up with zeros."""
    if width == 1:
        return np.packbits(values.astype(np.bool_, copy=False), bitorder="little").tobytes()
    unsigned = _UNSIGNED[-(-width // 8)]
    whole = np.zeros(groups * 8, dtype=unsigned)
    whole[: values.size] = values
    stored = whole.astype(whole.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    bits = np.unpackbits(stored, bitorder="little").reshape(whole.size, -1)[:, :width]
    return np.packbits(bits, bitorder="little").tobytes()
