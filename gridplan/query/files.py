"""Which files of a cube hold rows of an answer, from its manifest alone: no footer is read to leave a file out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gridplan.query.table import Table
from gridplan.query.text import file_list, name_sql
from gridplan.query.where import Where
from gridplan.store.blocks import Part

if TYPE_CHECKING:
    import duckdb

__all__ = ["files_sql", "held_parts", "held_positions"]


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
        found[name] = sorted(row[0] for row in db.execute(query, [list(axis.labels)]).fetchall())
    return found


def held_parts(table: Table, positions: Mapping[str, Sequence[int]]) -> list[Part]:
    """The parts with cells at these positions; the first one where no part has any, for its schema."""
    dims = table.manifest.layout.dims
    at = [(dims.index(name), places) for name, places in positions.items()]

    def holds(part: Part) -> bool:
        return all(_between(places, part.start[dim], part.stop[dim]) for dim, places in at)

    return [part for part in table.manifest.parts if holds(part)] or list(table.manifest.parts[:1])


def _between(places: Sequence[int], start: int, stop: int) -> bool:
    first = bisect_left(places, start)
    return first < len(places) and places[first] < stop


def files_sql(table: Table, parts: Sequence[Part]) -> str:
    """These parts as the argument of `read_parquet`, in their order: a pattern where they are all and sort by name."""
    names = [part.file for part in parts]
    whole = len(parts) == len(table.manifest.parts) and names == sorted(names)
    return file_list(table.folder, None if whole else names)
