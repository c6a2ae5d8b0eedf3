"""One Parquet file, row group by row group, in the types and with the metadata of a cube's own files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from gridplan.export.batches import rechunked, schema_of
from gridplan.query.answer import AnswerColumn
from gridplan.store.arrow import file_metadata, open_writer
from gridplan.store.manifest import Origin

__all__ = ["ROW_GROUP_ROWS", "write_parquet", "write_table"]

ROW_GROUP_ROWS = 131_072
"""Rows of a row group (policy, near DuckDB's own): small enough to hold in memory with all columns of a cube."""


def write_parquet(
    path: Path,
    columns: Sequence[AnswerColumn],
    batches: Iterable[pa.RecordBatch],
    origin: Origin,
    compression: str,
) -> int:
    """Write the rows to `path` and count them. Raises OSError."""
    schema = schema_of(columns)
    text = [field.name for field in schema if field.type == pa.string()]
    rows = 0
    with open_writer(path, schema, compression, text) as writer:
        writer.add_key_value_metadata(file_metadata(schema, origin.grid_name, origin.package_version))
        for table in rechunked(schema, batches, ROW_GROUP_ROWS):
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
            rows += table.num_rows
    return rows


def write_table(path: Path, table: pa.Table, origin: Origin, compression: str) -> None:
    """Write a small table. Raises OSError."""
    text = [field.name for field in table.schema if field.type == pa.string()]
    with open_writer(path, table.schema, compression, text) as writer:
        writer.add_key_value_metadata(file_metadata(table.schema, origin.grid_name, origin.package_version))
        writer.write_table(table)
