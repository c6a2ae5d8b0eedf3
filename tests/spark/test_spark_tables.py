"""What Spark does beyond reading files whole: filters, parts of a folder, versions, what is said of columns."""

from __future__ import annotations

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as f
from spark_forms import Source

from gridplan.export.handover import export_cube


@pytest.mark.parametrize("form", ["facts", "wide", "delta"])
def test_a_filter_on_a_label_finds_its_rows(source: Source, form: str) -> None:
    """Spark leaves row groups and pages out by the least and the greatest label that a file states for them."""
    found = source.read(form)
    plan = found.filter(f.col("model") == "x")._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(model), EqualTo(model,x)]" in plan
    counts = {entry["values"]: entry["counts"] for entry in source.truth.column("model").value_counts().to_pylist()}
    for label in (*counts, "x", ""):
        assert found.filter(f.col("model") == label).count() == counts.get(label, 0), label


def test_filters_on_numbers_and_on_what_is_null(source: Source) -> None:
    found, truth = source.read("facts"), source.truth
    usd, reason = truth.column("usd_per_mtok_output"), truth.column("infeasible_reason")
    middle = pc.quantile(usd, 0.5)[0].as_py()
    assert 0 < usd.null_count < truth.num_rows
    assert found.filter(f.col("usd_per_mtok_output") <= middle).count() == pc.sum(pc.less_equal(usd, middle)).as_py()
    assert found.filter("usd_per_mtok_output IS NULL").count() == usd.null_count
    assert found.filter("infeasible_reason IS NOT NULL").count() == truth.num_rows - reason.null_count
    rate = source.manifest.layout.axes[source.axes.index("arrival_rate")].labels[0]
    assert found.filter(f.col("arrival_rate") == rate).count() == pc.sum(pc.equal(truth["arrival_rate"], rate)).as_py()


def test_the_parts_of_a_cube_have_one_schema(source: Source) -> None:
    """Whether a part has a plan or none, its columns have the same types."""
    merged = source.spark.read.option("mergeSchema", True).parquet(str(source.folder / "facts"))
    assert merged.schema == source.read("facts").schema


def test_small_tables(source: Source) -> None:
    for name in ("metric", "about", *(f"dim_{axis}" for axis in source.axes)):
        expected = pq.read_table(source.exported("star") / f"{name}.parquet")
        assert source.star(name).toArrow().to_pylist() == expected.to_pylist(), name
        if not name.startswith("dim_"):
            assert source.delta(name).toArrow().to_pylist() == expected.to_pylist(), name


def test_meanings_are_comments_in_the_log_of_a_delta_table(source: Source) -> None:
    said = {field.name: field.metadata["comment"] for field in source.delta("cube").schema}
    expected = {field.name: field.metadata[b"description"].decode() for field in source.truth.schema}
    assert said == expected
    assert said["usd_per_mtok_output"] != "usd_per_mtok_output"


def test_the_files_of_an_older_version_are_not_read(source: Source) -> None:
    path = source.out / "versions"
    for where in ("arrival_rate = 100", "arrival_rate = 100 AND status = 'ok'"):
        export_cube(source.folder, "delta", path, where=where, force=path.exists())
    table = DeltaTable(path / "cube")
    assert table.version() == 1
    assert len(table.file_uris()) < len(list((path / "cube").glob("*.parquet")))
    expected = pc.and_(pc.equal(source.truth["arrival_rate"], 100.0), pc.equal(source.truth["status"], "ok"))
    assert source.spark.read.parquet(*table.file_uris()).count() == pc.sum(expected).as_py()
