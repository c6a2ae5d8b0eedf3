"""What could give a wrong answer: names of folders, files that are nobody's, conditions that read in two ways."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from stored_cubes import in_parts

import gridplan
from gridplan.errors import ContractError, StoreError
from gridplan.query.slice import open_slice

Folder = Callable[[str], Path]
Cli = Callable[..., Any]
MEASURE = "usd_per_mtok_output"


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory, grids: Path) -> Path:
    """The lesson over many rates, a file for each instance."""
    grid = yaml.safe_load((grids / "lesson.yaml").read_text(encoding="utf-8"))
    del grid["workload"]["arrival_rate"], grid["scenarios"]
    grid["axes"] = {"instance": ["aws-p4de", "fractional"], "arrival_rate": {"linspace": [1, 200, 40]}}
    grid["outputs"] = ["status", "infeasible_reason", "fleet_sufficient", "gpus", "tpot_s", MEASURE]
    folder = tmp_path_factory.mktemp("parted") / "cube"
    loaded = gridplan.loads_grid(yaml.safe_dump(grid))
    gridplan.run(loaded, folder)
    return in_parts(folder, folder.with_name("parts"), 40)


@pytest.fixture(scope="module")
def due(parted: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], Path]:
    """Three slices of the cube, and where its wide table was exported under a plain name."""
    table = tmp_path_factory.mktemp("due") / "due.parquet"
    best = gridplan.export_cube(parted, "wide", table, best="arrival_rate")
    assert best.rows[str(table.with_name("due_best.parquet"))] == 40
    return sliced(parted), table


def sliced(folder: Path) -> list[Any]:
    return [open_slice(folder, (), "instance", MEASURE, agg).rows() for agg in ("min", "argmin", "count")]


@pytest.mark.parametrize(
    "name",
    [
        # What would mean something anywhere on a path is put into one; a home or a protocol stands at its beginning.
        *("instance=aws-p4de/arrival_rate=3/gpus=1", "part-5/xpart-00001/x.parquet", "it's/ spaced /集"),
        *("a[1]*?", "~", "s3:", "a:b", "a\\b", "d%20x"),
    ],
)
def test_the_name_of_a_folder_means_nothing(
    name: str, parted: Path, due: tuple[list[Any], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a partition, nor a part, a pattern, a home or a protocol: a relative path and an absolute one."""
    rows, table = due
    shutil.copytree(parted, tmp_path / name / "cube")
    monkeypatch.chdir(tmp_path)
    for folder in (Path(name) / "cube", tmp_path / name / "cube"):
        assert sliced(folder) == rows
    outputs = {"wide": "c.parquet", "star": "star", "duckdb": "c.duckdb", "delta": "lake"}
    for form, sign in (("duckdb", "?"), ("duckdb", "\\"), ("delta", "%"), ("delta", "\\"), ("delta", "[")):
        if sign in name:
            with pytest.raises(StoreError, match="cannot be written to a path with"):
                gridplan.export_cube(Path(name) / "cube", form, Path(name) / outputs.pop(form))
    for form, output in outputs.items():
        gridplan.export_cube(Path(name) / "cube", form, Path(name) / output, best="arrival_rate")
    assert pq.read_table(tmp_path / name / "c.parquet").equals(pq.read_table(table))
    best = table.with_name("due_best.parquet")
    assert pq.read_table(tmp_path / name / "c_best.parquet").equals(pq.read_table(best))
    written = {path.name for path in (tmp_path / name).iterdir()}
    assert written == {"cube", "c_best.parquet", *outputs.values()}


def test_a_file_that_is_nobodys_is_not_read(parted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cube"
    shutil.copytree(parted, folder)
    shutil.copy(folder / "facts" / "part-00000.parquet", folder / "facts" / "part-00099.parquet")
    assert open_slice(folder, agg="count").rows() == open_slice(parted, agg="count").rows()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("gpus > 2 is null", "put parentheses"),
        ("instance = 'aws-p4de' is true", "put parentheses"),
        ("1 < 2 < 3", "put parentheses"),
        ("instance = 'aws-p4de' = true", "put parentheses"),
        ("instance = null", "write is null"),
        ("instance in ()", "at least one value|cannot be read"),
        ("gpus between symmetric 3 and 1", "cannot"),
        ("instance", "a comparison is due"),
        ("gpus", "a comparison is due"),
        ("not instance", "."),
        ("abs(instance) > 1", "."),
        ("instance + 1 = 2", "."),
        ("arrival_rate < 1e400", "finite|number"),
        ("tpot_s < 'inf'", "tpot_s is a number, not 'inf'"),
        ("tpot_s > 'nan'", "tpot_s is a number, not 'nan'"),
        ("arrival_rate like '1%'", "."),
        ("least(status, gpus) = 1", "."),
        ("(" * 3000 + "true" + ")" * 3000, "inside each other|cannot be read"),
        ("not " * 3000 + "true", "inside each other|cannot be read"),
        ("gpus > 2 /* wide", "never closed|cannot be read"),
    ],
)
def test_a_condition_that_reads_in_two_ways_or_fits_no_column(said: str, message: str, parted: Path) -> None:
    with pytest.raises(ContractError, match=message):
        open_slice(parted, said, agg="count", measure="gpus").rows()


def test_a_bound_means_no_label_that_is_merely_near(tmp_path: Path, grids: Path) -> None:
    grid = yaml.safe_load((grids / "lesson.yaml").read_text(encoding="utf-8"))
    del grid["workload"]["arrival_rate"]
    grid["axes"] = {"arrival_rate": [2.9999999, 3.5, 99.99999]}
    gridplan.run(gridplan.loads_grid(yaml.safe_dump(grid)), tmp_path / "cube")

    def rates(condition: str) -> list[float]:
        return [row[0] for row in open_slice(tmp_path / "cube", condition, "arrival_rate", "gpus", "count").rows()]

    assert rates("arrival_rate >= 3") == [3.5, 99.99999]
    assert rates("arrival_rate < 3") == [2.9999999]
    assert rates("arrival_rate >= 100") == []
    assert rates("arrival_rate = 3.0") == [2.9999999]  # as a summary prints it


def test_an_axis_may_be_a_measure_too(parted: Path) -> None:
    (row,) = open_slice(parted, measure=f"{MEASURE},arrival_rate", agg="argmin").rows()
    assert len(row) == 3 + 3
    (row,) = open_slice(parted, measure="arrival_rate", agg="argmax").rows()
    assert row[0] == 200.0
    with pytest.raises(ContractError, match="stays already"):
        gridplan.export_cube(parted, "csv", "x.csv", best=MEASURE)


def test_no_output_lies_in_the_folder_of_a_cube(parted: Path, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "cube"
    shutil.copytree(parted, folder)
    (tmp_path / "link").symlink_to(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for output in (
        "facts/part-00000.parquet",
        "facts/part-00099.parquet",
        "manifest.json",
        "dims/gpu.parquet",
        "x.csv",
    ):
        for place in (folder / output, tmp_path / "link" / output):
            suffix = {".parquet": "wide", ".csv": "csv"}.get(place.suffix)
            done = [cli("slice", folder, "-o", place, "--force")]
            done += [cli("export", folder, "--to", suffix, "-o", place, "--force")] if suffix else []
            assert {one.code for one in done} == {3}
            assert all("lies in" in one.err for one in done)
    assert cli("export", folder, "--to", "star", "-o", folder / "star").code == 3
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_what_an_earlier_export_left_beside_is_removed(parted: Path, tmp_path: Path) -> None:
    for form, output in (("wide", "c.parquet"), ("csv", "c.csv"), ("delta", "lake")):
        gridplan.export_cube(parted, form, tmp_path / output, best="instance")
        found = gridplan.export_cube(parted, form, tmp_path / output, force=True)
        assert any("of an earlier export" in warning for warning in found.warnings)
    assert {path.name for path in tmp_path.iterdir()} == {"c.parquet", "c.csv", "c_schema.json", "lake"}
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"cube", "about", "metric"}


def test_folders_of_others_are_not_taken(parted: Path, tmp_path: Path) -> None:
    for form in ("star", "delta"):
        (tmp_path / form).mkdir()
        gridplan.export_cube(parted, form, tmp_path / form)  # an empty folder is free
        (tmp_path / form / "dim_mine").mkdir()
        (tmp_path / form / "dim_mine" / "a").write_text("mine", encoding="utf-8")
        with pytest.raises(StoreError, match="not an export of this kind"):
            gridplan.export_cube(parted, form, tmp_path / form, force=True)
        assert (tmp_path / form / "dim_mine" / "a").read_text(encoding="utf-8") == "mine"


def test_what_killed_exports_left_is_cleared(parted: Path, tmp_path: Path) -> None:
    """Under the number of a process that is gone; what a living one is writing stays."""
    gone, living = 2**22 - 3, os.getppid()
    for number in (gone, living):
        (tmp_path / f".star.{number}.tmp").mkdir()
        (tmp_path / f".star.{number}.old").mkdir()
        (tmp_path / f".c.duckdb.{number}.tmp").write_bytes(b"half")
    gridplan.export_cube(parted, "star", tmp_path / "star")
    gridplan.export_cube(parted, "star", tmp_path / "star", force=True)
    gridplan.export_cube(parted, "duckdb", tmp_path / "c.duckdb")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("star", "c.duckdb", f".star.{living}.tmp", f".star.{living}.old", f".c.duckdb.{living}.tmp")
    }


def test_a_table_of_the_catalog_that_is_missing_or_damaged(parted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cube"
    shutil.copytree(parted, folder)
    path = folder / "dims" / "instance.parquet"
    whole = path.read_bytes()
    path.write_bytes(b"\x00" * len(whole))
    with pytest.raises(StoreError, match="damaged"):
        gridplan.export_cube(folder, "star", tmp_path / "star")
    path.unlink()
    with pytest.raises(StoreError, match="is missing"):
        gridplan.export_cube(folder, "star", tmp_path / "star")
    assert not (tmp_path / "star").exists()
