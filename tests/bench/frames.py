"""The same cube made by a data frame library and by a database, from table to Parquet file.

Both start from `recipe.tables`, cross the capacity of a replica with utilisation targets and arrival rates, and compute
the rest in their own engine, with all cores. Each runs the fastest of the ways that were tried (see the functions);
files are zstd level 1 as those of gridplan are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from recipe import LAYERS, Tables

if TYPE_CHECKING:
    import duckdb

__all__ = ["duckdb_files", "duckdb_ready", "polars_file"]


def polars_file(tables: Tables, path: Path) -> None:
    """One file by Polars, streamed in any order of rows: collecting the table first or keeping the order is slower."""
    import polars as pl

    frame = pl.LazyFrame(tables.capacity)
    for axis, labels in tables.outer.items():
        frame = frame.join(pl.LazyFrame({axis: labels}), how="cross")
    for layer in LAYERS:
        frame = frame.with_columns(**{name: pl.sql_expr(expression) for name, expression in layer.items()})
    frame.select(tables.columns).sink_parquet(path, maintain_order=False, compression="zstd", compression_level=1)


def duckdb_ready(tables: Tables) -> duckdb.DuckDBPyConnection:
    """A database that holds the tables."""
    import duckdb

    database = duckdb.connect()
    database.execute("SET preserve_insertion_order = false")
    given = {"capacity": tables.capacity, **{axis: pa.table({axis: list(at)}) for axis, at in tables.outer.items()}}
    for name, table in given.items():
        database.register("given", table)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return database


def duckdb_files(database: duckdb.DuckDBPyConnection, tables: Tables, folder: Path) -> None:
    """Two files by DuckDB, one per half of the GPUs: a cross join of small tables keeps a single thread busy."""
    query = f"SELECT * FROM capacity CROSS JOIN {' CROSS JOIN '.join(tables.outer)} WHERE gpu_rank % 2 = {{half}}"
    for layer in LAYERS:
        query = f"SELECT *, {', '.join(f'{text} AS {name}' for name, text in layer.items())} FROM ({query})"
    query = f"SELECT {', '.join(tables.columns)} FROM ({query})"

    def copy(half: int) -> None:
        path = folder / f"half-{half}.parquet"
        options = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1"
        database.cursor().execute(f"COPY ({query.format(half=half)}) TO '{path}' ({options})")

    _at_once([lambda: copy(0), lambda: copy(1)])


def _at_once(jobs: list[Callable[[], None]]) -> None:
    """Run every job on a thread of its own; the first exception is raised here."""
    failures: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
