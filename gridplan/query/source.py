"""The beginning of every question: the table, the condition, and the files that hold rows of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.errors import ContractError, Problem
from gridplan.query.database import forget_footers, needs_sql, open_database
from gridplan.query.files import check_condition, files_sql, held_parts, held_positions
from gridplan.query.table import Table, open_table

if TYPE_CHECKING:
    import duckdb

    from gridplan.query.where import Where
    from gridplan.store.blocks import Part

__all__ = ["Source", "asked_of", "source_of"]


@dataclass(frozen=True)
class Source:
    """Where the rows of an answer are: in `parts`; `files` is the first argument of `read_parquet` that names them."""

    table: Table
    where: Where
    files: str
    db: duckdb.DuckDBPyConnection
    parts: Sequence[Part]


def asked_of(folder: str | Path, where: str | Iterable[str]) -> tuple[Table, Where, list[Problem]]:
    """The table in a folder, the condition on it, and what is wrong with that.

    Raises StoreError when the folder holds no finished cube, MissingExtraError when the extra `sql` is not installed.
    """
    needs_sql()
    from gridplan.query.where import Where, read_where

    table = open_table(folder)
    try:
        return table, read_where([where] if isinstance(where, str) else list(where), table), []
    except ContractError as error:
        return table, Where(), list(error.problems)


def source_of(table: Table, where: Where, memory: str | None = None) -> Source:
    """The files with rows that may meet the condition.

    Raises ContractError for a condition that does not fit the columns, StoreError for a file that is missing.
    """
    db = open_database(memory, table.folder)
    check_condition(db, table, where)
    parts = held_parts(table, held_positions(db, table, where))
    table.check(parts)
    forget_footers(db, len(parts))
    return Source(table, where, files_sql(table, parts), db, parts)
