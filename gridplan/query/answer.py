"""A query and what its columns are: name, type and meaning of each, so that an answer can be written with units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridplan.pages.kind import Kind
from gridplan.store.columns import Column

__all__ = ["AnswerColumn", "Query", "counted", "like"]


@dataclass(frozen=True)
class AnswerColumn:
    """One column of an answer; `meta` as the columns of a cube have it (unit, long name, formula, source ...)."""

    name: str
    dtype: Kind
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_axis: bool = False
    """Whether its values are labels, which people write as they read them."""


@dataclass(frozen=True)
class Query:
    """A query in DuckDB's SQL and the columns of its answer, in order."""

    sql: str
    columns: tuple[AnswerColumn, ...]


def like(column: Column, name: str | None = None, dtype: Kind | None = None) -> AnswerColumn:
    """A column with the meaning of one of the cube."""
    return AnswerColumn(name or column.name, dtype or column.dtype, column.meta, column.role == "axis" and name is None)


def counted(name: str, meaning: str) -> AnswerColumn:
    """A number of cells."""
    return AnswerColumn(name, "int64", {"unit": "count", "long_name": meaning})
