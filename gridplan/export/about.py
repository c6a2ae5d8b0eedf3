"""What is said about a table that is handed over: where it comes from, what was left out, how many cells are what."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gridplan.export.rows import STATUS, Rows
from gridplan.query.text import name_sql
from gridplan.store.dims import METRIC_KEYS, metric_rows

__all__ = ["ABOUT_SCHEMA", "about", "dictionary_table"]

ABOUT_SCHEMA = pa.schema([("topic", pa.string()), ("item", pa.string()), ("value", pa.string())])


def about(rows: Rows) -> pa.Table:
    """Topic, item and value of everything known: the cube, its axes, the condition, counts of rows by status."""
    origin, attrs = rows.table.manifest.origin, rows.table.manifest.attrs
    said = [
        ("cube", "grid", origin.grid_name),
        ("cube", "description", str(attrs.get("description", ""))),
        ("cube", "grid_sha256", origin.grid_sha256),
        ("cube", "catalog_sha256", origin.catalog_sha256),
        ("cube", "gridplan_version", origin.package_version),
        ("cube", "cells", str(rows.table.manifest.layout.cells)),
        ("rows", "condition", rows.where.sql),
        ("rows", "rows", str(rows.count())),
        *(("axes", axis.name, f"{len(axis.labels)} labels") for axis in rows.table.axes),
        *_counts(rows),
    ]
    if rows.table.manifest.options.get("drop_infeasible"):
        said.append(("rows", "left out", "cells without a plan, when the cube was written"))
    columns = zip(*[entry for entry in said if entry[2] != ""], strict=True)
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=ABOUT_SCHEMA)


def _counts(rows: Rows) -> Sequence[tuple[str, str, str]]:
    """Rows by status, by what binds and by why there is no plan; the most frequent first."""
    found = []
    for name in STATUS:
        if rows.table.column(name) is not None:
            label = name_sql(name)
            counts = rows.figures(f"{label}, count(*)", f"GROUP BY {label} ORDER BY count(*) DESC, {label}")
            found += [(name, label, str(count)) for label, count in counts if label is not None]
    return found


def dictionary_table(rows: Rows) -> pa.Table:
    """The data dictionary of the columns that are handed over: name, role, unit, type, meaning, formula, source."""
    return pa.Table.from_pylist(metric_rows(rows.columns), pa.schema([(name, pa.string()) for name in METRIC_KEYS]))
