"""Axes and columns of a stored cube, and how they are described from the data dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from gridplan.dictionary import dictionary
from gridplan.pages.kind import Kind

__all__ = ["AxisSpec", "Column", "DType", "Role", "axis_columns", "dictionary_meta", "rank_column"]

Role = Literal["axis", "rank", "coord", "measure"]
DType = Kind
"""What a column holds."""

META_KEYS = ("unit", "scope", "long_name", "formula", "source", "class", "null_where", "meaning")
"""What is said about every column: in field metadata, in the manifest and in `dims/metric.parquet`."""


@dataclass(frozen=True)
class AxisSpec:
    """One axis of the cube: its name, its labels in declared order and their unit."""

    name: str
    labels: tuple[str | float, ...]
    is_text: bool
    unit: str


@dataclass(frozen=True)
class Column:
    """One column of the table, which is also one variable of the Dataset (ranks excepted).

    `dims` are the axes it depends on, in axis order; `categories` turns the integer codes of a text column into labels;
    `meta` holds what `META_KEYS` names. A rank column named `x_rank` holds the position of x among its categories.
    """

    name: str
    role: Role
    dtype: DType
    dims: tuple[str, ...]
    categories: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def base(self) -> str:
        """The column that a rank column ranks."""
        return self.name.removesuffix("_rank")


def dictionary_meta(name: str) -> dict[str, str]:
    """What the data dictionary says about `name`, blanks left out; empty for a name it does not hold.

    >>> dictionary_meta("arrival_rate")["unit"], dictionary_meta("no_such_name")
    ('req/s', {})
    """
    return dict(_said().get(name, {}))


@lru_cache(maxsize=1)
def _said() -> Mapping[str, Mapping[str, str]]:
    """What is said about every name of the dictionary: a cube of a few cells would mostly ask it again."""
    fields = {key: "cls" if key == "class" else key for key in META_KEYS}
    return {
        name: {key: text for key, of in fields.items() if (text := str(getattr(entry, of)))}
        for name, entry in dictionary().items()
    }


def axis_columns(axes: Iterable[AxisSpec]) -> tuple[Column, ...]:
    """The column of each axis: text as text, numbers as the dictionary types them (float64 where it says nothing)."""
    return tuple(
        Column(
            name=axis.name,
            role="axis",
            dtype=_axis_dtype(axis),
            dims=(axis.name,),
            categories=tuple(str(label) for label in axis.labels) if axis.is_text else (),
            meta={**dictionary_meta(axis.name), "unit": axis.unit},
        )
        for axis in axes
    )


def _axis_dtype(axis: AxisSpec) -> DType:
    if axis.is_text:
        return "string"
    entry = dictionary().get(axis.name)
    return "int64" if entry is not None and entry.dtype == "int64" else "float64"


def rank_column(base: Column) -> Column:
    """The column `<base>_rank` that lets a BI tool sort the labels of `base` in declared order."""
    meta = {
        "unit": "1",
        "long_name": f"declared order of {base.name}",
        "source": "gridplan",
        "class": "derived",
        "null_where": base.meta.get("null_where", "never"),
        "meaning": f"position of {base.name} among its labels, from 0: sort by it, since text sorts 128k before 16k",
    }
    return Column(name=f"{base.name}_rank", role="rank", dtype="int64", dims=base.dims, meta=meta)
