"""A slice of a stored cube is what the whole cube holds there, read from the files that hold it and no others."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from gridplan.errors import ContractError, StoreError
from gridplan.store import AxisSpec, Column, Layout, make_layout, open_cube
from gridplan.store.reader import read_rows, stored_part

AXES = (
    AxisSpec("gpu", ("h100", "a100", "H100"), True, "label"),
    AxisSpec("rho_target", (0.1, 0.3, 1.0, 1e-9), False, "1"),
    AxisSpec("tensor_parallel", (8.0, 1.0), False, "GPUs"),
    AxisSpec("context", ("128k", "16k", "7"), True, "label"),
)


def same(slice_: xr.Dataset, cube: xr.Dataset, index: Mapping[str, int]) -> None:
    """Assert that a slice is that of the cube: values, attrs, dtypes, order, None where there is no label."""
    expected = cube.isel({name: [place] for name, place in index.items()})
    xr.testing.assert_identical(slice_, expected)
    assert list(slice_.variables) == list(expected.variables)
    assert list(slice_.coords) == list(expected.coords)
    for name, item in expected.variables.items():
        assert slice_[name].dtype == item.dtype
        assert slice_[name].dims == item.dims
        if item.dtype == object:
            assert slice_[name].values.tolist() == item.values.tolist()


@st.composite
def asked(draw: st.DrawFn) -> tuple[Layout, dict[str, np.ndarray], dict[str, int]]:
    """Axes in any order, a column of each type on every subset of them, and a position on some of the axes."""
    axes = draw(st.permutations(AXES))[: draw(st.integers(0, 4))]
    names = [axis.name for axis in axes]
    subsets = [dims for size in range(len(names) + 1) for dims in itertools.combinations(names, size)]
    columns = [
        Column(
            f"{dtype}_of_{'_'.join(dims)}", role, dtype, dims, ("yes", "no") if dtype == "string" else (), {"unit": "1"}
        )
        for dims in subsets
        for dtype, role in (("string", "coord"), ("string", "measure"), ("float64", "measure"), ("bool", "coord"))
        if draw(st.booleans())
    ]
    columns = list(
        {column.name: column for column in [*columns, Column("x", "measure", "int64", tuple(names))]}.values()
    )
    plain = make_layout(
        axes, columns, [column.name for column in columns if column.role == "coord" and column.categories]
    )
    layout = Layout(plain.axes, plain.columns, draw(st.integers(2, 30)))
    rng, arrays = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), {}
    for column in layout.given:
        shape = tuple(size if dim in column.dims else 1 for dim, size in zip(layout.dims, layout.shape, strict=True))
        values = rng.integers(0, 2, shape)
        null = rng.random(shape) < 0.3
        arrays[column.name] = np.where(null, -1, values) if column.categories else np.where(null, np.nan, values + 0.0)
    index = {axis.name: draw(st.integers(0, len(axis.labels) - 1)) for axis in axes if draw(st.booleans())}
    return layout, arrays, index


@settings(max_examples=40, deadline=None)
@given(asked(), st.integers(2, 80))
def test_any_slice_is_that_of_the_whole_cube(
    cube_type: Any, drawn: tuple[Layout, dict[str, np.ndarray], dict[str, int]], rows_per_part: int
) -> None:
    layout, arrays, index = drawn
    labels = {axis.name: axis.labels[index[axis.name]] for axis in layout.axes if axis.name in index}
    with tempfile.TemporaryDirectory() as name:
        folder = cube_type(layout, arrays).write(Path(name), rows_per_part)
        same(open_cube(folder, at=labels), open_cube(folder), index)
        same(open_cube(folder, ["x"], labels), open_cube(folder, ["x"]), index)


def test_every_slice_of_the_sample_with_labels_as_text(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    cube = open_cube(folder)
    for place in itertools.product(*([None, *range(size)] for size in sample.layout.shape)):
        index = {dim: at for dim, at in zip(sample.layout.dims, place, strict=True) if at is not None}
        same(open_cube(folder, at={dim: str(cube[dim].values[at]) for dim, at in index.items()}), cube, index)


def test_a_number_is_found_through_the_noise_of_floats(cube_type: Any, tmp_path: Path) -> None:
    layout = make_layout([AXES[1]], [Column("x", "measure", "float64", ("rho_target",))])
    folder = cube_type(layout, {"x": np.arange(4.0)}).write(tmp_path)
    assert open_cube(folder, at={"rho_target": 0.1 + 0.2})["x"].values.tolist() == [1.0]
    assert open_cube(folder, at={"rho_target": "1e-9"})["rho_target"].values.tolist() == [1e-9]


def test_only_files_and_rows_of_the_slice_are_read(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sample.write(tmp_path, rows_per_part=6)  # one file a GPU
    files, rows = [], []

    def opened(folder: Path, layout: Layout, part: Any) -> Any:
        files.append(part.start[0])
        return stored_part(folder, layout, part)

    def read(file: Any, column: Column, group: int, needed: int) -> Any:
        rows.append((column.name, needed))
        return read_rows(file, column, group, needed)

    monkeypatch.setattr("gridplan.store.reader.stored_part", opened)
    monkeypatch.setattr("gridplan.store.reader.read_rows", read)
    found = open_cube(folder, ["replicas", "headroom"], {"gpu": "a100", "rho_target": 0.5})
    assert dict(found.sizes) == {"gpu": 1, "rho_target": 1, "context": 2}
    assert files == [1]
    # Labels that no axis of the slice changes are read where the slice lies, not in the file of the first label.
    assert dict(rows) == {"model": 1, "vendor": 1, "replicas": 2, "headroom": 1}


def test_what_is_not_there_is_said_all_at_once_with_what_is_near(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    with pytest.raises(ContractError) as error:
        open_cube(folder, at={"rho_target": 0.8, "gpu": "h10", "contxt": "16k"})
    said = str(error.value)
    assert "gpu: h10 is not on the axis: h100, a100, H100 (did you mean h100" in said
    assert "rho_target: 0.8 is not on the axis: 0.5, 0.7, 1 (nearest: 0.7, 1)" in said
    assert "contxt is not an axis of this grid (did you mean context" in said
    with pytest.raises(ContractError, match="replicas is not an axis"):
        open_cube(folder, at={"replicas": 1})
    with pytest.raises(StoreError, match=r"no 'replica' \(did you mean replicas"):
        open_cube(folder, ["replica"], {"gpu": "h100"})
