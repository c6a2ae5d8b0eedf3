"""What is said about a table that is handed over: where it comes from, what was left out, how many cells are what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from gridplan.export.rows import STATUS, Rows
from gridplan.query.text import name_sql
from gridplan.store.dims import METRIC_KEYS, metric_rows

__all__ = ["ABOUT_SCHEMA", "about", "dictionary_table"]

ABOUT_SCHEMA = pa.schema([("topic", pa.string()), ("item", pa.string()), ("value", pa.string()), ("count", pa.int64())])
"""What is said of an item is a text or a number of something."""

Entry = tuple[str, str, str | None, int | None]


def about(rows: Rows, best: Mapping[str, str]) -> pa.Table:
    """Topic, item and what is known of it: the cube, its axes, the condition, rows by status, what binds, `best`."""
    notes = (("best", item, said, None) for item, said in best.items())
    entries: list[Entry] = [*_origin(rows), *_sizes(rows), *_counts(rows), *notes]
    columns = zip(*(entry for entry in entries if entry[2:] != ("", None)), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ABOUT_SCHEMA, strict=True)]
    return pa.table(arrays, schema=ABOUT_SCHEMA)


def _origin(rows: Rows) -> Iterator[Entry]:
    origin, manifest = rows.table.manifest.origin, rows.table.manifest
    yield "cube", "grid", origin.grid_name, None
    yield "cube", "description", str(manifest.attrs.get("description", "")), None
    yield "cube", "grid_sha256", origin.grid_sha256, None
    yield "cube", "catalog_sha256", origin.catalog_sha256, None
    yield "cube", "gridplan_version", origin.package_version, None
    yield "rows", "condition", rows.source.where.sql, None
    if manifest.options.get("drop_infeasible"):
        yield "rows", "left out", "cells without a plan, when the cube was written", None


def _sizes(rows: Rows) -> Iterator[Entry]:
    yield "cube", "cells", None, rows.table.manifest.layout.cells
    yield "rows", "rows", None, rows.count()
    for axis in rows.table.axes:
        yield "axes", axis.name, None, len(axis.labels)


def _counts(rows: Rows) -> Iterator[Entry]:
    """Rows by status, by what binds and by why there is no plan; the most frequent first."""
    for name in STATUS:
        if rows.table.column(name) is not None:
            label = name_sql(name)
            counts = rows.figures(f"{label}, count(*)", f"GROUP BY {label} ORDER BY count(*) DESC, {label}")
            yield from ((name, said, None, count) for said, count in counts if said is not None)


def dictionary_table(rows: Rows) -> pa.Table:
    """The data dictionary of the columns that are handed over: name, role, unit, type, meaning, formula, source."""
    return pa.Table.from_pylist(metric_rows(rows.columns), pa.schema([(name, pa.string()) for name in METRIC_KEYS]))
