"""The order in which rows of an answer come: that of the cube, labels as they were declared."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.query.table import Table
from gridplan.query.text import name_sql, number_sql
from gridplan.store.columns import Column

__all__ = ["PLACE", "ROW_BITS", "grouped_order", "rank_of"]

PLACE = r"CAST(regexp_extract(filename, 'part-(\d+)[.]parquet$', 1) AS BIGINT) << 32 | file_row_number"
"""Where a row stands in the cube, as a number that grows from row to row: its part, then its row in the file."""

ROW_BITS = 32
"""Bits of a place that hold the row."""


def rank_of(table: Table, column: Column) -> str | None:
    """The column that says where a label stands among its axis, for labels that are text."""
    name = f"{column.name}_rank"
    return name if column.dtype == "string" and table.column(name) is not None else None


def grouped_order(table: Table, by: Sequence[Column], rank: str, name: str = "{}") -> list[str]:
    """Terms of ORDER BY for rows that are grouped by these columns.

    `rank` is how a column of ranks is written there, and `name` how one of `by` is.
    """
    return [_term(table, column, rank, name.format(name_sql(column.name))) for column in by]


def _term(table: Table, column: Column, rank: str, name: str) -> str:
    axis = table.axis(column.name)
    if (ranked := rank_of(table, column)) is not None:
        return rank.format(name_sql(ranked))
    labels = [] if axis is None else [float(label) for label in axis.labels]
    if labels == sorted(labels):
        return f"{name} NULLS LAST" if axis is None else name
    if labels == sorted(labels, reverse=True):
        return f"{name} DESC"
    return f"list_position([{', '.join(map(number_sql, labels))}]::DOUBLE[], {name})"
