"""An answer whose files are read by the workers of a cluster, each some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gridplan import __version__
from gridplan.engine.cluster.bench import check_seen, check_version, kept
from gridplan.engine.cluster.spread import in_order
from gridplan.query.database import batches, duckdb_errors, forget_footers, open_database
from gridplan.query.rounds import Round, Rounds
from gridplan.query.text import file_list
from gridplan.store.manifest import MANIFEST
from gridplan.store.place import is_remote, place_of

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa

__all__ = ["batches_on"]

FILES_AT_ONCE = 4
"""Files of one task (policy): some 8 million rows, so that the work outweighs the millisecond of a scheduler."""

MOST_TASKS = 2_000
"""Tasks of one round (policy): what a scheduler hands out in some two seconds."""


@dataclass(frozen=True)
class _Asked:
    """What all tasks of a round share: where the cube lies, the tables of earlier rounds, how many files they read."""

    key: str
    folder: str
    tables: Mapping[str, pa.Table]
    files: int
    version: str = field(default=__version__)


def batches_on(scheduler: str, folder: Path, files: Sequence[str], asked: Rounds) -> Iterator[pa.RecordBatch]:
    """The answer in batches, in order. Raises as `spread_on` does, and ContractError as of the query here."""
    if not asked.answer:
        for table in _tables(scheduler, folder, files, asked.rounds[0], {}, 1):
            yield from table.to_batches()
        return
    import pyarrow as pa

    known: dict[str, Any] = {}
    at_once = max(FILES_AT_ONCE, ceil(len(files) / MOST_TASKS))
    db = open_database()
    for one in asked.rounds:
        found = pa.concat_tables(_tables(scheduler, folder, files, one, known, at_once))
        if one.merged:
            db.register("found", found)
            found = _arrow(db, one.merged, folder)
            db.unregister("found")
        known[one.name] = found
    for name, table in known.items():
        db.register(name, table)
    with duckdb_errors(folder):
        yield from batches(db, asked.answer)


def _tables(
    scheduler: str, folder: Path, files: Sequence[str], one: Round, known: Mapping[str, Any], at_once: int
) -> Iterator[pa.Table]:
    """What is found in some files after another, in their order."""
    where = folder if is_remote(folder) else folder.absolute()
    asked = _Asked(uuid4().hex, str(where), known, len(files))
    pieces = [files[start : start + at_once] for start in range(0, len(files), at_once)]
    name = f"gridplan-slice-{asked.key[:12]}"
    tables = in_order(scheduler, _read, asked, pieces, lambda some: (one.of_files(file_list(where, some)),), name)
    return (table for _, table in tables)


def _read(asked: _Asked, sql: str) -> pa.Table:
    check_version(asked.version)
    return _arrow(kept(asked.key, lambda: _opened(asked)), sql, place_of(asked.folder))


def _opened(asked: _Asked) -> duckdb.DuckDBPyConnection:
    """A database with the tables of earlier rounds, for one thread. Raises StoreError where the cube is not seen."""
    folder = place_of(asked.folder)
    check_seen(folder, MANIFEST)
    db = open_database(None, folder)
    forget_footers(db, asked.files)
    db.execute("SET threads = 1")  # a worker has as many threads as it was given
    for name, table in asked.tables.items():
        db.register(name, table)
    return db


def _arrow(db: duckdb.DuckDBPyConnection, sql: str, folder: Path) -> pa.Table:
    import pyarrow as pa

    with duckdb_errors(folder):
        reader = batches(db, sql)
        return pa.Table.from_batches(list(reader), reader.schema)
