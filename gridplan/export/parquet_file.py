"""One Parquet file, row group by row group, in the types and with the metadata of a cube's own files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from gridplan.store.arrow import file_metadata, open_writer
from gridplan.store.manifest import Origin

__all__ = ["ROW_GROUP_ROWS", "write_parquet"]

ROW_GROUP_ROWS = 131_072
"""Rows of a row group (policy, near DuckDB's own): small enough to hold in memory with all columns of a cube."""


def write_parquet(path: Path, schema: pa.Schema, tables: Iterable[pa.Table], origin: Origin, compression: str) -> int:
    """Write tables to `path`, a row group each, and count their rows. Raises OSError."""
    rows = 0
    # Many measures depend on few axes: as dictionaries of numbers they take a quarter less room without zstd.
    with open_writer(path, schema, compression, schema.names) as writer:
        writer.add_key_value_metadata(file_metadata(schema, origin.grid_name, origin.package_version))
        for table in tables:
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
            rows += table.num_rows
    return rows
