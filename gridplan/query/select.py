"""Queries over the cells of a cube: the cells themselves, or one figure for each label of some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gridplan.query.answer import AnswerColumn, Query, counted, like
from gridplan.query.doubts import Doubts
from gridplan.query.order import grouped_order, rank_of
from gridplan.query.rounds import Round, Rounds, whole_sum
from gridplan.query.source import Source
from gridplan.query.text import listed, name_sql, read_sql
from gridplan.store.columns import Column

__all__ = ["AGGREGATES", "cells_query", "cells_rounds", "grouped_query", "grouped_rounds"]

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


def cells_rounds(source: Source, columns: Sequence[Column]) -> Rounds:
    """The same, of one file after another."""
    return Rounds((Round("found", lambda files: cells_query(replace(source, files=files), columns).sql),))


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
    figures = _figures(measures, aggregate)
    selected = [*_keys(by), *(f"{figure.whole} AS {name_sql(figure.column.name)}" for figure in figures)]
    selected += doubts.counts(_known(measures))
    lines = [f"SELECT {', '.join(selected)}", f"FROM {read_sql(source.files)}", source.where.clause]
    lines += _grouping(source, by)
    columns = (*map(like, by), *(figure.column for figure in figures))
    return Query("\n".join(filter(None, lines)), columns)


def grouped_rounds(
    source: Source,
    by: Sequence[Column],
    measures: Sequence[Column],
    aggregate: str,
    doubts: Doubts,
) -> Rounds:
    """The same, found of some files at a time and put together: least values and counts exactly, sums up to rounding.

    The median needs all values in one place, so they travel.
    """
    figures = _figures(measures, aggregate)
    pieces = [f"{sql} AS {name}" for figure in figures for name, sql in figure.pieces.items()]
    ranks = [f"min({rank}) AS {rank}" for column in by if (rank := rank_of(source.table, column)) is not None]
    selected = ", ".join([*_keys(by), *pieces, *ranks, *doubts.counts(_known(measures))])
    grouped = f" GROUP BY {', '.join(_keys(by))}" if by else ""

    def of_files(files: str) -> str:
        return f"SELECT {selected} FROM {read_sql(files)} {source.where.clause}{grouped}"

    wanted = [*_keys(by), *(f"{figure.merged} AS {name_sql(figure.column.name)}" for figure in figures)]
    wanted += [f"{whole_sum(name)} AS {name}" for name in doubts.columns]
    lines = [f"SELECT {', '.join(wanted)}", "FROM found", *_grouping(source, by)]
    return Rounds((Round("found", of_files),), "\n".join(lines))


@dataclass(frozen=True)
class _Figure:
    """A column of an answer in SQL: of all cells, of some of them by the names of `pieces`, and of all such pieces."""

    column: AnswerColumn
    whole: str
    pieces: Mapping[str, str]
    merged: str


def _figures(measures: Sequence[Column], aggregate: str) -> list[_Figure]:
    figures = []
    for place, column in enumerate(measures):
        if aggregate != "count":
            halves = AGGREGATES[aggregate] in ("avg", "median")
            made = like(column, f"{aggregate}_{column.name}", "float64" if halves else None)
            figures.append(_figure(AGGREGATES[aggregate], name_sql(column.name), made, f"piece_{place}"))
    figures.append(_counted("count(*)", counted("cells", "cells of this row"), "piece_cells"))
    for place, column in enumerate(measures):
        about = counted(f"count_{column.name}", f"cells with a value of {column.name}")
        figures.append(_counted(f"count({name_sql(column.name)})", about, f"piece_count_{place}"))
    return figures


def _figure(function: str, name: str, made: AnswerColumn, piece: str) -> _Figure:
    of_cells = f"{function}({name})"
    if function == "avg":
        pieces = {piece: f"CAST(sum({name}) AS DOUBLE)", f"{piece}_known": f"count({name})"}
        return _Figure(made, of_cells, pieces, f"sum({piece}) / nullif(sum({piece}_known), 0)")
    if function == "median":
        pieces = {piece: f"list({name}) FILTER ({name} IS NOT NULL)"}
        return _Figure(made, of_cells, pieces, f"list_aggregate(flatten(list({piece})), 'median')")
    if function == "sum" and made.dtype == "int64":
        # A sum of whole numbers is a HUGEINT in DuckDB, which few readers know.
        return _Figure(made, whole_sum(name), {piece: whole_sum(name)}, whole_sum(piece))
    return _Figure(made, of_cells, {piece: of_cells}, f"{function}({piece})")


def _counted(sql: str, column: AnswerColumn, piece: str) -> _Figure:
    return _Figure(column, sql, {piece: sql}, whole_sum(piece))


def _keys(by: Sequence[Column]) -> list[str]:
    return [name_sql(column.name) for column in by]


def _known(measures: Sequence[Column]) -> str:
    """The condition of a cell that is compared."""
    return f"{name_sql(measures[0].name)} IS NOT NULL"


def _grouping(source: Source, by: Sequence[Column]) -> list[str]:
    if not by:
        return []
    order = grouped_order(source.table, by, "min({})")
    return [f"GROUP BY {', '.join(_keys(by))}", f"ORDER BY {', '.join(order)}"]
