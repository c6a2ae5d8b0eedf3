"""An answer in Arrow: the schema of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gridplan.query.answer import AnswerColumn
from gridplan.store.arrow import arrow_field

__all__ = ["schema_of"]


def schema_of(columns: Sequence[AnswerColumn]) -> pa.Schema:
    """The schema of an answer: plain types, with unit, meaning and formula in the metadata of each field."""
    return pa.schema([arrow_field(column.name, column.dtype, column.meta) for column in columns])
