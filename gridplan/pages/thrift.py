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
    """A signed integer, its sign in the lowest bit."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    return _SHORT[number] if number < 128 else varint(number)


class Struct:
    """A struct as it is written, its fields given in rising order of their numbers.

    >>> Struct().i32(1, 7).binary(3, b"ab").done().hex()
    '150e2802616200'
    """

    __slots__ = ("_data", "_last")

    def __init__(self, data: bytes = b"", last: int = 0) -> None:
        """An empty struct, or one that begins with `data`, whose last field is number `last`."""
        self._data = bytearray(data)
        self._last = last

    def _head(self, field: int, kind: int) -> None:
        # A step of 1 to 15 from the field before stands in the upper half of the byte; Parquet's structs need no more.
        self._data.append(field - self._last << 4 | kind)
        self._last = field

    def _number(self, field: int, kind: int, value: int) -> Struct:
        self._head(field, kind)
        self._data += _zigzag(value)
        return self

    def i16(self, field: int, value: int) -> Struct:
        return self._number(field, _I16, value)

    def i32(self, field: int, value: int) -> Struct:
        return self._number(field, _I32, value)

    def i64(self, field: int, value: int) -> Struct:
        return self._number(field, _I64, value)

    def flag(self, field: int, value: bool) -> Struct:
        self._head(field, _TRUE if value else _FALSE)
        return self

    def binary(self, field: int, value: bytes) -> Struct:
        self._head(field, _BINARY)
        self._data += varint(len(value))
        self._data += value
        return self

    def struct(self, field: int, value: Struct) -> Struct:
        self._head(field, _STRUCT)
        self._data += value._data
        self._data.append(0)
        return self

    def whole(self, field: int, value: bytes) -> Struct:
        """A struct that is finished already."""
        self._head(field, _STRUCT)
        self._data += value
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
        return self._list(field, _FALSE, [b"\1" if value else b"\2" for value in values])

    def binaries(self, field: int, values: Iterable[bytes]) -> Struct:
        return self._list(field, _BINARY, [varint(len(value)) + value for value in values])

    def begun(self) -> tuple[bytes, int]:
        """What a struct that starts the same way begins with: its bytes so far and the number of its last field."""
        return bytes(self._data), self._last

    def done(self) -> bytes:
        """The whole struct, its end mark included."""
        return bytes(self._data) + b"\0"
