"""The table of winners as it is handed over: the best plan of each label, with all columns of its row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gridplan.errors import ContractError, Problem
from gridplan.export.rows import Rows
from gridplan.query.answer import AnswerColumn, counted, like
from gridplan.query.arrow import schema_of
from gridplan.query.best import CANDIDATES, best_query
from gridplan.query.gather import rows_at
from gridplan.query.order import rank_of
from gridplan.sensitivity.axes import free_levers
from gridplan.sensitivity.roles import axis_role
from gridplan.store.columns import Column

__all__ = ["best_columns", "best_table", "cautions"]

COUNTS = ("cells", CANDIDATES, "ties")


def best_columns(rows: Rows, by: Sequence[str], measure: str) -> tuple[list[Column], Column]:
    """The columns that stay and the measure that is to be least. Raises ContractError with every problem."""
    problems: list[Problem] = []
    kept = rows.table.found(by, "best", problems)
    least = next(iter(rows.table.found([measure], "best_measure", problems)), None)
    if least is not None and least.dtype in ("string", "bool"):
        problems.append(Problem(f"{measure} has no order", key="best_measure"))
    elif least in kept:
        problems.append(Problem(f"{measure} stays already (best)", key="best_measure"))
    if problems or least is None:
        raise ContractError(problems)
    return kept, least


def cautions(rows: Rows, by: Sequence[Column]) -> list[str]:
    """What a reader must know who takes a winner for the best plan: what it is also the best over."""
    sizes = {axis.name: len(axis.labels) for axis in rows.table.axes}
    asked = {column.name for column in by}
    free = [name for name, size in sizes.items() if size > 1 and name not in asked]
    tied = set(rows.source.where.columns)
    said = []
    if happening := [name for name in free if axis_role(name) != "lever"]:
        what = f"{', '.join(happening)}, which nobody chooses"
        said.append(f"a winner is also the best over {what}: name {_them(happening)} in --best as well")
    if formats := [name for name in ("weight_dtype", "kv_dtype") if name in free and name not in tied]:
        what = f"{' and '.join(formats)} chosen freely: the cheapest plan tends to the lowest precision"
        said.append(f"{what}; --where keeps those that your evaluations accept")
    if promises := free_levers(sizes, free, tied, False):
        what = f"{', '.join(promises)} chosen freely: the cheapest plan promises least"
        said.append(f"{what}; name {_them(promises)} in --best as well, or fix {_them(promises)} with --where")
    return said


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def best_table(rows: Rows, by: Sequence[Column], measure: Column) -> pa.Table:
    """One row for each combination of labels of `by`, in the order of the cube: the plan with the least measure.

    The columns are those of the rows, then `cells`, `candidates` and `ties`. Where no cell is a candidate, all but the
    labels of `by`, their ranks and the counts is null.
    """
    found = rows.read(best_query(rows.source, by, measure))
    rest = [column for column in rows.columns if column not in by]
    places = found.column("place").combine_chunks()
    known = places.drop_null().to_numpy()
    order = known.argsort()
    gathered = rows_at(rows.table, known[order], [column.name for column in rest])
    # Where a winner stands among those that were gathered; null where a row has no winner.
    index = pc.index_in(places, value_set=pa.array(known[order]))
    columns = {column.name: found.column(column.name) for column in by}
    columns |= {column.name: gathered.column(column.name).take(index) for column in rest}
    columns |= {name: found.column(name) for name in COUNTS}
    for column in by:
        axis, rank = rows.table.axis(column.name), rank_of(rows.table, column)
        if axis is not None and rank in columns:
            # Known of a label also where nothing may be chosen: tables are sorted by it, and joined.
            labels = pa.array(axis.labels, pa.string())
            columns[rank] = pc.index_in(columns[column.name], value_set=labels).cast(pa.int64())
    own = [*map(like, rows.columns), *_counts()]
    schema = schema_of([column for column in own if column.name in columns])
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _counts() -> list[AnswerColumn]:
    said = ("cells of this row", "cells that were compared; 0 where nothing may be chosen", "other cells as good")
    return [counted(name, meaning) for name, meaning in zip(COUNTS, said, strict=True)]
