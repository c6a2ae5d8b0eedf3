"""Which files of a cube hold rows of an answer, from its manifest alone: no footer is read to leave a file out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gridplan.errors import ContractError, Problem
from gridplan.query.database import condition_errors
from gridplan.query.table import Table
from gridplan.query.text import file_list, name_sql
from gridplan.store.blocks import Part
from gridplan.store.place import is_remote

if TYPE_CHECKING:
    import duckdb

    from gridplan.query.where import Where

__all__ = ["check_condition", "files_sql", "held_parts", "held_positions"]


def held_positions(db: duckdb.DuckDBPyConnection, table: Table, where: Where) -> dict[str, list[int]]:
    """For each axis that a condition speaks of alone, the positions of the labels where it holds, in order."""
    found = {}
    for name, parts in where.of_axis.items():
        axis = table.axis(name)
        assert axis is not None
        kind = "VARCHAR" if axis.is_text else "DOUBLE"
        query = (
            f"SELECT place FROM (SELECT unnest(?::{kind}[]) AS {name_sql(name)}, "
            f"unnest(range({len(axis.labels)})) AS place) WHERE {' AND '.join(f'({part})' for part in parts)}"
        )
        with condition_errors():
            found[name] = sorted(row[0] for row in db.execute(query, [list(axis.labels)]).fetchall())
    return found


def check_condition(db: duckdb.DuckDBPyConnection, table: Table, where: Where) -> None:
    """Refuse a condition that does not fit the types of the columns, before a file is read. Raises ContractError."""
    columns = [column for column in table.columns if column.name in where.columns]
    named = ", ".join(f"NULL::{_TYPES[column.dtype]} AS {name_sql(column.name)}" for column in columns) or "1 AS one"
    for part in where.parts:
        with condition_errors():
            kind = db.execute(f"DESCRIBE SELECT {part} AS held FROM (SELECT {named})").fetchall()[0][1]
        if kind != "BOOLEAN":
            said = f"{part} is a {'text' if kind == 'VARCHAR' else 'number'}: a comparison is due, as gpus > 8"
            raise ContractError([Problem(said, key="where")])


_TYPES = {"string": "VARCHAR", "float64": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}


def held_parts(table: Table, positions: Mapping[str, Sequence[int]]) -> list[Part]:
    """The parts with cells at these positions; the first one where no part has any, for its schema."""
    dims, parts = table.manifest.layout.dims, table.manifest.parts
    held = table.manifest.bounds.holding({dims.index(name): places for name, places in positions.items()})
    return [parts[place] for place in held] or list(parts[:1])


def files_sql(table: Table, parts: Sequence[Part]) -> str:
    """These parts as the argument of `read_parquet`, in their order: a pattern where it finds these and no others."""
    names = [part.file for part in parts]
    if is_remote(table.folder) or len(parts) < len(table.manifest.parts):  # no pattern finds some of them alone
        return file_list(table.folder, names)
    found = sorted(f"facts/{path.name}" for path in (table.folder / "facts").glob("part-*.parquet"))
    # DuckDB finds nothing by a pattern with a backslash in it.
    return file_list(table.folder, None if names == found and "\\" not in str(table.folder) else names)
