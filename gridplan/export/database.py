"""A DuckDB database: the star schema as tables, and views that put it together again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from gridplan.export.batches import foreign_reader
from gridplan.export.rows import MEMORY, Rows
from gridplan.export.star import Star, key_of
from gridplan.query.database import duckdb_errors, open_database
from gridplan.query.text import name_sql, text_sql
from gridplan.store.files import discard

__all__ = ["STORAGE_VERSION", "write_database"]

STORAGE_VERSION = "v1.0.0"
"""Format of the file (policy): every DuckDB since 1.0 reads it, and tools ship older versions than pip installs."""


def write_database(
    path: Path, rows: Rows, star: Star, tables: Mapping[str, pa.Table], facts: Iterable[pa.RecordBatch]
) -> dict[str, int]:
    """Write tables `fact` and `tables`, and views `cube` and `feasible`; count the rows of each table.

    Units and meanings are comments on the columns of `fact`. Raises StoreError for a disk that refuses; the caller
    removes what was written of the file.
    """
    try:
        with duckdb_errors(path, "written"), open_database(MEMORY) as db:
            return _written(db, path, rows, star, tables, facts)
    finally:
        discard(path.with_name(f"{path.name}.wal"))  # what DuckDB notes beside a file that it could not close


def _written(
    db: duckdb.DuckDBPyConnection,
    path: Path,
    rows: Rows,
    star: Star,
    tables: Mapping[str, pa.Table],
    facts: Iterable[pa.RecordBatch],
) -> dict[str, int]:
    attached = f"ATTACH {text_sql(str(path))} AS made"
    try:
        db.execute(f"{attached} (STORAGE_VERSION '{STORAGE_VERSION}')")
    except (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException):
        db.execute(attached)  # older versions write no other format
    db.execute("USE made")
    written = {name: _create(db, name, table.to_reader()) for name, table in tables.items()}
    with foreign_reader(star.schema, facts) as reader:
        written["fact"] = _create(db, "fact", reader)
    for column in star.columns:
        said = ", ".join(filter(None, [column.meta.get("long_name"), column.meta.get("unit")]))
        if said:
            db.execute(f"COMMENT ON COLUMN fact.{name_sql(column.name)} IS {text_sql(said)}")
    db.execute(f"CREATE VIEW cube AS {_cube(rows, star)}")
    if any(column.name == "status" for column in rows.columns):
        db.execute("CREATE VIEW feasible AS SELECT * FROM cube WHERE status = 'ok'")
    db.execute("USE memory")
    db.execute("DETACH made")
    return written


def _create(db: duckdb.DuckDBPyConnection, name: str, reader: pa.RecordBatchReader) -> int:
    db.register("incoming", reader)
    with contextlib.ExitStack() as after:
        after.callback(db.unregister, "incoming")
        found = db.execute(f"CREATE TABLE {name_sql(name)} AS SELECT * FROM incoming").fetchall()
    return int(found[0][0])


def _cube(rows: Rows, star: Star) -> str:
    """The columns of the cube in their order, labels from the tables of the axes."""
    homes = {name: f"dim_{axis}" for axis, dim in star.dims.items() for name in dim.column_names}
    homes |= {axis: f"dim_{axis}" for axis in star.dims} | {column.name: "fact" for column in star.columns}
    columns = []
    for column in rows.columns:
        axis = column.name.removesuffix("_rank")
        if column.role == "rank" and axis in star.dims:
            columns.append(f"fact.{name_sql(key_of(axis))} AS {name_sql(column.name)}")
        else:
            columns.append(f"{name_sql(homes[column.name])}.{name_sql(column.name)}")
    joins = "".join(f" JOIN {name_sql(f'dim_{axis}')} USING ({name_sql(key_of(axis))})" for axis in star.dims)
    return f"SELECT {', '.join(columns)} FROM fact{joins}"
