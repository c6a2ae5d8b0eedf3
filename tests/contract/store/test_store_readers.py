"""The tools that people open a cube with see the same rows, nulls, sums and types."""

from __future__ import annotations

import base64
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from gridplan.store import AxisSpec, Column, Layout, WriteOptions, make_layout, open_cube
from gridplan.store.arrow import arrow_schema


def facts(folder: Path) -> str:
    return str(folder / "facts" / "*.parquet")


def test_every_reader_sees_the_same_rows_nulls_and_sums(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    assert len(list((folder / "facts").iterdir())) == 6
    arrow = pads.dataset(folder / "facts", format="parquet").to_table()
    pandas = pd.read_parquet(folder / "facts")
    polars = pl.read_parquet(facts(folder))
    sql = f"select count(*), count(replicas), sum(usd_per_hour), count(status), count(holds) from '{facts(folder)}'"
    counted = duckdb.sql(sql).fetchall()[0]
    replicas = sample.arrays["replicas"]
    total = float(np.nansum(replicas * 2.49))
    assert counted[0] == len(arrow) == len(pandas) == len(polars) == 18
    filled = int(np.count_nonzero(~np.isnan(replicas)))
    assert counted[1] == pandas["replicas"].count() == polars["replicas"].count() == filled == 11
    assert arrow["replicas"].null_count == 7
    sums = [counted[2], pandas["usd_per_hour"].sum(), polars["usd_per_hour"].sum(), arrow["usd_per_hour"]]
    sums[3] = float(np.nansum(sums[3].to_numpy()))
    assert all(math.isclose(found, total, rel_tol=1e-12) for found in sums)
    assert counted[3:] == (18, 11)


def test_every_reader_sees_plain_types(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    arrow = pads.dataset(folder / "facts", format="parquet").schema
    assert [
        str(arrow.field(name).type) for name in ("gpu", "status", "rho_target", "replicas", "holds", "gpu_rank")
    ] == [
        "string",
        "string",
        "double",
        "int64",
        "bool",
        "int64",
    ]
    polars = pl.read_parquet(facts(folder)).schema
    assert (polars["gpu"], polars["replicas"], polars["holds"]) == (pl.String(), pl.Int64(), pl.Boolean())
    described = {row[0]: row[1] for row in duckdb.sql(f"describe select * from '{facts(folder)}'").fetchall()}
    named = ("gpu", "note", "replicas", "usd_per_hour", "holds")
    assert [described[name] for name in named] == ["VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"]
    assert pd.api.types.is_string_dtype(pd.read_parquet(folder / "facts")["gpu"])


def test_rows_come_in_axis_order(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path)
    frame = pl.read_parquet(facts(folder))
    expected = [(g, r, c) for g in ("h100", "a100", "H100") for r in (0.5, 0.7, 1.0) for c in ("16k", "128k")]
    assert frame.select("gpu", "rho_target", "context").rows() == expected
    ordered = duckdb.sql(f"select distinct context from '{facts(folder)}' order by context").fetchall()
    ranked = duckdb.sql(f"select context from '{facts(folder)}' group by all order by min(context_rank)").fetchall()
    # L20: as text 128k sorts before 16k; the rank column gives the declared order.
    assert ([row[0] for row in ordered], [row[0] for row in ranked]) == (["128k", "16k"], ["16k", "128k"])
    assert frame.filter(pl.col("gpu") == "a100")["vendor_rank"].null_count() == 6


@pytest.mark.parametrize("test", ["> 1", "!= 3", "<= 3", "is null", "is not null"])
def test_filters_agree_between_file_and_memory(sample: Any, tmp_path: Path, test: str) -> None:
    # L08, L09: a NaN in a file made DuckDB lose rows in > and != and gain them in <=; nulls do not.
    folder = sample.write(tmp_path)
    table = pads.dataset(folder / "facts", format="parquet").to_table()
    memory = duckdb.from_arrow(table).filter(f"replicas {test}").aggregate("count(*), avg(usd_per_hour)").fetchall()
    query = f"select count(*), avg(usd_per_hour) from '{facts(folder)}' where replicas {test}"
    assert duckdb.sql(query).fetchall() == memory
    replicas = sample.arrays["replicas"].ravel()
    kept = {
        "> 1": replicas > 1,
        "!= 3": (replicas != 3) & ~np.isnan(replicas),
        "<= 3": replicas <= 3,
        "is null": np.isnan(replicas),
        "is not null": ~np.isnan(replicas),
    }[test]
    assert memory[0][0] == np.count_nonzero(kept)


def test_the_cheapest_plan_is_never_a_null(sample: Any, tmp_path: Path) -> None:
    # L24: a null cost once read as 0.
    folder = sample.write(tmp_path)
    sample_minimum = float(np.nanmin(sample.arrays["usd_per_hour"][sample.arrays["replicas"] > 0]))
    query = f"select min(usd_per_hour) from '{facts(folder)}' where replicas > 0"
    assert duckdb.sql(query).fetchall()[0][0] == pytest.approx(sample_minimum)
    assert pd.read_parquet(folder / "facts").query("replicas > 0")["usd_per_hour"].min() == pytest.approx(
        sample_minimum
    )


def test_no_float_column_holds_nan_or_infinity(sample: Any, tmp_path: Path) -> None:
    table = pads.dataset(sample.write(tmp_path) / "facts", format="parquet").to_table()
    for name in ("usd_per_hour", "headroom", "rho_target"):
        assert np.isfinite(table[name].drop_null().to_numpy()).all()


def test_many_labels_over_many_parts_read_as_one(cube_type: Any, tmp_path: Path) -> None:
    # L13: dictionary codes of 8 and 16 bits in different files once failed; here 300 labels, 3 rows a file.
    labels = tuple(f"gpu-{n}" for n in range(300))
    layout = make_layout([AxisSpec("gpu", labels, True, "label")], [Column("x", "measure", "float64", ("gpu",))])
    cube = cube_type(layout, {"x": np.arange(300.0)})
    folder = cube.write(tmp_path, rows_per_part=60)
    for frame in (pd.read_parquet(folder / "facts"), pl.read_parquet(facts(folder)).to_pandas()):
        assert tuple(frame["gpu"]) == labels
        assert frame["x"].sum() == 44_850
    assert duckdb.sql(f"select count(distinct gpu) from '{facts(folder)}'").fetchall() == [(300,)]
    assert tuple(open_cube(folder)["gpu"].values) == labels


def test_all_parts_carry_one_schema_also_where_everything_is_null(sample: Any, tmp_path: Path) -> None:
    # L14, L15: a part of nothing but nulls keeps its types; `note` has no labels at all.
    folder = sample.write(tmp_path)
    schemas = [pq.read_schema(path) for path in sorted((folder / "facts").iterdir())]
    assert all(schema.equals(schemas[0], check_metadata=True) for schema in schemas)
    assert schemas[0].remove_metadata().equals(arrow_schema(sample.layout), check_metadata=True)
    middle = pq.read_table(folder / "facts" / "part-00002.parquet")
    assert middle["replicas"].null_count == len(middle) == 2
    assert duckdb.sql(f"select count(note) from '{facts(folder)}'").fetchall() == [(0,)]


def test_schema_holds_only_types_that_bi_tools_read(sample: Any, tmp_path: Path) -> None:
    # L16 to L19: no unsigned or narrow integers, no half floats, decimals, timestamps or nested types.
    file = pq.ParquetFile(sample.write(tmp_path) / "facts" / "part-00000.parquet")
    physical = {(column.physical_type, str(column.logical_type)) for column in file.schema}
    assert physical == {("BYTE_ARRAY", "String"), ("DOUBLE", "None"), ("INT64", "None"), ("BOOLEAN", "None")}
    stored = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(file.metadata.metadata[b"ARROW:schema"])))
    assert {str(field.type) for field in stored} == {"string", "double", "int64", "bool"}


def test_units_and_descriptions_are_in_the_field_metadata(sample: Any, tmp_path: Path) -> None:
    schema = pq.read_schema(sample.write(tmp_path) / "facts" / "part-00000.parquet")
    assert schema.field("headroom").metadata == {
        b"description": b"headroom",
        b"role": b"measure",
        b"unit": b"1",
        b"long_name": b"headroom",
    }
    assert schema.field("rho_target").metadata[b"unit"] == b"1"
    assert schema.metadata == {b"gridplan_grid": b"test", b"gridplan_version": b"0.1.0"}


def test_encodings_statistics_and_page_index(sample: Any, tmp_path: Path) -> None:
    file = pq.ParquetFile(sample.write(tmp_path, rows_per_part=None) / "facts" / "part-00000.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [6, 6, 6]
    group = file.metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert all(column.compression == "ZSTD" and column.is_stats_set for column in columns.values())
    assert all(column.has_column_index and column.has_offset_index for column in columns.values())
    assert "RLE_DICTIONARY" in columns["gpu"].encodings
    assert all("DICTIONARY" not in "".join(columns[name].encodings) for name in ("replicas", "usd_per_hour", "holds"))
    outer = [file.metadata.row_group(at).column(0).statistics for at in range(3)]
    assert [(own.min, own.max) for own in outer] == [("h100", "h100"), ("a100", "a100"), ("H100", "H100")]
    own = columns["replicas"].statistics
    assert (own.min, own.max, own.null_count) == (0, 2**53, 1)


@pytest.mark.parametrize(("compression", "stored"), [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("none", "UNCOMPRESSED")])
def test_compression_is_a_choice(sample: Any, tmp_path: Path, compression: Any, stored: str) -> None:
    folder = sample.write(tmp_path, options=WriteOptions(compression=compression))
    metadata = pq.ParquetFile(folder / "facts" / "part-00000.parquet").metadata
    assert {metadata.row_group(0).column(at).compression for at in range(metadata.num_columns)} == {stored}
    assert len(pl.read_parquet(facts(folder))) == 18


def test_row_groups_hold_at_most_a_million_rows(cube_type: Any, tmp_path: Path) -> None:
    axes = [AxisSpec(f"a{size}", tuple(float(n) for n in range(size)), False, "1") for size in (1, 1001, 1000)]
    cube = cube_type(make_layout(axes, [Column("x", "measure", "bool", ())]), {"x": np.ones((1, 1, 1))})
    folder = cube.write(tmp_path, rows_per_part=None, options=WriteOptions())
    file = pq.ParquetFile(folder / "facts" / "part-00000.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [500_000, 501_000]


def test_a_slice_reads_only_the_row_groups_of_its_label(sample: Any, tmp_path: Path) -> None:
    folder = sample.write(tmp_path, rows_per_part=None)
    fragment = next(pads.dataset(folder / "facts", format="parquet").get_fragments())
    assert [group.id for group in fragment.subset(pads.field("gpu") == "a100").row_groups] == [1]


def test_stacked_cubes_of_two_grids_read_as_one_table(sample: Any, cube_type: Any, tmp_path: Path) -> None:
    sample.write(tmp_path / "one")
    other = [AxisSpec("gpu", ("b200",), True, "label"), *sample.layout.axes[1:]]
    layout: Layout = make_layout(other, sample.layout.given, ranked=["vendor"])
    arrays = {name: values[:1] if values.shape[0] == 3 else values for name, values in sample.arrays.items()}
    cube_type(layout, arrays).write(tmp_path / "two")
    both = duckdb.sql(f"select gpu, count(*) from '{tmp_path}/*/facts/*.parquet' group by all order by all").fetchall()
    assert both == [("H100", 6), ("a100", 6), ("b200", 6), ("h100", 6)]
