"""Cells read from a folder are those of the cube as it is opened whole, however it was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hostile_labels import HOSTILE, hostile_contract
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_cubes import Cube
from whole_cube import cells_of, decoded, draw_names, draw_place, hold_alike

import gridplan
from gridplan.errors import StoreError
from gridplan.explore.stored import StoredCells
from gridplan.query.database import open_database
from gridplan.query.table import open_table
from gridplan.store import AxisSpec, Column, make_layout

Folder = Callable[[str], Path]
GRIDS = Path(__file__).parents[2] / "grids"


def cells_in(folder: Path) -> StoredCells:
    return StoredCells(open_table(folder), open_database(), None)


@pytest.fixture(scope="module")
def opened(folder: Folder) -> Callable[[str], tuple[StoredCells, xr.Dataset]]:
    """Each folder opened once for all examples."""
    return cache(lambda name: (cells_in(folder(name)), gridplan.open_cube(folder(name))))


@pytest.mark.parametrize("name", ["quickstart", "lesson", "theory", "buy", "chains-70b"])
@settings(max_examples=8)
@given(data=st.data())
def test_any_box_is_that_of_the_cube(
    name: str, data: st.DataObject, opened: Callable[[str], tuple[StoredCells, xr.Dataset]]
) -> None:
    cells, cube = opened(name)
    place, names = draw_place(data, cells), draw_names(data, cells)
    box = cells.box(place, names)
    assert [column.name for column in box.columns] == names
    hold_alike(box, cube, place)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "cube"
    gridplan.run(gridplan.loads_grid(hostile_contract()), folder)
    return folder


def test_labels_that_would_be_sql_are_labels(hostile: Path) -> None:
    """Every label of an axis on its own, and every pair of neighbours."""
    cells, cube = cells_in(hostile), gridplan.open_cube(hostile)
    sizes = [len(axis.labels) for axis in cells.axes]
    at = [axis.name for axis in cells.axes].index("instance")
    assert sizes[at] == len(HOSTILE)
    for first in range(len(HOSTILE)):
        for last in (first + 1, min(first + 2, len(HOSTILE))):
            place = [range(size) for size in sizes]
            place[at] = range(first, last)
            hold_alike(cells.box(tuple(place), ["replicas", "status", "gpu"]), cube, tuple(place))


def synthetic(labels: Sequence[str] = ("it's", 'a"b', "c;d--", "集", "")) -> Cube:
    """A small cube with columns that depend on all, some and none of the axes, and nulls of each kind."""
    axes = (
        AxisSpec("gpu", tuple(labels), True, "label"),
        AxisSpec("rho_target", (0.1, 0.3, 0.2, 1e-7), False, "1"),
        AxisSpec("arrival_rate", (2.0, 1.0, 1e6), False, "req/s"),
    )
    names = tuple(axis.name for axis in axes)
    columns = (
        Column("model", "coord", "string", ("gpu",), ("m'1", "m\\2")),
        Column("status", "measure", "string", names, ("ok", "infeasible")),
        Column("replicas", "measure", "int64", names),
        Column("slo_held", "measure", "bool", ("gpu", "arrival_rate")),
        Column("tpot_s", "measure", "float64", ("rho_target",)),
        Column("hours", "measure", "float64", ()),
    )
    random = np.random.default_rng(3)
    shape = tuple(len(axis.labels) for axis in axes)
    count, size = np.floor(random.random(shape) * 2**53), (shape[0], 1, shape[2])
    arrays = {
        "model": random.integers(-1, 2, (shape[0], 1, 1)).astype(np.int32),
        "status": random.integers(-1, 2, shape).astype(np.int32),
        "replicas": np.where(random.random(shape) < 0.3, np.nan, count),
        "slo_held": random.choice([0.0, 1.0, np.nan], size),
        "tpot_s": np.array([0.1, np.nan, 5e-324, 1 / 3]).reshape(1, 4, 1),
        "hours": np.full((1, 1, 1), 730.0),
    }
    return Cube(make_layout(axes, columns), arrays)


@pytest.fixture(scope="module", params=[1, 5, 7, None])
def parted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[StoredCells, xr.Dataset]:
    """The same cube in parts of a row, of some rows, and in one."""
    folder = synthetic().write(tmp_path_factory.mktemp("parted") / "cube", request.param)
    return cells_in(folder), synthetic().dataset()


@settings(max_examples=6)
@given(data=st.data())
def test_parts_do_not_matter(data: st.DataObject, parted: tuple[StoredCells, xr.Dataset]) -> None:
    cells, cube = parted
    place, names = draw_place(data, cells), draw_names(data, cells)
    hold_alike(cells.box(place, names), cube, place)


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory, folder: Folder) -> tuple[StoredCells, xr.Dataset]:
    """A folder without its rows that have no plan, and the cube with them."""
    target = tmp_path_factory.mktemp("dropped") / "cube"
    gridplan.run(gridplan.load_grid(GRIDS / "memory.yaml"), target, drop_infeasible=True)
    return cells_in(target), gridplan.open_cube(folder("memory"))


@settings(max_examples=8)
@given(data=st.data())
def test_rows_that_were_left_out_have_no_plan(data: st.DataObject, dropped: tuple[StoredCells, xr.Dataset]) -> None:
    cells, cube = dropped
    assert (cube["status"] != "ok").any()
    place = draw_place(data, cells)
    box = cells.box(place, ["status", "infeasible_reason", "kv_pool_bytes_per_gpu", "concurrency", "kv_dtype"])
    gone = decoded(box, "infeasible_reason") != None  # noqa: E711 # elementwise
    assert not gone.any()
    here = {axis.name: slice(own.start, own.stop) for axis, own in zip(cells.axes, place, strict=True)}
    planned = np.broadcast_to(cube["status"].isel(here).values == "ok", box.shape)
    assert decoded(box, "status").tolist() == np.where(planned, "ok", "infeasible").tolist()
    # A measure that does not depend on what made a cell impossible is known from the rows beside it.
    for name in ("kv_pool_bytes_per_gpu", "concurrency"):
        due = cells_of(cube, name, place, [axis.name for axis in cells.axes])
        found = decoded(box, name)
        np.testing.assert_array_equal(np.where(planned | ~np.isnan(found), found, due), due, name)
        assert not np.isnan(found[planned]).any()
    assert planned.any() or np.isnan(decoded(box, "concurrency")).all()


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    folder = synthetic().write(tmp_path / "cube", 5)
    cells = cells_in(folder)
    (folder / "facts" / "part-00001.parquet").unlink()
    assert np.isfinite(decoded(cells.box((range(1), range(1), range(1)), ["hours"]), "hours")).all()
    with pytest.raises(StoreError, match=r"part-00001\.parquet"):
        cells.box((range(5), range(4), range(3)), ["hours"])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = synthetic().write(tmp_path / "cube", None)
    cells = cells_in(folder)
    (part,) = (folder / "facts").iterdir()
    part.write_bytes(b"\0" * part.stat().st_size)
    with pytest.raises(StoreError, match="cannot be read"):
        cells.box((range(5), range(4), range(3)), ["hours"])


def test_a_label_that_the_manifest_does_not_know(tmp_path: Path) -> None:
    """The files of another cube under the names of this one."""
    folder = synthetic().write(tmp_path / "cube", None)
    other = synthetic(["it's", 'a"b', "c;d--", "群", ""]).write(tmp_path / "other", None)
    (part,) = (folder / "facts").iterdir()
    (foreign,) = (other / "facts").iterdir()
    assert part.stat().st_size == foreign.stat().st_size
    part.write_bytes(foreign.read_bytes())
    with pytest.raises(StoreError, match="gpu has labels that the manifest does not know"):
        cells_in(folder).box((range(5), range(4), range(3)), ["hours"])
