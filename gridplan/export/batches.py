"""Batches of rows on their way to a file: their schema, their size, their texts made harmless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gridplan.query.answer import AnswerColumn
from gridplan.spreadsheet import FORMULA_SIGNS
from gridplan.store.arrow import arrow_field

__all__ = ["harmless_texts", "rechunked", "schema_of"]


def schema_of(columns: Sequence[AnswerColumn]) -> pa.Schema:
    """The schema of an answer: plain types, with unit, meaning and formula in the metadata of each field."""
    return pa.schema([arrow_field(column.name, column.dtype, column.meta) for column in columns])


def rechunked(schema: pa.Schema, batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of exactly `rows` rows and a last one with the rest; an empty one where there are none.

    What readers see follows from the rows alone, and not from the batches they came in.
    """
    waiting: list[pa.RecordBatch] = []
    count, given = 0, False
    for batch in batches:
        waiting.append(batch.cast(schema))
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting, schema)
            yield table.slice(0, rows)
            given = True
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count or not given:
        yield pa.Table.from_batches(waiting, schema)


def harmless_texts(table: pa.Table) -> tuple[pa.Table, int]:
    """The table with an apostrophe before each text that a spreadsheet would run, and how many texts these are."""
    changed = 0
    for place, field in enumerate(table.schema):
        if field.type != pa.string():
            continue
        column = table.column(place)
        formulas = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), value_set=pa.array(FORMULA_SIGNS))
        count = pc.sum(formulas).as_py() or 0
        if count:
            quoted = pc.binary_join_element_wise("'", column, "")
            table = table.set_column(place, field, pc.if_else(formulas, quoted, column))
            changed += count
    return table, changed
