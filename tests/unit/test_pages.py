"""Parquet pages made from a cube's structure, held against Arrow's own writer and readers."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from gridplan.pages.file import FileSchema, FileWriter
from gridplan.pages.hybrid import hybrid
from gridplan.pages.kinds import Field
from gridplan.pages.page import PageMaker

ARROW = {"string": pa.string(), "float64": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
LABELS = ("b", "", "äöü", "B", "h100-sxm")


def written(fields: list[Field], groups: list[list[list[tuple[Any, Any, tuple[int, ...]]]]], compression: str) -> bytes:
    """A file of row groups, each a list of columns, each a list of (values, valid, shape) per page."""
    sink, maker = io.BytesIO(), PageMaker(compression)
    writer = FileWriter(sink, FileSchema(fields, {"key": "value"}, "test version 1", compression), maker)
    for columns in groups:
        pages = [[maker.page(field, *page) for page in own] for field, own in zip(fields, columns, strict=True)]
        writer.row_group(sum(page.rows for page in pages[0]), pages)
    size, digest = writer.close()
    data = sink.getvalue()
    assert (size, digest) == (len(data), hashlib.sha256(data).hexdigest())
    return data


def as_arrow(field: Field, values: Any, valid: Any, shape: tuple[int, ...]) -> pa.Array:
    """What the page must read back as."""
    flat = np.broadcast_to(values, shape).reshape(-1).tolist()
    known = [True] * len(flat) if valid is None else np.broadcast_to(valid, shape).reshape(-1).tolist()
    if field.kind == "string":
        flat = [field.labels[code] if ok else None for code, ok in zip(flat, known, strict=True)]
    return pa.array([v if ok else None for v, ok in zip(flat, known, strict=True)], ARROW[field.kind])


@st.composite
def columns(draw: st.DrawFn) -> tuple[Field, list[tuple[Any, Any, tuple[int, ...]]]]:
    """A column and its pages: values of any kind, of size 1 along some axes, null in some places."""
    kind = draw(st.sampled_from(["string", "float64", "int64", "bool"]))
    field = Field("x", kind, LABELS[: draw(st.integers(1, len(LABELS)))] if kind == "string" else ())
    elements: dict[str, st.SearchStrategy[Any]] = {
        "string": st.integers(0, max(0, len(field.labels) - 1)),
        "float64": st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0]),
        "int64": st.integers(-(2**53), 2**53),
        "bool": st.booleans(),
    }
    dtypes = {"string": np.int32, "float64": np.float64, "int64": np.int64, "bool": np.bool_}
    pages = []
    for _ in range(draw(st.integers(1, 3))):
        shape = tuple(draw(st.lists(st.integers(1, 7), min_size=0, max_size=4)))
        own = tuple(draw(st.sampled_from([1, size])) for size in shape)
        values = draw(hnp.arrays(dtypes[kind], own, elements=elements[kind]))
        valid = draw(st.none() | hnp.arrays(np.bool_, own))
        pages.append((values, valid, shape))
    return field, pages


@given(columns(), st.sampled_from(["zstd", "snappy", "none"]))
def test_any_column_reads_back_with_the_statistics_of_arrow(
    column: tuple[Field, list[tuple[Any, Any, tuple[int, ...]]]], compression: str
) -> None:
    field, pages = column
    data = written([field], [[pages]], compression)
    expected = pa.chunked_array([as_arrow(field, *page) for page in pages]).combine_chunks()
    with pq.ParquetFile(io.BytesIO(data)) as file:
        assert file.read().column("x").combine_chunks().equals(expected)
        mine = file.metadata.row_group(0).column(0)
        sink = io.BytesIO()
        pq.write_table(pa.table({"x": expected}), sink, use_dictionary=field.kind == "string", compression=compression)
        theirs = pq.read_metadata(sink).row_group(0).column(0)
        assert mine.statistics.null_count == theirs.statistics.null_count == expected.null_count
        assert mine.statistics.has_min_max == theirs.statistics.has_min_max
        assert (mine.statistics.min, mine.statistics.max) == (theirs.statistics.min, theirs.statistics.max)
        assert set(mine.encodings) == set(theirs.encodings)
        assert (mine.physical_type, mine.compression) == (theirs.physical_type, theirs.compression)
        assert (mine.num_values, mine.has_offset_index) == (theirs.num_values, True)
        if compression == "none":
            assert mine.total_uncompressed_size == mine.total_compressed_size


@given(hnp.arrays(np.int64, st.integers(1, 400), elements=st.integers(0, 300)), st.integers(1, 40))
def test_levels_and_indices_are_the_same_however_the_repetition_is_told(values: Any, repeat: int) -> None:
    assert hybrid(values, 9, repeat) == hybrid(np.repeat(values, repeat), 9)


@given(st.data())
def test_a_page_depends_on_its_rows_alone(data: st.DataObject) -> None:
    field, pages = data.draw(columns())
    values, valid, shape = pages[0]
    whole = np.broadcast_to(values, shape)
    known = None if valid is None else np.broadcast_to(valid, shape)
    maker = PageMaker("zstd")
    assert maker.page(field, values, valid, shape).data == maker.page(field, whole, known, shape).data


def test_a_page_made_before_is_used_again_for_any_column() -> None:
    maker = PageMaker("zstd")
    first = maker.page(Field("a", "float64"), np.array([[1.0], [2.0]]), None, (2, 500))
    assert maker.page(Field("b", "float64"), np.array([[1.0], [2.0]]), None, (2, 500)) is first
    assert maker.page(Field("b", "float64"), np.array([[1.0], [2.0]]), None, (2, 501)) is not first
    assert maker.page(Field("c", "int64"), np.array([[1], [2]]), None, (2, 500)) is not first


def test_pages_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.pages.page.KEPT_BYTES", 4_000)
    maker = PageMaker("none")
    for number in range(50):
        maker.page(Field("a", "float64"), np.array([[float(number)]]), None, (1, 100))
        assert sum(len(page.data) for page in maker._kept.values()) <= 4_000
    assert maker._kept


def test_the_page_index_says_where_each_page_is_and_what_it_holds() -> None:
    # Arrow's reader shows no page index, so this one is read by hand: the structs of parquet.thrift, field by field.
    rows = np.arange(30, dtype=np.float64)
    field = Field("x", "float64")
    pages = [(rows[at : at + 10], None, (10,)) for at in (0, 10, 20)]
    pages.append((np.zeros(10), np.zeros(10, dtype=np.bool_), (10,)))
    data = written([field], [[pages]], "zstd")
    chunk = Thrift(data[-8 - int.from_bytes(data[-8:-4], "little") : -8]).struct()[4][0][1][0]
    offsets = Thrift(data[chunk[4] : chunk[4] + chunk[5]]).struct()[1]
    extremes = Thrift(data[chunk[6] : chunk[6] + chunk[7]]).struct()
    assert [place[3] for place in offsets] == [0, 10, 20, 30]
    assert offsets[0][1] == chunk[3][9] == 4
    assert offsets[-1][1] + offsets[-1][2] - 4 == chunk[3][7]
    assert extremes[1] == [False, False, False, True]
    assert [np.frombuffer(low)[0] for low in extremes[2][:3]] == [-0.0, 10, 20]
    assert [np.frombuffer(high)[0] for high in extremes[3][:3]] == [9, 19, 29]
    assert extremes[4] == 1  # ascending
    assert extremes[5] == [0, 0, 0, 10]
    for place in offsets:
        header = Thrift(data[place[1] : place[1] + place[2]]).struct()
        assert (header[1], header[5][1], header[5][2]) == (0, 10, 0)


class Thrift:
    """Reads Thrift's compact protocol into dicts of field numbers; written from the specification for this test."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size : self.at]
        if kind == 9:
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            inner = head & 15
            return [self.byte() == 1 if inner in (1, 2) else self.value(inner) for _ in range(size)]
        assert kind == 12, kind
        return self.struct()

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number += head >> 4
            assert head >> 4, "fields far apart are not used here"
            fields[number] = self.value(head & 15)
        return fields


def test_text_too_long_for_a_statistic_has_none() -> None:
    field = Field("x", "string", ("a" * 5000, "b"))
    data = written([field], [[[(np.array([0, 1]), None, (2,))]]], "zstd")
    with pq.ParquetFile(io.BytesIO(data)) as file:
        chunk = file.metadata.row_group(0).column(0)
        assert not chunk.statistics.has_min_max
        assert not chunk.has_column_index
        assert file.read().column("x").to_pylist() == ["a" * 5000, "b"]


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256, 257, 70_000])
def test_dictionaries_of_any_size(count: int) -> None:
    field = Field("x", "string", tuple(f"label {number}" for number in range(count)))
    codes = np.random.default_rng(1).integers(0, count, 3_000).astype(np.int32)
    codes[-1] = count - 1
    data = written([field], [[[(codes, None, (3_000,))]]], "zstd")
    with pq.ParquetFile(io.BytesIO(data)) as file:
        assert file.read().column("x").to_pylist() == [field.labels[code] for code in codes]


def test_several_row_groups_and_columns() -> None:
    fields = [Field("a", "string", ("x", "y")), Field("b", "int64"), Field("c", "bool")]
    groups = []
    for number in range(3):
        shape = (2, 3)
        a = (np.array([[0], [1]]), None, shape)
        b = (np.arange(6).reshape(shape) + number, np.arange(6).reshape(shape) != number, shape)
        c = (np.array([[True, False, True]]), np.array([[True, True, False]]), shape)
        groups.append([[a], [b], [c]])
    data = written(fields, groups, "zstd")
    table = pq.read_table(io.BytesIO(data))
    assert table.num_rows == 18
    for at, field in enumerate(fields):
        parts = [as_arrow(field, *columns[at][0]) for columns in groups]
        assert table.column(field.name).to_pylist() == pa.chunked_array(parts).to_pylist()
    assert pq.read_metadata(io.BytesIO(data)).metadata == {b"key": b"value"}
