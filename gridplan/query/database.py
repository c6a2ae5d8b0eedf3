"""DuckDB, opened for one answer: an extra of the package, with nothing of the machine's own settings or extensions."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.errors import ContractError, MissingExtraError, Problem, RefusedError, StoreError
from gridplan.store.place import file_system, is_remote

if TYPE_CHECKING:
    import duckdb

__all__ = ["batches", "condition_errors", "duckdb_errors", "forget_footers", "needs_sql", "open_database"]

_FEW = 4
"""Threads that read where memory is bounded (policy)."""

_FOOTERS_KEPT = 1_000
"""Files whose footers are kept for a second look (policy): 0.2 MB each for a cube with all its columns, which of very
many files is more than a machine has."""

ROWS_PER_BATCH = 65_536
"""Rows handed over at once (policy): some 60 MB of a cube with all its columns."""

_REFUSED = re.compile(r"(Refused|Store)Error: (cannot read .*)")
"""What `ToldFiles` says, in the traceback that DuckDB makes of it."""


def needs_sql() -> None:
    """Refuse where DuckDB or the reader of conditions is not installed. Raises MissingExtraError."""
    if find_spec("duckdb") is None or find_spec("sqlglot") is None:
        raise MissingExtraError("stored cubes are asked through duckdb and sqlglot", "sql")


def open_database(memory: str | None = None, folder: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that keeps footers it has read and installs nothing; `memory` is what it may hold (`1GB`).

    Files of a `folder` in an object store are read through fsspec, with the credentials that it finds.
    """
    needs_sql()
    import duckdb

    own: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    db = duckdb.connect(config=own)
    if memory is not None:
        db.execute("SET memory_limit = ?", [memory])
        # Each thread holds pages of all columns beside that; to write takes longer than to read anyway.
        db.execute("SET threads = ?", [min(_FEW, os.cpu_count() or 1)])
    # Left to itself it would spill into the working directory; the folder is made when it is needed.
    db.execute("SET temp_directory = ?", [str(Path(tempfile.gettempdir()) / f"gridplan-{os.getpid()}")])
    # It would guess that a table of groups is as long as the cube, and keep the cube in memory to join the two.
    db.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    if folder is not None and is_remote(folder):
        from gridplan.query.told_files import ToldFiles

        db.register_filesystem(ToldFiles(file_system(folder)[1], skip_instance_cache=True))
    with contextlib.suppress(duckdb.CatalogException):  # older versions have no such setting
        db.execute("SET parquet_metadata_cache = true")
    return db


def forget_footers(db: duckdb.DuckDBPyConnection, files: int) -> None:
    """Have footers read anew where an answer takes more files than are worth keeping in memory."""
    import duckdb

    if files > _FOOTERS_KEPT:
        with contextlib.suppress(duckdb.CatalogException):  # older versions have no such setting
            db.execute("SET parquet_metadata_cache = false")


def batches(db: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The answer as a pyarrow.RecordBatchReader: a batch at a time, in order, never all of it."""
    relation = db.sql(sql)
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(ROWS_PER_BATCH)
    answer: Any = db.execute(sql)  # DuckDB 1
    return answer.fetch_record_batch(ROWS_PER_BATCH)


@contextlib.contextmanager
def condition_errors() -> Iterator[None]:
    """Turn what DuckDB says about a condition into a ContractError."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ContractError([Problem(_said(error), key="where")]) from error


def _said(error: Exception) -> str:
    """The first line of an error without the name of its kind."""
    kind, _, said = str(error).splitlines()[0].partition("Error: ")
    return said or kind


@contextlib.contextmanager
def duckdb_errors(folder: Path, doing: str = "read") -> Iterator[None]:
    """Turn what DuckDB says about a file, the disk or the memory into one StoreError, about a value a ContractError.

    A condition that fits the columns may still not fit a value: `least(status, gpus) = 1`.
    """
    import duckdb

    try:
        yield
    except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.BinderException) as error:
        raise ContractError([Problem(_said(error), key="where")]) from error
    except duckdb.Error as error:
        if refused := _REFUSED.search(str(error)):
            raise (RefusedError if refused[1] == "Refused" else StoreError)(refused[2]) from error
        said = str(error).splitlines()[0]
        hint = "; `gridplan verify` finds a damaged file" if doing == "read" else ""
        raise StoreError(f"{folder} cannot be {doing}: {said}{hint}") from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what it makes of an interrupt while it works
            raise KeyboardInterrupt from error
        raise
