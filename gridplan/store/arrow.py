"""The Arrow schema of a cube's table: plain types that every BI tool reads, with units in the field metadata."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gridplan.pages.page import ZSTD_LEVELS
from gridplan.store.columns import DType
from gridplan.store.layout import Layout

__all__ = ["ARROW_TYPES", "arrow_field", "arrow_schema", "file_metadata", "is_own", "open_writer"]

ARROW_TYPES: Mapping[DType, pa.DataType] = {
    "string": pa.string(),
    "float64": pa.float64(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
}
"""The only types in a file (policy): unsigned, narrow, nested, decimal and time types each break some BI tool."""

VERSION_KEY = "gridplan_version"
GRID_KEY = "gridplan_grid"


def arrow_schema(layout: Layout) -> pa.Schema:
    """The schema that readers see: text is plain `string`, so files with different labels read as one data set.

    Every field carries its unit, description, formula, source, class, scope and role as metadata.
    """
    return pa.schema([arrow_field(c.name, c.dtype, {"role": c.role, **c.meta}) for c in layout.columns])


def arrow_field(name: str, dtype: DType, meta: Mapping[str, str]) -> pa.Field:
    """A column with what is said about it; its `description` is what catalogs of data show."""
    description = meta.get("long_name") or meta.get("meaning") or name
    return pa.field(name, ARROW_TYPES[dtype], metadata={"description": description, **meta})


def file_metadata(schema: pa.Schema, grid_name: str, package_version: str) -> dict[str, str]:
    """Key-value metadata of a file: who wrote it, for which grid, and the Arrow schema that readers restore.

    Left to itself the writer would store the schema it is fed, and readers would get dictionaries whose labels differ
    between files; `ARROW:schema` is therefore written here, from the plain schema.
    """
    own = {GRID_KEY: grid_name, VERSION_KEY: package_version}
    stored = base64.b64encode(schema.with_metadata(own).serialize().to_pybytes()).decode("ascii")
    return {**own, "ARROW:schema": stored}


def is_own(metadata: Mapping[bytes, bytes] | None) -> bool:
    """True for the key-value metadata of a file that gridplan wrote."""
    return metadata is not None and VERSION_KEY.encode() in metadata


def open_writer(path: Path, schema: pa.Schema, compression: str, text: Sequence[str]) -> pq.ParquetWriter:
    """Arrow's own writer with the settings of every file of a cube; `text` names the dictionary-encoded columns.

    Numbers are PLAIN, because a dictionary of doubles costs a fifth of the speed and seldom saves bytes after zstd.
    Version 1 data pages are what the oldest readers take.
    """
    by_type = {ARROW_TYPES[kind]: level for kind, level in ZSTD_LEVELS.items()}
    levels = {field.name: by_type.get(field.type, ZSTD_LEVELS["string"]) for field in schema}
    level: dict[str, Any] = {"compression_level": levels} if compression == "zstd" else {}
    return pq.ParquetWriter(
        str(path),
        schema,
        store_schema=False,
        use_dictionary=list(text),
        write_statistics=True,
        write_page_index=True,
        data_page_version="1.0",
        compression=compression,
        **level,
    )
