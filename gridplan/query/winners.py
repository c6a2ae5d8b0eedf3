"""The cell with the least or the largest of a measure among many, with its labels: argmin and argmax."""

from __future__ import annotations

from collections.abc import Sequence

from gridplan.query.answer import Query, counted, like
from gridplan.query.order import PLACE, grouped_order, rank_of
from gridplan.query.table import Table
from gridplan.query.text import listed, name_sql
from gridplan.query.where import Where
from gridplan.store.columns import Column

__all__ = ["TIE", "WINNERS", "winners_query"]

WINNERS = {"argmin": "min", "argmax": "max"}

TIE = "1e-9"
"""Relative difference up to which two values are equal (policy), as where plans are chosen."""


def winners_query(
    table: Table, files: str, where: Where, by: Sequence[Column], measures: Sequence[Column], aggregate: str
) -> Query:
    """One row for each combination of labels of `by` that has cells: the cell with the least (largest) first measure.

    The row has that value, the labels of all other axes, and the other `measures` of the same cell; null where no cell
    has a value. Of cells that tie, within 1e-9, the first in the order of the cube wins, and `ties` counts the others.
    """
    others = [column for column in table.columns if column.role == "axis" and column not in by]
    carried, keys = [*measures, *others], [name_sql(column.name) for column in by]
    names = [name_sql(column.name) for column in carried]
    parts = [
        _cells(table, files, where, by, carried),
        _extremes(table, by, names[0], WINNERS[aggregate]),
        _first_of_ties(keys, names, aggregate),
    ]
    given = [
        *(f"e.{key}" for key in keys),
        *(f"winner.{name} AS {name}" for name in names),
        *("tied - 1 AS ties", "cells", f"known AS {name_sql(f'count_{measures[0].name}')}"),
    ]
    lines = [
        "WITH " + ", ".join(parts),
        f"SELECT {', '.join(given)}",
        f"FROM e LEFT JOIN w ON {_same(keys, 'w')}",
        *([f"ORDER BY {', '.join(grouped_order(table, by, 'e.{}', 'e.{}'))}"] if by else []),
    ]
    columns = (
        *map(like, (*by, *carried)),
        counted("ties", "other cells of this row with the same value"),
        counted("cells", "cells of this row"),
        counted(f"count_{measures[0].name}", f"cells with a value of {measures[0].name}"),
    )
    return Query("\n".join(lines), columns)


def _cells(table: Table, files: str, where: Where, by: Sequence[Column], carried: Sequence[Column]) -> str:
    """`c`: the cells that are compared, each with its place in the cube."""
    ranks = [rank for column in by if (rank := rank_of(table, column)) is not None]
    read = listed(dict.fromkeys([*(column.name for column in (*by, *carried)), *ranks]))
    source = f"read_parquet({files}, filename = true, file_row_number = true)"
    return f"c AS (\n  SELECT {read}, {PLACE} AS place\n  FROM {source} {where.clause}\n)"


def _extremes(table: Table, by: Sequence[Column], first: str, extreme: str) -> str:
    """`e`: for each row of the answer the extreme, and how many cells there are."""
    keys = [name_sql(column.name) for column in by]
    ranks = [name_sql(rank) for column in by if (rank := rank_of(table, column)) is not None]
    figures = [f"{extreme}({first}) AS extreme", "count(*) AS cells", f"count({first}) AS known"]
    selected = ", ".join([*keys, *figures, *(f"min({rank}) AS {rank}" for rank in ranks)])
    return f"e AS (\n  SELECT {selected}\n  FROM c{_group(keys)}\n)"


def _first_of_ties(keys: Sequence[str], names: Sequence[str], aggregate: str) -> str:
    """`w`: the first of the cells that reach the extreme, and how many do; no row where no cell has a value."""
    bound = f"<= extreme + {TIE} * abs(extreme)" if aggregate == "argmin" else f">= extreme - {TIE} * abs(extreme)"
    kept = ", ".join(f"{name} := c.{name}" for name in names)
    own = [f"c.{key}" for key in keys]
    selected = ", ".join([*own, f"arg_min(struct_pack({kept}), c.place) AS winner", "count(*) AS tied"])
    ending = _group(own) or " HAVING count(*) > 0"
    return f"w AS (\n  SELECT {selected}\n  FROM c JOIN e ON {_same(keys, 'c')} WHERE c.{names[0]} {bound}{ending}\n)"


def _group(keys: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _same(keys: Sequence[str], side: str) -> str:
    """Rows of `e` and of another side with the same labels; null is a label here."""
    return " AND ".join(f"{side}.{key} IS NOT DISTINCT FROM e.{key}" for key in keys) or "true"
