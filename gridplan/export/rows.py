"""The rows that are handed over: the cells of a cube, or those that meet a condition, with the columns asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gridplan.errors import ContractError
from gridplan.query.answer import Query
from gridplan.query.database import batches, duckdb_errors
from gridplan.query.select import cells_query
from gridplan.query.source import Source, asked_of, source_of
from gridplan.query.table import Table
from gridplan.query.text import read_sql
from gridplan.store.columns import Column

__all__ = ["MEMORY", "Rows", "open_rows"]

STATUS = ("status", "infeasible_reason", "binding_constraint")
"""Measures that every export has: a row without a plan says so."""

MEMORY = "512MB"
"""What DuckDB may hold while it hands rows over (policy); what is beyond goes to the disk."""


@dataclass(frozen=True)
class Rows:
    """Cells of a stored cube; `columns` are those handed over, in the order of its files."""

    source: Source
    columns: tuple[Column, ...]

    @property
    def table(self) -> Table:
        """The cube that they are of."""
        return self.source.table

    def figures(self, selected: str, rest: str = "") -> list[tuple[Any, ...]]:
        """The answer to `SELECT selected` over these rows; `rest` is what follows WHERE. Raises StoreError."""
        with duckdb_errors(self.table.folder):
            return self.source.db.execute(
                f"SELECT {selected} FROM {read_sql(self.source.files)} {self.source.where.clause} {rest}"
            ).fetchall()

    def count(self) -> int:
        """Number of rows."""
        return int(self.figures("count(*)")[0][0])

    def query(self, columns: Sequence[Column] | None = None) -> Query:
        """The rows, in the order of the cube."""
        return cells_query(self.source, columns or self.columns)

    def batches(self, query: Query) -> Iterator[pa.RecordBatch]:
        """The answer to a query, a batch at a time. Raises StoreError for a damaged file."""
        with duckdb_errors(self.table.folder):
            yield from batches(self.source.db, query.sql)

    def read(self, query: Query) -> pa.Table:
        """The whole answer to a query. Raises StoreError for a damaged file."""
        with duckdb_errors(self.table.folder):
            found: pa.Table = batches(self.source.db, query.sql).read_all()
        return found


def open_rows(folder: str | Path, where: str | Iterable[str] = (), measures: Sequence[str] = ()) -> Rows:
    """The rows of the cube in `folder` that meet the conditions, with all its columns, or those measures alone.

    Axes, ranks and coordinates always come, and so do the measures that say whether a cell has a plan.

    Raises
    ------
    ContractError
        For SQL that cannot be read, unknown columns and labels, with every problem.
    StoreError
        When the folder holds no finished cube, or a file of it is missing.
    MissingExtraError
        When the extra `sql` is not installed.
    """
    table, condition, problems = asked_of(folder, where)
    wanted = {*STATUS, *(column.name for column in table.found(measures, "measure", problems))}
    if problems:
        raise ContractError(problems)
    kept = [c for c in table.columns if c.role != "measure" or not measures or c.name in wanted]
    return Rows(source_of(table, condition, MEMORY), tuple(kept))
