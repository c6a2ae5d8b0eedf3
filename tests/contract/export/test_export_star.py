"""The star schema, joined back to the wide table; keys are whole numbers, each there once, and none is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from awkward_cube import GPUS, TABLES
from stored_cubes import Cube
from table_view import View, assert_same, duckdb_view, polars_view

AXES = ("gpu", "arrival_rate", "tensor_parallel", "context")


@pytest.fixture(scope="module")
def star(export: Callable[..., Any]) -> Path:
    """The folder."""
    found: Path = export("star", "star", best="gpu,arrival_rate").output
    return found


def by_duckdb(star: Path, names: list[str]) -> View:
    joins = " ".join(f"JOIN '{star}/dim_{axis}.parquet' AS {axis} USING ({axis}_key)" for axis in AXES)
    columns = ", ".join(f"f.{axis}_key AS {axis}_rank" for axis in ("gpu", "context"))
    with duckdb.connect() as db:
        db.execute(f"CREATE VIEW f AS FROM '{star}/fact/*.parquet'")
        db.execute(f"CREATE VIEW joined AS SELECT {columns}, * FROM f {joins}")
        listed = ", ".join(f'"{name}"' for name in names)
        order = ", ".join(f"{axis}_key" for axis in AXES)
        return duckdb_view(db.sql(f"SELECT {listed} FROM joined ORDER BY {order}"))


def by_polars(star: Path, names: list[str]) -> View:
    frame = pl.read_parquet(star / "fact" / "*.parquet")
    for axis in AXES:
        dim = pl.read_parquet(star / f"dim_{axis}.parquet")
        frame = frame.join(dim, on=f"{axis}_key", how="left", maintain_order="left", validate="m:1")
    ranks = [pl.col(f"{axis}_key").alias(f"{axis}_rank") for axis in ("gpu", "context")]
    return polars_view(frame.with_columns(ranks).select(names))


@pytest.mark.parametrize("reader", [by_duckdb, by_polars])
def test_joined_it_is_the_cube_in_its_order(reader: Callable[[Path, list[str]], View], star: Path, truth: View) -> None:
    assert_same(reader(star, list(truth.kinds)), truth)


@pytest.mark.parametrize("axis", AXES)
def test_keys_count_the_labels_from_0(axis: str, star: Path, awkward: Cube) -> None:
    labels = awkward.layout.axes[AXES.index(axis)].labels
    dim = pl.read_parquet(star / f"dim_{axis}.parquet")
    facts = pl.read_parquet(star / "fact" / "*.parquet")[f"{axis}_key"]
    assert dim.schema[f"{axis}_key"] == facts.dtype == pl.Int64()
    assert dim[f"{axis}_key"].to_list() == list(range(len(labels)))
    assert dim[axis].to_list() == list(labels)
    assert facts.value_counts().sort(f"{axis}_key").rows() == [(key, 3600 // len(labels)) for key in range(len(labels))]


def test_a_coordinate_of_one_axis_is_there_and_one_of_two_axes_is_a_fact(star: Path) -> None:
    facts, gpus = (pq.read_schema(star / name).names for name in ("fact/part-00000.parquet", "dim_gpu.parquet"))
    assert {"vendor", "vendor_rank", "gpu_memory_bytes"} <= set(gpus)
    assert {"region", "model"} <= set(facts)
    assert not {"vendor", "vendor_rank", "gpu_memory_bytes", "gpu", "gpu_rank"} & set(facts)


def test_what_the_catalog_says_comes_along_and_takes_no_name(star: Path, truth: View) -> None:
    gpus = pl.read_parquet(star / "dim_gpu.parquet")
    assert gpus["memory"].to_list() == [row["memory"] for row in TABLES["gpu"]]
    assert gpus["catalog_vendor"].to_list() == ["=1+1"] * len(GPUS)
    assert gpus["as_of"].to_list() == [dt.date(2026, 1, 2)] * len(GPUS)
    assert gpus["vendor"].to_list() == truth.values["vendor"][::12]


def test_facts_are_cut_into_files_in_order(star: Path) -> None:
    files = sorted(path.name for path in (star / "fact").iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert [pq.read_metadata(star / "fact" / name).num_rows for name in files] == [1500, 1500, 600]
    assert len({str(pq.read_schema(star / "fact" / name)) for name in files}) == 1


def test_a_condition_cuts_the_facts_and_no_labels(export: Callable[..., Any], truth: View) -> None:
    star = export("star", "cut", where="gpu = 'H100' AND arrival_rate < 1").output
    assert pl.read_parquet(star / "dim_gpu.parquet")["gpu"].to_list() == list(GPUS)
    place = [
        at
        for at, (gpu, rate) in enumerate(zip(truth.values["gpu"], truth.values["arrival_rate"], strict=True))
        if gpu == "H100" and rate == 0.1
    ]
    names = [name for name, kind in truth.kinds.items() if name not in ("vendor", "vendor_rank", "gpu_memory_bytes")]
    assert_same(by_polars(star, names), truth.taken(place).select(names))
