"""One CSV file that every reader takes: quoted texts, empty for null, nothing that a spreadsheet would run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from gridplan.export.batches import harmless_texts, rechunked, schema_of
from gridplan.query.answer import AnswerColumn

__all__ = ["csv_schema", "write_csv"]

BATCH_ROWS = 65_536

_KINDS = {"string": "STRING", "float64": "FLOAT", "int64": "INTEGER", "bool": "BOOLEAN"}
"""What BigQuery calls the types of a cube."""


def write_csv(sink: BinaryIO, columns: Sequence[AnswerColumn], batches: Iterable[pa.RecordBatch]) -> tuple[int, int]:
    """Write a header and the rows as UTF-8; count the rows, and the texts that got an apostrophe in front.

    Texts are in quotes, which keeps commas, quotes and line breaks whole and tells an empty text from null. Raises
    OSError.
    """
    schema, rows, changed = schema_of(columns), 0, 0
    with pacsv.CSVWriter(sink, schema) as writer:
        for table in rechunked(schema, batches, BATCH_ROWS):
            safe, count = harmless_texts(table)
            writer.write_table(safe)
            rows, changed = rows + table.num_rows, changed + count
    return rows, changed


def csv_schema(columns: Sequence[AnswerColumn]) -> str:
    """The types that a CSV file cannot hold, as BigQuery's schema in JSON: name, type, mode and description."""
    fields = [
        {
            "name": field.name,
            "type": _KINDS[column.dtype],
            "mode": "NULLABLE",
            "description": _described(field.metadata),
        }
        for field, column in zip(schema_of(columns), columns, strict=True)
    ]
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def _described(metadata: dict[bytes, bytes]) -> str:
    said = {key.decode(): value.decode() for key, value in metadata.items()}
    unit = said.get("unit", "")
    return f"{said['description']} [{unit}]" if unit and unit not in ("label", "bool") else said["description"]
