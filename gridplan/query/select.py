"""Queries over the cells of a cube: the cells themselves, or one figure for each label of some columns."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.query.answer import AnswerColumn, Query, counted, like
from gridplan.query.doubts import Doubts
from gridplan.query.order import grouped_order
from gridplan.query.source import Source
from gridplan.query.text import listed, name_sql, read_sql
from gridplan.store.columns import Column

__all__ = ["AGGREGATES", "cells_query", "grouped_query"]

AGGREGATES = {
    **{"min": "min", "max": "max", "mean": "avg", "avg": "avg"},
    **{"median": "median", "sum": "sum", "count": "count"},
}
"""Figures of many cells (of those that have a value), and what SQL calls each."""


def cells_query(source: Source, columns: Sequence[Column]) -> Query:
    """The cells themselves, in the order of the cube."""
    lines = [
        f"SELECT {listed(column.name for column in columns)}",
        f"FROM {read_sql(source.files)}",
        source.where.clause,
    ]
    return Query("\n".join(filter(None, lines)), tuple(map(like, columns)))


def grouped_query(
    source: Source,
    by: Sequence[Column],
    measures: Sequence[Column],
    aggregate: str,
    doubts: Doubts,
) -> Query:
    """One row for each combination of labels of `by` that has cells, with the figure of each measure over its cells.

    `cells` counts them and `count_<measure>` those that have a value. Cells without a plan have none, so a row where
    none has a plan holds null. What `doubts` counts comes last and is no column of the answer.
    """
    keys = [name_sql(column.name) for column in by]
    figures: list[tuple[str, AnswerColumn]] = []
    for column in measures:
        name = name_sql(column.name)
        if aggregate != "count":
            halves = AGGREGATES[aggregate] in ("avg", "median")
            made = like(column, f"{aggregate}_{column.name}", "float64" if halves else None)
            figures.append((_figure(aggregate, name, column), made))
    figures.append(("count(*)", counted("cells", "cells of this row")))
    for column in measures:
        about = counted(f"count_{column.name}", f"cells with a value of {column.name}")
        figures.append((f"count({name_sql(column.name)})", about))
    selected = [*keys, *(f"{sql} AS {name_sql(column.name)}" for sql, column in figures)]
    selected += doubts.counts(f"{name_sql(measures[0].name)} IS NOT NULL")
    lines = [f"SELECT {', '.join(selected)}", f"FROM {read_sql(source.files)}", source.where.clause]
    if by:
        lines += [f"GROUP BY {', '.join(keys)}", f"ORDER BY {', '.join(grouped_order(source.table, by, 'min({})'))}"]
    columns = (*map(like, by), *(column for _, column in figures))
    return Query("\n".join(filter(None, lines)), columns)


def _figure(aggregate: str, name: str, column: Column) -> str:
    # A sum of whole numbers is a HUGEINT in DuckDB, which few readers know.
    whole = aggregate == "sum" and column.dtype == "int64"
    return f"CAST(sum({name}) AS BIGINT)" if whole else f"{AGGREGATES[aggregate]}({name})"
