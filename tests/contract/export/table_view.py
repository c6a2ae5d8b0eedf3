"""What one reader sees of a table, in plain Python, and whether it is what another one sees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["View", "arrow_view", "assert_same", "duckdb_view", "pandas_view", "polars_view"]

TYPES: Mapping[str, type] = {"text": str, "float": float, "int": int, "bool": bool}
ARROW = {"string": "text", "large_string": "text", "string_view": "text", "double": "float", "int64": "int"}
DUCKDB = {"VARCHAR": "text", "DOUBLE": "float", "BIGINT": "int", "BOOLEAN": "bool"}
POLARS = {"String": "text", "Float64": "float", "Int64": "int", "Boolean": "bool"}
PANDAS = {"string": "text", "Float64": "float", "Int64": "int", "boolean": "bool"}


@dataclass(frozen=True)
class View:
    """A table: of each column text, float, int or bool, and its values in the order of rows, None for null."""

    kinds: dict[str, str]
    values: dict[str, list[Any]]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values())))

    def select(self, names: Sequence[str]) -> View:
        """These columns, in this order."""
        return View({name: self.kinds[name] for name in names}, {name: self.values[name] for name in names})

    def mapped(self, text: Callable[[str], str]) -> View:
        """The same with every text changed by `text`."""
        changed = {
            name: [None if value is None else text(value) for value in values] if self.kinds[name] == "text" else values
            for name, values in self.values.items()
        }
        return View(self.kinds, changed)

    def taken(self, places: Sequence[int]) -> View:
        """The rows at these places, in this order."""
        return View(self.kinds, {name: [values[at] for at in places] for name, values in self.values.items()})

    def sorted(self, names: Sequence[str]) -> View:
        """The rows in the order of these columns, which hold no null."""
        keys = list(zip(*(self.values[name] for name in names), strict=True))
        return self.taken(sorted(range(self.rows), key=keys.__getitem__))


def assert_same(found: View, wanted: View) -> None:
    """Columns and types, rows, nulls, exact sums, labels with their counts, and then the rows in their order."""
    assert found.kinds == wanted.kinds
    assert list(found.kinds) == list(wanted.kinds)
    for name, values in wanted.values.items():
        own, kind = found.values[name], wanted.kinds[name]
        assert {type(value) for value in own} <= {TYPES[kind], type(None)}, name
        assert (name, _figures(kind, own)) == (name, _figures(kind, values))
        differing = [place for place, pair in enumerate(zip(own, values, strict=True)) if pair[0] != pair[1]]
        assert not differing, f"{name}, row {differing[0]}: {own[differing[0]]!r}, not {values[differing[0]]!r}"


def _figures(kind: str, values: Sequence[Any]) -> tuple[Any, ...]:
    known = [value for value in values if value is not None]
    if kind == "text":
        return len(values), len(known), Counter(known)
    return len(values), len(known), math.fsum(known) if kind == "float" else sum(known)


def arrow_view(table: pa.Table) -> View:
    """What pyarrow holds."""
    kinds = {field.name: ARROW.get(str(field.type), str(field.type)) for field in table.schema}
    return View(kinds, {name: table.column(name).to_pylist() for name in kinds})


def duckdb_view(relation: duckdb.DuckDBPyRelation) -> View:
    """What a query of DuckDB answers."""
    kinds = {
        name: DUCKDB.get(str(kind), str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)
    }
    rows = relation.fetchall()
    return View(kinds, {name: [row[place] for row in rows] for place, name in enumerate(kinds)})


def polars_view(frame: pl.DataFrame) -> View:
    """What a frame of Polars holds."""
    kinds = {name: POLARS.get(str(kind), str(kind)) for name, kind in frame.schema.items()}
    return View(kinds, {name: frame[name].to_list() for name in kinds})


def pandas_view(frame: pd.DataFrame) -> View:
    """What a frame of pandas with nullable types holds."""
    kinds = {str(name): PANDAS.get(str(kind), str(kind)) for name, kind in frame.dtypes.items()}
    return View(kinds, {name: [None if value is pd.NA else value for value in frame[name].tolist()] for name in kinds})
