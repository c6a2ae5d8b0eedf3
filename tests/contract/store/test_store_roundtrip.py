"""A cube read back is the cube that was written, whatever the order of axes, the types, the nulls and the cuts."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gridplan.errors import StoreError
from gridplan.store import (
    AxisSpec,
    Column,
    Layout,
    WriteOptions,
    dataset_from_arrays,
    make_layout,
    open_cube,
    verify_cube,
)
from gridplan.store.reader import read_rows

AWKWARD = ("7", "007", "a", "A", 'say "x"', "it's", "two\nlines", "ünïcode 漢字", "", " ", "None", "nan", "null", "a,b")


def test_the_sample_comes_back_identical(sample: Any, tmp_path: Path) -> None:
    back = open_cube(sample.write(tmp_path))
    xr.testing.assert_identical(back, sample.dataset())
    assert list(back.dims) == ["gpu", "rho_target", "context"]
    assert back["gpu"].values.tolist() == ["h100", "a100", "H100"]
    assert back["vendor"].dims == ("gpu",)
    assert back["vendor"].values.tolist() == ["NVIDIA", None, "other"]
    assert "vendor" in back.coords
    assert back["model"].dims == ()
    assert back["model"].item() == "llama-3-8b"
    assert back["headroom"].dims == ("rho_target",)
    assert back["replicas"].dtype == np.float64
    assert back["replicas"].attrs == {"unit": "count", "dtype": "int64"}
    assert back["replicas"].sel(gpu="h100", rho_target=0.7, context="128k").item() == 2.0**53
    assert back["usd_per_hour"].attrs == {"unit": "USD/h"}
    assert back.attrs == {"grid": "test", "cells": 3, "ratio": 0.7, "exact": True}


def test_variables_may_be_chosen(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    few = open_cube(folder, ["replicas"])
    xr.testing.assert_identical(few, sample.dataset()[["replicas"]].assign_coords(few.coords))
    assert {"vendor", "model"} <= set(few.coords)
    with pytest.raises(StoreError, match="did you mean replicas"):
        open_cube(folder, ["replica"])


def test_an_empty_choice_gives_the_coordinates(sample: Any, tmp_path: Path) -> None:
    assert list(open_cube(sample.write(tmp_path), []).data_vars) == []


def test_a_cube_without_axes_is_one_row(cube_type: Any, tmp_path: Path) -> None:
    columns = [Column("gpu", "coord", "string", (), ("h100",)), Column("x", "measure", "float64", ())]
    cube = cube_type(make_layout([], columns), {"gpu": np.array(0), "x": np.array(1.5)})
    back = open_cube(cube.write(tmp_path))
    xr.testing.assert_identical(back, cube.dataset())
    assert (back["gpu"].item(), back["x"].item()) == ("h100", 1.5)
    text = (tmp_path / "manifest.json").read_text()
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


def test_awkward_labels_survive(cube_type: Any, tmp_path: Path) -> None:
    columns = [Column("copy", "measure", "string", ("label",), AWKWARD)]
    layout = make_layout([AxisSpec("label", AWKWARD, True, "label")], columns)
    cube = cube_type(layout, {"copy": np.arange(len(AWKWARD))[::-1].copy()})
    back = open_cube(cube.write(tmp_path, rows_per_part=3))
    assert tuple(back["label"].values) == AWKWARD
    assert tuple(back["copy"].values) == AWKWARD[::-1]


def test_size_one_is_spread_along_the_dims_of_the_column(cube_type: Any, tmp_path: Path) -> None:
    layout = make_layout(
        [AxisSpec("a", (1.0, 2.0, 3.0), False, "1")],
        [Column("x", "measure", "float64", ("a",)), Column("s", "measure", "string", ("a",), ("on",))],
    )
    cube = cube_type(layout, {"x": np.array([0.25]), "s": np.array([0])})
    back = open_cube(cube.write(tmp_path))
    xr.testing.assert_identical(back, cube.dataset())
    assert back["x"].values.tolist() == [0.25] * 3
    assert back["s"].values.tolist() == ["on"] * 3


def test_axes_that_count_are_whole_numbers(cube_type: Any, tmp_path: Path) -> None:
    layout = make_layout([AxisSpec("tensor_parallel", (8.0, 1.0), False, "GPUs")], [])
    back = open_cube(cube_type(layout, {}).write(tmp_path))
    assert back["tensor_parallel"].dtype == np.int64
    assert back["tensor_parallel"].values.tolist() == [8, 1]


def test_dataset_refuses_arrays_that_do_not_fit() -> None:
    layout = make_layout([AxisSpec("a", (1.0, 2.0), False, "1")], [Column("x", "measure", "float64", ())])
    with pytest.raises(StoreError, match="column x"):
        dataset_from_arrays(layout, {"x": np.zeros(2)})


@st.composite
def cubes(draw: st.DrawFn) -> tuple[Layout, dict[str, np.ndarray]]:
    """Up to four axes in any order and a column of every type on every subset of two of them, on all and on none."""
    kinds = {
        "gpu": AxisSpec("gpu", AWKWARD[: draw(st.integers(1, 4))], True, "label"),
        "rho_target": AxisSpec("rho_target", (0.1, 0.7, 1.0, 1e-9)[: draw(st.integers(1, 4))], False, "1"),
        "tensor_parallel": AxisSpec("tensor_parallel", (8.0, 1.0, 4.0)[: draw(st.integers(1, 3))], False, "GPUs"),
        "scenario": AxisSpec("scenario", ("nominal", "Nominal", "0.7")[: draw(st.integers(1, 3))], True, "label"),
    }
    names = draw(st.permutations(sorted(kinds)))[: draw(st.integers(0, 4))]
    subsets = [(), tuple(names), *itertools.combinations(names, 1), *itertools.combinations(names, 2)]
    columns = []
    for dims in dict.fromkeys(subsets):
        mark = "_".join(dims) or "scalar"
        for dtype in ("string", "float64", "int64", "bool"):
            categories = ("yes", "No", "no") if dtype == "string" else ()
            if draw(st.booleans()):
                continue
            role = draw(st.sampled_from(["coord", "measure"]))
            columns.append(Column(f"{dtype}_of_{mark}", role, dtype, dims, categories, {"unit": "1"}))
    assume(names or columns)  # a table without any column is refused
    ranked = [column.name for column in columns if column.dtype == "string" and draw(st.booleans())]
    plain = make_layout([kinds[name] for name in names], columns, ranked)
    layout = Layout(plain.axes, plain.columns, draw(st.integers(2, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return layout, random_arrays(layout, rng, draw(st.sampled_from([0.0, 0.3, 1.0])))


def random_arrays(layout: Layout, rng: np.random.Generator, null_share: float) -> dict[str, np.ndarray]:
    arrays = {}
    for column in layout.given:
        sizes = zip(layout.dims, layout.shape, strict=True)
        shape = tuple(size if dim in column.dims and rng.random() < 0.9 else 1 for dim, size in sizes)
        null = rng.random(shape) < null_share
        if column.dtype == "string":
            arrays[column.name] = np.where(null, -1, rng.integers(0, 3, shape))
            continue
        numbers = {
            "float64": rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape),
            "int64": rng.integers(-(2**53), 2**53, shape).astype(float),
            "bool": rng.integers(0, 2, shape).astype(float),
        }[column.dtype]
        arrays[column.name] = np.where(null, np.nan, numbers)
    return arrays


@settings(max_examples=25, deadline=None)
@given(cubes(), st.integers(4, 40), st.integers(1, 20))
def test_any_cube_comes_back_identical(
    cube_type: Any, drawn: tuple[Layout, dict[str, np.ndarray]], rows_per_part: int, block_cells: int
) -> None:
    cube = cube_type(*drawn)
    with tempfile.TemporaryDirectory() as name:
        folder = cube.write(Path(name), rows_per_part, WriteOptions(block_cells=block_cells, package_version="0.1.0"))
        back = open_cube(folder)
        xr.testing.assert_identical(back, cube.dataset())
        texts = [back[column.name].values for column in cube.layout.given if column.dtype == "string"]
        # assert_identical takes NaN for None, which a reader of labels must not meet.
        assert all(label is None or isinstance(label, str) for values in texts for label in values.ravel().tolist())
        verify_cube(folder)


def test_columns_on_few_dims_are_read_from_few_rows(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sample.write(tmp_path, rows_per_part=None)
    asked: dict[str, list[int]] = {}

    def spy(file: Any, column: Column, group: int, rows: int) -> Any:
        asked.setdefault(column.name, []).append(rows)
        return read_rows(file, column, group, rows)

    monkeypatch.setattr("gridplan.store.reader.read_rows", spy)
    open_cube(folder)
    assert asked["model"] == [1]
    assert asked["vendor"] == [1, 1, 1]  # one row of each of the three row groups, one per GPU
    assert asked["headroom"] == [5]  # rows 0, 2 and 4 of the first row group
    assert asked["replicas"] == [6, 6, 6]
