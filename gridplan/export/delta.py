"""Delta tables, for lakehouses: a table of cells beside the small ones, each replaced as a new version."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from gridplan.errors import MissingExtraError, StoreError
from gridplan.export.batches import foreign_reader

__all__ = ["needs_delta", "write_delta"]

_CODECS: dict[str, Any] = {"none": "UNCOMPRESSED", "snappy": "SNAPPY", "zstd": "ZSTD"}


def needs_delta() -> None:
    """Refuse where the library is not installed. Raises MissingExtraError."""
    if find_spec("deltalake") is None:
        raise MissingExtraError("Delta tables are written by deltalake", "delta")


def write_delta(
    folder: Path, schema: pa.Schema, tables: Iterable[pa.Table], name: str, compression: str, force: bool
) -> None:
    """Write one table, or with `force` the next version of the one that is there; older versions stay readable.

    The meaning of a column is its comment. Raises StoreError for a disk that refuses, and what the tables raise.
    """
    from deltalake import WriterProperties, write_deltalake
    from deltalake.exceptions import DeltaError

    described = pa.schema([_commented(field) for field in schema])
    batches = (batch for table in tables for batch in table.cast(described).to_batches())
    try:
        with foreign_reader(described, batches) as reader:
            write_deltalake(
                str(folder.absolute()),  # a relative name may be read as an address
                reader,
                mode="overwrite" if force else "error",
                schema_mode="overwrite" if force else None,
                name=name,
                writer_properties=WriterProperties(compression=_CODECS[compression]),
            )
    except DeltaError as error:
        raise StoreError(f"{folder} cannot be written: {str(error).splitlines()[0]}") from error


def _commented(field: pa.Field) -> pa.Field:
    """A field whose description is also its `comment`, the key that Spark and catalogs show."""
    said = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return field.with_metadata(said | {"comment": said["description"]}) if "description" in said else field
