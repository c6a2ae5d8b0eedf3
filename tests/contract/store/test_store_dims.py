"""The small tables beside the facts."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from gridplan.errors import StoreError
from gridplan.store import write_dims


def test_metric_table_is_the_data_dictionary_of_the_columns(sample: Any, tmp_path: Path) -> None:
    sample.write(tmp_path)
    table = pq.read_table(tmp_path / "dims" / "metric.parquet")
    assert table.column_names == [
        "name", "role", "unit", "dtype", "scope", "long_name", "formula", "source", "class", "null_where", "meaning",
    ]  # fmt: skip
    assert table["name"].to_pylist() == [column.name for column in sample.layout.columns]
    rows = {row["name"]: row for row in table.to_pylist()}
    assert (rows["gpu"]["role"], rows["gpu"]["long_name"], rows["gpu"]["class"]) == ("axis", "accelerator", "policy")
    assert (rows["gpu_rank"]["role"], rows["gpu_rank"]["dtype"]) == ("rank", "int64")
    assert rows["usd_per_hour"]["unit"] == "USD/h"
    assert all(str(field.type) == "string" for field in table.schema)


def test_tables_join_with_the_facts(sample: Any, tmp_path: Path) -> None:
    gpus = [
        {"gpu": "h100", "memory_gib": 80, "price": None, "as_of": dt.date(2026, 1, 2), "list": True},
        {"gpu": "a100", "memory_gib": 79.65, "price": 2, "as_of": None, "list": None},
        {"gpu": "H100", "price": math.nan, "notes": None},
    ]
    folder = sample.write(tmp_path, dims={"gpu": gpus})
    table = pq.read_table(folder / "dims" / "gpu.parquet")
    assert [str(field.type) for field in table.schema] == ["string", "double", "int64", "date32[day]", "bool", "string"]
    assert table["memory_gib"].to_pylist() == [80.0, 79.65, None]
    query = (
        f"select sum(memory_gib) from '{folder}/facts/*.parquet' f join '{folder}/dims/gpu.parquet' d on f.gpu = d.gpu"
    )
    assert duckdb.sql(query).fetchall()[0][0] == pytest.approx(6 * 80 + 6 * 79.65)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"a": 1}, {"a": "x"}], "dims/gpu: column a holds int, str"),
        ([{"a": True}, {"a": 1}], "dims/gpu: column a holds bool, int"),
        ([{"a": [1]}], "dims/gpu: column a holds list"),
        ([{"a": dt.datetime(2026, 1, 2)}], "dims/gpu: column a holds datetime"),
        ([{"a": math.inf}], "dims/gpu: column a holds an infinite value"),
        ([{"a": 2**63}], "dims/gpu: column a holds a number beyond int64"),
        ([{"a": 1, "A": 2}], "dims/gpu: column names a, A repeat or differ only in case"),
        ([], "dims/gpu: the table is empty"),
    ],
)
def test_what_no_bi_tool_reads_is_refused(sample: Any, tmp_path: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(StoreError) as caught:
        write_dims(tmp_path, sample.layout, {"gpu": rows, "model": [{"b": [1]}]})
    assert said in str(caught.value)
    assert "dims/model: column b holds list" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_records_describe_the_files(sample: Any, tmp_path: Path) -> None:
    records = write_dims(tmp_path, sample.layout, {"gpu": [{"gpu": "h100"}]})
    assert [(record.file, record.rows) for record in records] == [
        ("dims/gpu.parquet", 1),
        ("dims/metric.parquet", len(sample.layout.columns)),
    ]
    assert all((tmp_path / record.file).stat().st_size == record.bytes for record in records)
