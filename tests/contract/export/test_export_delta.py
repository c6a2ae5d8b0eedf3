"""Delta tables, read by deltalake and Polars; DuckDB where its extension is at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from awkward_cube import GPUS
from deltalake import DeltaTable
from table_view import View, arrow_view, assert_same, duckdb_view, polars_view

from gridplan.export.handover import export_cube

ORDER = ("gpu_rank", "arrival_rate", "tensor_parallel", "context_rank")
"""Columns that tell a row from every other: a table of Delta is a set of rows."""


@pytest.fixture(scope="module")
def delta(export: Callable[..., Any]) -> Path:
    """The folder of tables."""
    found: Path = export("delta", "delta", best="gpu,arrival_rate").output
    return found


def by_duckdb(path: Path) -> View:
    """What DuckDB reads, where its extension is installed: nothing is downloaded for a test."""
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as db:
        try:
            db.execute("LOAD delta")
        except duckdb.Error as error:
            pytest.skip(f"DuckDB has no extension delta here: {str(error).splitlines()[0]}")
        return duckdb_view(db.sql(f"FROM delta_scan('{path}')"))


READERS: dict[str, Callable[[Path], View]] = {
    "deltalake": lambda path: arrow_view(DeltaTable(path).to_pyarrow_table()),
    "polars": lambda path: polars_view(pl.read_delta(str(path))),
    "duckdb": by_duckdb,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_the_cube(reader: str, delta: Path, truth: View) -> None:
    assert_same(READERS[reader](delta / "cube").sorted(ORDER), truth.sorted(ORDER))


def test_pandas_sees_rows_labels_and_nulls(delta: Path, truth: View) -> None:
    frame = DeltaTable(delta / "cube").to_pandas()
    assert list(frame.columns) == list(truth.kinds)
    assert {name: int(frame[name].isna().sum()) for name in frame} == {
        name: values.count(None) for name, values in truth.values.items()
    }
    assert sorted(frame["gpu"]) == sorted(truth.values["gpu"])


def test_the_small_tables_are_tables_as_well(delta: Path, truth: View) -> None:
    assert {path.name for path in delta.iterdir()} == {"about", "best", "cube", "metric"}
    assert pl.read_delta(str(delta / "best")).height == 3 * len(GPUS)
    assert pl.read_delta(str(delta / "metric"))["name"].to_list() == list(truth.kinds)


def test_the_protocol_is_one_that_old_readers_take(delta: Path) -> None:
    protocol = DeltaTable(delta / "cube").protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


def test_meanings_are_comments(delta: Path) -> None:
    (field,) = [f for f in DeltaTable(delta / "cube").schema().fields if f.name == "usd_per_mtok_output"]
    assert json.loads(field.to_json())["metadata"]["comment"] == 'a "price"'


def test_force_makes_a_new_version_and_the_old_one_stays(stored: Path, tmp_path: Path, truth: View) -> None:
    out = tmp_path / "delta"
    export_cube(stored, "delta", out, where="gpu = 'H100'")
    export_cube(stored, "delta", out, where="gpu = '8'", measures="usd_per_month", force=True)
    table = DeltaTable(out / "cube")
    assert table.version() == 1
    new, old = (pa.table(DeltaTable(out / "cube", version=version).to_pyarrow_table()) for version in (1, 0))
    assert (set(new["gpu"].to_pylist()), set(old["gpu"].to_pylist())) == ({"8"}, {"H100"})
    assert "extreme" not in new.column_names
    assert list(truth.kinds) == old.column_names
