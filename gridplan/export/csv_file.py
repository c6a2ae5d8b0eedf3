"""One CSV file that every reader takes: quoted texts, empty for null, nothing that a spreadsheet would run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from gridplan.spreadsheet import harmless_texts

__all__ = ["csv_schema", "write_csv"]

_KINDS = {pa.string(): "STRING", pa.float64(): "FLOAT", pa.int64(): "INTEGER", pa.bool_(): "BOOLEAN"}
"""What BigQuery calls the types of a cube."""


def write_csv(sink: BinaryIO, schema: pa.Schema, tables: Iterable[pa.Table]) -> tuple[int, int]:
    """Write a header and the rows as UTF-8; count the rows, and the texts that got an apostrophe in front.

    Texts are in quotes, which keeps commas, quotes and line breaks whole and tells an empty text from null. Raises
    OSError.
    """
    rows, changed = 0, 0
    with pacsv.CSVWriter(sink, schema) as writer:
        for table in tables:
            safe, count = harmless_texts(table)
            writer.write_table(safe)
            rows, changed = rows + table.num_rows, changed + count
    return rows, changed


def csv_schema(schema: pa.Schema) -> str:
    """The types that a CSV file cannot hold, as BigQuery's schema in JSON: name, type, mode and description."""
    fields = [
        {"name": field.name, "type": _KINDS[field.type], "mode": "NULLABLE", "description": _described(field)}
        for field in schema
    ]
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def _described(field: pa.Field) -> str:
    said = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit, meaning = said.get("unit", ""), said.get("description", field.name)
    return f"{meaning} [{unit}]" if unit and unit not in ("label", "bool") else meaning
