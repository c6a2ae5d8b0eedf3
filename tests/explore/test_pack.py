"""Boxes as bytes: a reader that knows the description of the format alone gives every value back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from packed import unpacked

from gridplan.explore.box import Box
from gridplan.explore.pack import pack
from gridplan.store.columns import AxisSpec, Column

LABELS = ("ok", "集群一号", "عنقود", "\N{ROCKET}", "</script><img src=x>", 'a"b\\c', "\u2028", "")


def box_of(shape: tuple[int, ...], start: tuple[int, ...], columns: dict[str, tuple[np.ndarray, Any]]) -> Box:
    """A box of any columns: numbers have no categories (None)."""
    axes = tuple(AxisSpec(f"a{i}", tuple(float(at) for at in range(size)), False, "1") for i, size in enumerate(shape))
    specs = tuple(
        Column(name, "measure", "float64" if labels is None else "string", (), labels or ())
        for name, (_, labels) in columns.items()
    )
    return Box(axes, specs, {name: array for name, (array, _) in columns.items()}, start)


def same(found: np.ndarray, array: np.ndarray, labels: tuple[str, ...] | None) -> bool:
    """Whether all values came back: numbers to the bit but for NaN, which is null whatever its bits."""
    if labels is not None:
        due = [None if code < 0 else labels[code] for code in array.ravel()]
        return found.shape == array.shape and found.ravel().tolist() == due
    gone = np.isnan(array)
    alike = found.astype(float).view(np.uint64) == array.astype(float).view(np.uint64)
    return found.shape == array.shape and bool((np.where(gone, np.isnan(found), alike)).all())


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    shape = tuple(draw(st.lists(st.integers(1, 5), max_size=4)))
    start = tuple(draw(st.lists(st.integers(0, 10**6), min_size=len(shape), max_size=len(shape))))
    columns: dict[str, tuple[np.ndarray, Any]] = {}
    for place in range(draw(st.integers(0, 4))):
        own = tuple(size if draw(st.booleans()) else 1 for size in shape)
        if draw(st.booleans()):
            labels = tuple(draw(st.lists(st.text(max_size=8), unique=True, max_size=6)))
            array = draw(hnp.arrays(np.int32, own, elements=st.integers(-1, len(labels) - 1)))
            columns[f"c{place}"] = array, labels
        else:
            few = st.sampled_from([np.nan, 0.0, 1.0, 1e-300, 5e-324, 2.0**53, -3.5])
            columns[f"c{place}"] = draw(hnp.arrays(np.float64, own, elements=st.one_of(st.floats(), few))), None
    return box_of(shape, start, columns)


@settings(max_examples=25)  # a box takes a tenth of a second to be drawn
@given(box=boxes(), compact=st.booleans())
def test_every_value_comes_back(box: Box, compact: bool) -> None:
    found = unpacked(pack(box, compact))
    assert (found.start, found.size) == (list(box.start), list(box.shape))
    assert list(found.columns) == [column.name for column in box.columns]
    for column in box.columns:
        labels = column.categories if column.dtype == "string" else None
        array = box.arrays[column.name]
        # Minus nought is nought to whoever reads a plan; in a table of distinct numbers they are one.
        if compact and labels is None:
            array = array + 0.0
            found.columns[column.name] = found.columns[column.name] + 0.0
        assert same(found.columns[column.name], array, labels)


@pytest.mark.parametrize(
    ("distinct", "kind"), [(1, "u1"), (255, "u1"), (256, "u1"), (257, "u2"), (2**16, "u2"), (2**16 + 1, "u4")]
)
def test_places_take_as_few_bytes_as_they_need(distinct: int, kind: str) -> None:
    """Numbers and labels; one place more is null among labels."""
    array = np.resize(np.arange(distinct, dtype=float), 3 * distinct + 24)
    codes = np.resize(np.arange(-1, distinct - 1), 3 * distinct + 24).astype(np.int32)
    labels = tuple(map(str, range(distinct - 1)))
    found = unpacked(pack(box_of(array.shape, (0,), {"number": (array, None), "text": (codes, labels)}), compact=True))
    assert found.kinds == {"number": kind, "text": kind}
    assert same(found.columns["number"], array, None)
    assert same(found.columns["text"], codes, labels)


def test_numbers_that_are_all_distinct_stay_as_they_are() -> None:
    array = np.linspace(0.1, 7.3, 1000)
    box = box_of((1000,), (0,), {"number": (array, None)})
    assert unpacked(pack(box, compact=True)).kinds == {"number": "f8"}
    assert pack(box, compact=True) == pack(box)


def test_numbers_that_repeat_take_less_room() -> None:
    array = np.resize([1.5, np.nan, 2.5], (40, 50))
    box = box_of((40, 50), (0, 0), {"number": (array, None)})
    assert len(pack(box)) > 8 * array.size
    assert len(pack(box, compact=True)) < 2 * array.size


@pytest.mark.parametrize("compact", [False, True])
def test_one_cell_and_no_axis(compact: bool) -> None:
    codes = np.array(2, dtype=np.int32)
    found = unpacked(pack(box_of((), (), {"n": (np.array(np.nan), None), "t": (codes, LABELS)}), compact))
    assert (found.start, found.size) == ([], [])
    assert np.isnan(found.columns["n"])
    assert found.columns["t"].item() == "عنقود"


def test_labels_of_any_script_and_null() -> None:
    codes = np.array([*range(len(LABELS)), -1], dtype=np.int32)
    found = unpacked(pack(box_of((len(codes),), (3,), {"t": (codes, LABELS)})))
    assert found.columns["t"].tolist() == [*LABELS, None]


def test_a_column_of_nulls_alone() -> None:
    found = unpacked(pack(box_of((2,), (0,), {"t": (np.array([-1, -1], np.int32), ())})))
    assert found.columns["t"].tolist() == [None, None]


def test_codes_of_any_width_and_order_in_memory() -> None:
    codes = np.asfortranarray(np.array([[0, 1, -1], [2, 3, 4]], dtype=np.int64))
    number = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for compact in (False, True):
        found = unpacked(pack(box_of((2, 3), (0, 0), {"t": (codes, LABELS), "n": (number, None)}), compact))
        assert same(found.columns["t"], codes, LABELS)
        assert same(found.columns["n"], number, None)
