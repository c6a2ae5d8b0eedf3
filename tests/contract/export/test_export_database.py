"""The DuckDB file: views and tables, opened read-only, in the format that DuckDB 1.0 reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from awkward_cube import GPUS
from table_view import View, assert_same, duckdb_view

from gridplan.export.database import STORAGE_VERSION

AXES = ("gpu", "arrival_rate", "tensor_parallel", "context")


@pytest.fixture(scope="module")
def path(export: Callable[..., Any]) -> Path:
    """The file."""
    found: Path = export("duckdb", "cube.duckdb", best="gpu").output
    return found


@pytest.fixture
def db(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file, opened as a dashboard opens it."""
    with duckdb.connect(str(path), read_only=True) as db:
        yield db


def position(view: View) -> list[int]:
    """Places of the rows in the order of the cube, which a view of SQL does not promise."""
    rates, widths = [10.0, 0.1, 1e6], [8.0, 1.0]
    columns = (view.values[name] for name in ("gpu_rank", "arrival_rate", "tensor_parallel", "context_rank"))
    keys = [(gpu, rates.index(rate), widths.index(width), at) for gpu, rate, width, at in zip(*columns, strict=True)]
    return sorted(range(view.rows), key=keys.__getitem__)


def test_the_view_cube_is_the_cube(db: duckdb.DuckDBPyConnection, truth: View) -> None:
    found = duckdb_view(db.sql("FROM cube"))
    assert_same(found.taken(position(found)), truth)


def test_the_view_feasible_holds_the_cells_with_a_plan(db: duckdb.DuckDBPyConnection, truth: View) -> None:
    found = duckdb_view(db.sql("FROM feasible"))
    kept = [place for place, status in enumerate(truth.values["status"]) if status == "ok"]
    assert_same(found.taken(position(found)), truth.taken(kept))


def test_tables_and_views_have_the_names_of_the_star(db: duckdb.DuckDBPyConnection) -> None:
    tables = db.sql("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL").fetchall()
    views = db.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL").fetchall()
    dims = [f"dim_{axis}" for axis in sorted(AXES)]
    assert [name for (name,) in tables] == ["about", "best", *dims, "fact", "metric"]
    assert [name for (name,) in views] == ["cube", "feasible"]
    counts = {name: db.sql(f"SELECT count(*) FROM {name}").fetchall()[0][0] for (name,) in tables}
    assert (counts["fact"], counts["dim_gpu"], counts["best"]) == (3600, len(GPUS), len(GPUS))


def test_metric_and_about_say_what_is_there(db: duckdb.DuckDBPyConnection, truth: View) -> None:
    named = db.sql("SELECT name, dtype FROM metric").fetchall()
    kinds = {"string": "text", "float64": "float", "int64": "int", "bool": "bool"}
    assert {name: kinds[dtype] for name, dtype in named} == truth.kinds
    said = {(topic, item): known for topic, item, *known in db.sql("FROM about").fetchall()}
    assert said["rows", "rows"] == said["cube", "cells"] == [None, 3600]
    assert said["axes", "gpu"] == [None, 300]
    assert said["cube", "description"] == ["=cmd() of <all>", None]
    for name in ("status", "infeasible_reason"):
        counted = {item: count for (topic, item), (_, count) in said.items() if topic == name}
        labels = [value for value in truth.values[name] if value is not None]
        assert counted == {label: labels.count(label) for label in set(labels)}


def test_units_are_comments(db: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT comment FROM duckdb_columns() WHERE table_name = 'fact' AND column_name = 'usd_per_mtok_output'"
    assert db.sql(query).fetchall() == [('a "price", USD/Mtok',)]


def test_duckdb_1_reads_the_file(db: duckdb.DuckDBPyConnection, path: Path) -> None:
    (tags,) = db.sql(f"SELECT tags FROM duckdb_databases() WHERE path = '{path}'").fetchall()[0]
    assert tags["storage_version"].startswith(STORAGE_VERSION.removesuffix(".0"))
    # The number of the format stands in the header: 64 is what DuckDB 0.10 to 1.1 write, and all later ones read.
    assert path.read_bytes()[8:12] == b"DUCK"
    assert int.from_bytes(path.read_bytes()[12:20], "little") == 64


def test_nothing_is_left_to_be_replayed(path: Path) -> None:
    assert [entry.name for entry in path.parent.iterdir() if entry.name.startswith((path.name, f".{path.name}"))] == [
        path.name
    ]
