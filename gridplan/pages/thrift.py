"""Thrift's compact protocol, as far as Parquet's metadata needs it: structs are written, nothing is read.

Source: Apache Thrift, "Thrift compact protocol encoding" (doc/specs/thrift-compact-protocol.md).
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Struct", "varint"]

_TRUE, _FALSE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 4, 5, 6, 8, 9, 12

_SHORT = tuple(bytes((number,)) for number in range(128))


def varint(number: int) -> bytes:
    """An unsigned integer in groups of seven bits, lowest first.

    >>> varint(5).hex(), varint(300).hex()
    ('05', 'ac02')
    """
    if number < 128:
        return _SHORT[number]
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


class Struct:
    """A struct as it is written, its fields given in rising order of their numbers.

    >>> Struct().i32(1, 7).binary(3, b"ab").done().hex()
    '150e2802616200'
    """

    __slots__ = ("_data", "_last")

    def __init__(self) -> None:
        self._data = bytearray()
        self._last = 0

    def _head(self, field: int, kind: int) -> None:
        # A step of 1 to 15 from the field before stands in the upper half of the byte; Parquet's structs need no more.
        self._data.append(field - self._last << 4 | kind)
        self._last = field

    def i16(self, field: int, value: int) -> Struct:
        self._head(field, _I16)
        self._data += _zigzag(value)
        return self

    def i32(self, field: int, value: int) -> Struct:
        self._head(field, _I32)
        self._data += _zigzag(value)
        return self

    def i64(self, field: int, value: int) -> Struct:
        self._head(field, _I64)
        self._data += _zigzag(value)
        return self

    def flag(self, field: int, value: bool) -> Struct:
        self._head(field, _TRUE if value else _FALSE)
        return self

    def binary(self, field: int, value: bytes) -> Struct:
        self._head(field, _BINARY)
        self._data += varint(len(value)) + value
        return self

    def struct(self, field: int, value: Struct) -> Struct:
        self._head(field, _STRUCT)
        self._data += value.done()
        return self

    def _list(self, field: int, kind: int, items: list[bytes]) -> Struct:
        self._head(field, _LIST)
        size = len(items)
        self._data += bytes((size << 4 | kind,)) if size < 15 else bytes((0xF0 | kind,)) + varint(size)
        self._data += b"".join(items)
        return self

    def structs(self, field: int, values: Iterable[Struct | bytes]) -> Struct:
        """A list of structs, each as a Struct or as the bytes of a finished one."""
        return self._list(field, _STRUCT, [v if isinstance(v, bytes) else v.done() for v in values])

    def i32s(self, field: int, values: Iterable[int]) -> Struct:
        return self._list(field, _I32, [_zigzag(value) for value in values])

    def i64s(self, field: int, values: Iterable[int]) -> Struct:
        return self._list(field, _I64, [_zigzag(value) for value in values])

    def flags(self, field: int, values: Iterable[bool]) -> Struct:
        return self._list(field, _FALSE, [_SHORT[_TRUE if value else _FALSE] for value in values])

    def binaries(self, field: int, values: Iterable[bytes]) -> Struct:
        return self._list(field, _BINARY, [varint(len(value)) + value for value in values])

    def done(self) -> bytes:
        """The whole struct, its end mark included."""
        return bytes(self._data) + b"\0"
