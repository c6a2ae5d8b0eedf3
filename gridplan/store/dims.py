"""The small tables beside the facts: one per dimension, and the data dictionary of the columns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from gridplan.errors import StoreError
from gridplan.store.arrow import file_metadata, open_writer
from gridplan.store.checks import name_collisions
from gridplan.store.columns import META_KEYS, Column
from gridplan.store.files import FileRecord, landing, make_folder, sha256_of, store_errors
from gridplan.store.layout import Layout
from gridplan.store.parquet import WriteOptions

__all__ = ["METRIC_KEYS", "Row", "metric_rows", "write_dims"]

Row = Mapping[str, object]
"""One row of a table: text, whole number, number, bool, date or None by column name."""

METRIC_KEYS = (
    "name",
    "role",
    "unit",
    "dtype",
    "scope",
    "long_name",
    "formula",
    "source",
    "class",
    "null_where",
    "meaning",
)


def metric_rows(columns: Iterable[Column]) -> list[Row]:
    """The data dictionary of columns: one row for each, in their order."""
    return [
        {"name": column.name, "role": column.role, "dtype": column.dtype}
        | {key: column.meta.get(key) for key in META_KEYS}
        for column in columns
    ]


def write_dims(
    folder: Path, layout: Layout, dims: Mapping[str, Sequence[Row]], options: WriteOptions | None = None
) -> tuple[FileRecord, ...]:
    """Write `dims/<name>.parquet` for every table in `dims`, and `dims/metric.parquet` for the columns of `layout`.

    Column types follow from the values: text, int64, float64, bool or date; a column of nothing but None is text. The
    columns of a table are the keys of its rows in order of appearance; a key that a row lacks is null. Returns one
    record per file, in the order written.

    Raises StoreError with every problem at once for mixed types, infinities, nested values, empty tables and colliding
    names, before any file is written.
    """
    options = options or WriteOptions()
    tables = {**dims, "metric": metric_rows(layout.columns)}
    problems = name_collisions(list(tables))
    arrow: dict[str, pa.Table] = {}
    for name, rows in tables.items():
        first = METRIC_KEYS if name == "metric" else ()
        columns = list(dict.fromkeys([*first, *(key for row in rows for key in row)]))
        problems += [f"dims/{name}: {problem}" for problem in name_collisions(columns)]
        if not columns:
            problems.append(f"dims/{name}: the table is empty")
        arrays = [_array(f"dims/{name}: column {key}", [row.get(key) for row in rows], problems) for key in columns]
        arrow[name] = pa.table(arrays, names=columns)
    if problems:
        raise StoreError("\n".join(problems))
    make_folder(folder / "dims")
    return tuple(_write_table(folder, name, table, options) for name, table in arrow.items())


def _write_table(folder: Path, name: str, table: pa.Table, options: WriteOptions) -> FileRecord:
    path = folder / "dims" / f"{name}.parquet"
    text = [field.name for field in table.schema if field.type == pa.string()]
    with store_errors("write", path), landing(path) as temporary:
        with open_writer(temporary, table.schema, options.compression, text) as writer:
            writer.add_key_value_metadata(file_metadata(table.schema, options.grid_name, options.package_version))
            writer.write_table(table)
        return FileRecord(f"dims/{name}.parquet", table.num_rows, temporary.stat().st_size, sha256_of(temporary))


def _array(what: str, values: Sequence[object], problems: list[str]) -> pa.Array:
    """The column as an Arrow array; what is wrong with it goes to `problems`."""
    cleaned = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    kinds = {_kind(value) for value in cleaned if value is not None}
    if kinds == {"int", "float"}:
        cleaned, kinds = [float(value) if isinstance(value, (int, float)) else None for value in cleaned], {"float"}
    infinite = any(isinstance(value, float) and math.isinf(value) for value in cleaned)
    large = any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in cleaned)
    if len(kinds) > 1 or "other" in kinds:
        held = sorted({type(value).__name__ for value in cleaned if value is not None})
        problems.append(f"{what} holds {', '.join(held)}; one of text, int, float, bool or date is needed")
    elif infinite or large:
        problems.append(f"{what} holds {'an infinite value' if infinite else 'a number beyond int64'}")
    else:
        return pa.array(cleaned, type=_TYPES[kinds.pop() if kinds else "text"])
    return pa.nulls(len(values), pa.string())


_TYPES = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "date": pa.date32()}


def _kind(value: object) -> str:
    # bool is an int and datetime is a date in Python, so the exact type decides.
    exact = {str: "text", bool: "bool", int: "int", float: "float", dt.date: "date"}
    return exact.get(type(value), "other")
