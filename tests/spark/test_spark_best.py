"""The question of a dashboard in Spark SQL: the cheapest plan of each model at each rate, as in the table `best`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_forms import BEST, Source

WINNERS = """
WITH candidate AS (
    SELECT {axes}, struct({order}) AS rank, usd_per_mtok_output,
           min(usd_per_mtok_output) OVER (PARTITION BY model, arrival_rate) AS least,
           count(*) OVER (PARTITION BY model, arrival_rate) AS candidates
    FROM cube
    WHERE status = 'ok' AND coalesce(fleet_sufficient, true) AND usd_per_mtok_output IS NOT NULL
), tied AS (
    SELECT {axes}, candidates, count(*) OVER (PARTITION BY model, arrival_rate) - 1 AS ties,
           row_number() OVER (PARTITION BY model, arrival_rate ORDER BY rank) AS place
    FROM candidate WHERE usd_per_mtok_output <= least * (1 + 1e-9)
)
SELECT * FROM cube JOIN (SELECT * FROM tied WHERE place = 1) USING ({axes})
"""
"""Ties, within a billionth, go to the first in the order of the cube."""

SHORT = """
SELECT model, arrival_rate, min(usd_per_mtok_output) AS usd,
       min_by(struct({axes}), struct(usd_per_mtok_output, {order})) AS plan
FROM cube
WHERE status = 'ok' AND coalesce(fleet_sufficient, true) AND usd_per_mtok_output IS NOT NULL
GROUP BY model, arrival_rate
"""
"""What fits on a tile: ties to the last bit go to the first."""


def asked(source: Source, query: str) -> str:
    """A query with the axes of the cube, and the columns that sort them in declared order."""
    text = {axis.name for axis in source.manifest.layout.axes if axis.is_text}
    order = ", ".join(f"{axis}_rank" if axis in text else axis for axis in source.axes)
    return query.format(axes=", ".join(source.axes), order=order)


def best_of(source: Source) -> pa.Table:
    """The table of winners as pyarrow reads it, rows without a candidate left out."""
    best = pq.read_table(source.exported("wide").with_name("wide_best.parquet"))
    return best.filter(pc.greater(best.column("candidates"), 0))


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in BEST])


@pytest.mark.parametrize("form", ["facts", "star"])
def test_a_window_finds_the_rows_of_the_table_best(source: Source, form: str) -> None:
    source.read(form).createOrReplaceTempView("cube")
    best = in_order(best_of(source))
    found = in_order(source.spark.sql(asked(source, WINNERS)).toArrow())
    assert set(found.column_names) == {*best.column_names, "place"} - {"cells"}
    for name in found.drop_columns("place").column_names:
        assert found.column(name).equals(best.column(name)), name


def test_min_by_finds_the_labels_of_the_table_best(source: Source) -> None:
    source.read("wide").createOrReplaceTempView("cube")
    rows = source.spark.sql(asked(source, SHORT)).collect()
    found = {(row.model, row.arrival_rate): (row.usd, row.plan.asDict()) for row in rows}
    best = best_of(source).to_pylist()
    assert len(found) == len(best) > 50
    for row in best:
        usd, plan = found[row["model"], row["arrival_rate"]]
        assert usd == pytest.approx(row["usd_per_mtok_output"], rel=1e-9, abs=0)
        assert plan == {name: row[name] for name in source.axes}


@pytest.mark.parametrize("form", ["star", "wide", "delta"])
def test_spark_reads_the_table_best_itself(source: Source, form: str) -> None:
    path = source.exported("wide").with_name("wide_best.parquet")
    if form == "wide":
        found = source.spark.read.parquet(str(path))
    elif form == "star":  # here it has keys before its labels
        path, found = source.exported("star") / "best.parquet", source.star("best")
    else:
        found = source.delta("best")
    best = in_order(pq.read_table(path))
    table = in_order(found.toArrow())
    assert table.num_rows == best.num_rows
    for name in best.column_names:
        assert table.column(name).equals(best.column(name)), name
