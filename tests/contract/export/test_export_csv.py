"""One CSV file and the types beside it, read by every reader; what begins like a formula has an apostrophe in front."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from table_view import View, arrow_view, assert_same, duckdb_view, pandas_view, polars_view

Types = Mapping[str, str]
DUCKDB = {"STRING": "VARCHAR", "FLOAT": "DOUBLE", "INTEGER": "BIGINT", "BOOLEAN": "BOOLEAN"}
POLARS = {"STRING": pl.String, "FLOAT": pl.Float64, "INTEGER": pl.Int64, "BOOLEAN": pl.Boolean}
PANDAS = {"STRING": "string", "FLOAT": "Float64", "INTEGER": "Int64", "BOOLEAN": "boolean"}
ARROW = {"STRING": pa.string(), "FLOAT": pa.float64(), "INTEGER": pa.int64(), "BOOLEAN": pa.bool_()}
KINDS = {"STRING": "text", "FLOAT": "float", "INTEGER": "int", "BOOLEAN": "bool"}
PLAIN: Mapping[str, Callable[[str], Any]] = {
    **{"text": str, "float": float, "int": int},
    "bool": {"true": True, "false": False}.__getitem__,
}


def by_duckdb(path: Path, types: Types) -> View:
    columns = {name: DUCKDB[kind] for name, kind in types.items()}
    with duckdb.connect() as db:
        return duckdb_view(db.read_csv(str(path), header=True, columns=columns, quotechar='"', escapechar='"'))


def by_polars(path: Path, types: Types) -> View:
    return polars_view(pl.read_csv(path, schema={name: POLARS[kind] for name, kind in types.items()}))


def by_pandas(path: Path, types: Types) -> View:
    kinds: Any = {name: PANDAS[kind] for name, kind in types.items()}
    # Left to itself it takes the texts null and NA for nothing.
    frame = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    return pandas_view(frame)


def by_pyarrow(path: Path, types: Types) -> View:
    kinds = {name: ARROW[kind] for name, kind in types.items()}
    nulls = pacsv.ConvertOptions(
        column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    return arrow_view(pacsv.read_csv(path, None, pacsv.ParseOptions(newlines_in_values=True), nulls))


def by_python(path: Path, types: Types) -> View:
    with path.open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines, strict=True)
    kinds = {name: KINDS[types[name]] for name in head}
    values = {
        name: [None if row[place] == "" else PLAIN[kinds[name]](row[place]) for row in rows]
        for place, name in enumerate(head)
    }
    return View(kinds, values)


READERS: dict[str, Callable[[Path, Types], View]] = {
    **{"duckdb": by_duckdb, "polars": by_polars, "pandas": by_pandas},
    **{"pyarrow": by_pyarrow, "python": by_python},
}


def harmless(text: str) -> str:
    return f"'{text}" if text[0] in "=+-@\t\r\n" else text


@pytest.fixture(scope="module")
def exported(export: Callable[..., Any]) -> Any:
    """The export, without a table of winners."""
    return export("csv", "cells.csv")


def types_of(path: Path) -> Types:
    """Types by name, from the file beside a CSV."""
    return {field["name"]: field["type"] for field in json.loads(path.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def types(exported: Any) -> Types:
    """Types of the cells."""
    return types_of(exported.output.with_name("cells_schema.json"))


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_the_cube(reader: str, exported: Any, types: Types, truth: View) -> None:
    assert_same(READERS[reader](exported.output, types), truth.mapped(harmless))


@pytest.fixture(scope="module")
def won(export: Callable[..., Any]) -> tuple[Path, View]:
    """The CSV file of the winners, and what Parquet has of them."""
    few = {"best": "gpu", "measures": "usd_per_month", "where": "context = '16k'"}
    beside = export("wide", "won.parquet", **few).output.with_name("won_best.parquet")
    return export("csv", "won.csv", **few).output.with_name("won_best.csv"), arrow_view(pq.read_table(beside))


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_the_winners(reader: str, won: tuple[Path, View]) -> None:
    path, wanted = won
    types = types_of(path.with_name("won_best_schema.json"))
    assert_same(READERS[reader](path, types), wanted.mapped(harmless))


def test_changed_texts_are_counted(exported: Any, truth: View) -> None:
    texts = [value for name, kind in truth.kinds.items() if kind == "text" for value in truth.values[name] if value]
    changed = sum(text != harmless(text) for text in texts)
    (said,) = exported.warnings
    assert said.startswith(f"{changed:,} texts begin like a formula: each has an apostrophe in front")


def test_the_bytes_are_utf8_without_a_mark_and_with_line_feeds(exported: Any) -> None:
    content = exported.output.read_bytes()
    assert content.startswith(b'"gpu","arrival_rate","tensor_parallel","context",')
    assert content.endswith(b"\n")
    assert "集群一号" in content.decode("utf-8")


def test_the_schema_is_one_that_bigquery_takes(exported: Any) -> None:
    fields = json.loads(exported.output.with_name("cells_schema.json").read_text(encoding="utf-8"))
    assert {tuple(field) for field in fields} == {("name", "type", "mode", "description")}
    assert {field["mode"] for field in fields} == {"NULLABLE"}
    said = {field["name"]: field["description"] for field in fields}
    assert said["usd_per_mtok_output"] == 'a "price" [USD/Mtok]'
