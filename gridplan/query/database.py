"""DuckDB, opened for one answer: an extra of the package, with nothing of the machine's own settings or extensions."""

from __future__ import annotations

import contextlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gridplan.errors import MissingExtraError

if TYPE_CHECKING:
    import duckdb

__all__ = ["batches", "needs_sql", "open_database"]

ROWS_PER_BATCH = 65_536
"""Rows handed over at once (policy): some 60 MB of a cube with all its columns."""


def needs_sql() -> None:
    """Refuse where DuckDB or the reader of conditions is not installed. Raises MissingExtraError."""
    if find_spec("duckdb") is None or find_spec("sqlglot") is None:
        raise MissingExtraError("slices are read by duckdb and sqlglot", "sql")


def open_database(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """A connection that keeps footers it has read and installs nothing."""
    needs_sql()
    import duckdb

    own: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    db = duckdb.connect(path, config=own)
    with contextlib.suppress(duckdb.CatalogException):  # older versions have no such setting
        db.execute("SET parquet_metadata_cache = true")
    return db


def batches(db: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The answer as a pyarrow.RecordBatchReader: a batch at a time, in order, never all of it."""
    relation = db.sql(sql)
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(ROWS_PER_BATCH)
    answer: Any = db.execute(sql)  # DuckDB 1
    return answer.fetch_record_batch(ROWS_PER_BATCH)
