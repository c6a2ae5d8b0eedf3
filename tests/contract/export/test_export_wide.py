"""One Parquet file, read by every reader."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from stored_cubes import Cube
from table_view import View, arrow_view, assert_same, duckdb_view, pandas_view, polars_view

READERS: dict[str, Callable[[Path], View]] = {
    "duckdb": lambda path: duckdb_view(duckdb.sql(f"FROM '{path}'")),
    "polars": lambda path: polars_view(pl.read_parquet(path)),
    "pandas": lambda path: pandas_view(pd.read_parquet(path, dtype_backend="numpy_nullable")),
    "pyarrow": lambda path: arrow_view(pq.read_table(path)),
}


@pytest.fixture(scope="module", params=["snappy", "zstd", "none"])
def wide(request: pytest.FixtureRequest, export: Callable[..., Any]) -> Path:
    """The file, in each compression."""
    found: Path = export("wide", f"{request.param}.parquet", compression=request.param).output
    return found


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_the_cube(reader: str, wide: Path, truth: View) -> None:
    assert_same(READERS[reader](wide), truth)


def test_engines_count_and_sum_what_is_there(wide: Path, truth: View) -> None:
    known = [value for value in truth.values["usd_per_month"] if value is not None]
    labels = Counter(truth.values["note"])
    query = "SELECT count(usd_per_month), sum(usd_per_month), sum(replicas), sum(slo_held::INT) FROM cells"
    whole = [sum(filter(None, truth.values[name])) for name in ("replicas", "slo_held")]
    with duckdb.connect() as db:
        db.execute(f"CREATE VIEW cells AS FROM '{wide}'")
        found = db.sql(query).fetchall()[0]
        assert dict(db.sql("SELECT note, count(*) FROM cells GROUP BY note").fetchall()) == labels
        assert db.sql("SELECT count(*) FROM cells WHERE gpu = 'H100'").fetchall() == [(12,)]
    assert (found[0], *found[2:]) == (len(known), *whole)
    assert math.isclose(found[1], math.fsum(known), rel_tol=1e-12)
    cells = pl.scan_parquet(wide)
    summed = cells.select(pl.col("usd_per_month").count().alias("n"), pl.col("usd_per_month").sum()).collect()
    assert summed["n"][0] == len(known)
    assert math.isclose(summed["usd_per_month"][0], math.fsum(known), rel_tol=1e-12)
    assert dict(cells.group_by("note").len().collect().iter_rows()) == labels


def test_row_groups_follow_each_other(wide: Path, truth: View) -> None:
    metadata = pq.ParquetFile(wide).metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sizes == [*[500] * 7, 100]
    assert sum(sizes) == truth.rows


def test_units_and_meanings_come_along(wide: Path) -> None:
    schema = pq.read_schema(wide)
    assert schema.field("usd_per_month").metadata[b"unit"] == b"USD/month"
    assert schema.field("usd_per_mtok_output").metadata[b"description"] == b'a "price"'


def test_measures_and_conditions_take_a_part_of_it(export: Callable[..., Any], awkward: Cube, truth: View) -> None:
    where = "gpu IN ('h100', '=cmd()', 'it''s', '8') AND status = 'ok'"
    path = export("wide", "few.parquet", where=where, measures="usd_per_month").output
    labels = ("h100", "=cmd()", "it's", "8")
    kept = [
        place
        for place, (gpu, status) in enumerate(zip(truth.values["gpu"], truth.values["status"], strict=True))
        if gpu in labels and status == "ok"
    ]
    held = ("status", "infeasible_reason", "usd_per_month")
    names = [column.name for column in awkward.layout.columns if column.role != "measure" or column.name in held]
    assert_same(arrow_view(pq.read_table(path)), truth.taken(kept).select(names))
