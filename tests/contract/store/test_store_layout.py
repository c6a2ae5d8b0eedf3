"""How a cube is cut, and which layouts are refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.errors import StoreError
from gridplan.store import AxisSpec, Block, Column, Layout, make_layout
from gridplan.store.blocks import cut
from gridplan.store.blocks import pieces as count
from gridplan.store.bounds import Bounds
from gridplan.store.layout import PAGE_ROWS

shapes = st.lists(st.integers(1, 6), min_size=0, max_size=4).map(tuple)


def numbered(shape: tuple[int, ...]) -> Layout:
    axes = [AxisSpec(f"a{at}", tuple(float(n) for n in range(size)), False, "1") for at, size in enumerate(shape)]
    return make_layout(axes, [])


@given(shapes, st.integers(1, 50))
def test_blocks_follow_each_other_in_row_order_and_cover_every_cell_once(shape: tuple[int, ...], rows: int) -> None:
    cells = np.arange(math.prod(shape)).reshape(shape)
    pieces = list(cut(Block((0,) * len(shape), shape), rows))
    assert np.concatenate([cells[piece.slices].ravel() for piece in pieces]).tolist() == list(range(cells.size))
    assert all(1 <= piece.rows <= rows for piece in pieces)
    assert len(pieces) == count(Block((0,) * len(shape), shape), rows)


@given(shapes.filter(lambda shape: math.prod(shape) > 1), st.integers(2, 50))
def test_no_piece_is_a_tiny_rest(shape: tuple[int, ...], rows: int) -> None:
    sizes = [piece.rows for piece in cut(Block((0,) * len(shape), shape), rows)]
    inner = next(cells for at in range(len(shape)) if (cells := math.prod(shape[at + 1 :])) <= rows)
    assert max(sizes) - min(sizes) <= inner


@given(shapes.filter(bool), st.integers(1, 50), st.data())
def test_parts_are_found_by_their_bounds(shape: tuple[int, ...], rows: int, data: st.DataObject) -> None:
    parts = numbered(shape).parts(rows)
    bounds = Bounds(parts, len(shape))
    ends = [sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2))) for size in shape]
    box = Block(tuple(start for start, _ in ends), tuple(stop for _, stop in ends))
    assert bounds.meeting(box) == [part.number for part in parts if part.block.meet(box)]
    among = {axis: data.draw(st.lists(st.integers(0, size - 1), unique=True)) for axis, size in enumerate(shape)}
    asked = {axis: sorted(wanted) for axis, wanted in among.items() if axis % 2 == 0}
    held = [
        part.number
        for part in parts
        if all(any(part.start[axis] <= at < part.stop[axis] for at in wanted) for axis, wanted in asked.items())
    ]
    assert bounds.holding(asked) == held


def test_cut_refuses_blocks_of_no_rows() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        list(cut(Block((0,), (3,)), 0))


@given(shapes.filter(bool), st.integers(1, 40), st.integers(1, 40))
def test_row_groups_cover_a_part_and_never_cross_an_outermost_label(
    shape: tuple[int, ...], rows_per_part: int, row_group_rows: int
) -> None:
    plain = numbered(shape)
    layout = Layout(plain.axes, plain.columns, row_group_rows)
    for part in layout.parts(rows_per_part):
        groups = list(layout.row_groups(part))
        assert all(group.shape[0] == 1 and group.rows <= row_group_rows for group in groups)
        assert sum(group.rows for group in groups) == part.rows


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        ((10, 7200), 250_000),
        ((8, 125, 1000), 250_000),
        ((10, 100, 1000, 100), 500_000),
        ((100, 100, 1000, 100), 2_000_000),
    ],
)
def test_a_larger_cube_has_more_files_until_they_are_large(shape: tuple[int, ...], rows: int) -> None:
    layout = numbered(shape)
    assert layout.rows_per_part == rows
    parts = layout.parts(rows)
    assert {part.rows for part in parts} == {min(rows, layout.cells)}
    assert parts[-1].file == f"facts/part-{len(parts) - 1:05}.parquet"
    assert layout.parts(None) == layout.parts(layout.cells)
    assert len(layout.parts(None)) == 1


@pytest.mark.parametrize(("measures", "rows"), [(0, 1_000_000), (29, 2**26 // (30 * 8)), (99, PAGE_ROWS)])
def test_wide_tables_have_smaller_row_groups_but_none_below_a_page(measures: int, rows: int) -> None:
    columns = [Column(f"m{number}", "measure", "float64", ("a",)) for number in range(measures)]
    layout = make_layout([AxisSpec("a", (1.0,), False, "1")], columns)
    assert layout.row_group_rows == rows


def test_columns_come_as_axes_ranks_coordinates_measures() -> None:
    axes = [AxisSpec("gpu", ("b", "a"), True, "label"), AxisSpec("tensor_parallel", (1.0, 2.0), False, "GPUs")]
    columns = [
        Column("speed", "measure", "float64", ("gpu",)),
        Column("kv_dtype", "coord", "string", ("gpu",), ("bf16", "fp8")),
    ]
    layout = make_layout(axes, columns, ranked=["kv_dtype"])
    named = [(column.name, column.role, column.dtype, column.dims) for column in layout.columns]
    assert named == [
        ("gpu", "axis", "string", ("gpu",)),
        ("tensor_parallel", "axis", "int64", ("tensor_parallel",)),  # the dictionary counts GPUs in int64
        ("gpu_rank", "rank", "int64", ("gpu",)),
        ("kv_dtype_rank", "rank", "int64", ("gpu",)),
        ("kv_dtype", "coord", "string", ("gpu",)),
        ("speed", "measure", "float64", ("gpu",)),
    ]
    assert layout.column("gpu").meta["long_name"] == "accelerator"


AXIS = AxisSpec("gpu", ("a", "b"), True, "label")


@pytest.mark.parametrize(
    ("axes", "columns", "said"),
    [
        ([AXIS], [Column("GPU", "measure", "float64", ())], "column names gpu, GPU repeat or differ only in case"),
        ([AXIS], [Column("gpu_rank", "coord", "int64", ())], "column names gpu_rank, gpu_rank repeat"),
        ([AXIS], [Column("tokens/s", "measure", "float64", ())], "'tokens/s' is not a plain identifier"),
        ([AXIS], [Column("x", "measure", "float64", ("rho",))], "has dims ('rho',), not axes in the order ('gpu',)"),
        ([AXIS], [Column("x", "measure", "float32", ())], "dtype 'float32'"),
        ([AXIS], [Column("x", "measure", "float64", (), ("a",))], "is not text but has categories"),
        ([AXIS], [Column("x", "measure", "string", (), ("a", "a"))], "column x repeats a category"),
        ([AXIS], [Column("x", "measure", "string", (), ("\ud800",))], "not valid Unicode"),
        ([AxisSpec("gpu", ("a", "a"), True, "")], [], "axis gpu repeats 'a'"),
        ([AxisSpec("gpu", (), True, "")], [], "axis gpu has no labels"),
        ([AxisSpec("gpu", ("a", 2.0), True, "")], [], "axis gpu is text but has the label 2.0"),
        ([AxisSpec("rho", (0.5, math.nan), False, "")], [], "axis rho has labels that are not finite numbers: nan"),
        ([AxisSpec("tensor_parallel", (1.0, 1.5), False, "")], [], "counts in whole numbers but has 1.5"),
    ],
)
def test_what_cannot_be_stored_is_refused(axes: list[AxisSpec], columns: list[Column], said: str) -> None:
    with pytest.raises(StoreError) as caught:
        make_layout(axes, columns)
    assert said in str(caught.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(StoreError) as caught:
        make_layout([AxisSpec("gpu", ("a", "a"), True, "")], [Column("GPU", "measure", "float64", ("nowhere",))])
    assert len(str(caught.value).splitlines()) == 3


def test_axes_out_of_order_are_refused() -> None:
    axes = (AxisSpec("a", (1.0,), False, ""), AxisSpec("b", (1.0,), False, ""))
    columns = make_layout(axes, []).columns
    with pytest.raises(StoreError, match="axis columns are"):
        Layout(axes, tuple(itertools.chain(reversed(columns))))
    with pytest.raises(StoreError, match="not axes in the order"):
        make_layout(axes, [Column("x", "measure", "float64", ("b", "a"))])
    with pytest.raises(StoreError, match="must come as axes, ranks"):
        Layout(axes, (Column("x", "measure", "float64", ()), *columns))
    with pytest.raises(StoreError, match="needs a text column"):
        Layout(axes, (*columns, Column("a_rank", "rank", "int64", ("a",))))


def test_a_table_without_columns_is_refused() -> None:
    with pytest.raises(StoreError, match="at least one column"):
        make_layout([], [])


def test_many_labels_of_few_rows_share_row_groups() -> None:
    few, many, large = numbered((64, 100)), numbered((65, 100)), numbered((65, 8_192))
    assert [len(list(cube.row_groups(cube.parts(None)[0]))) for cube in (few, many, large)] == [64, 1, 65]
