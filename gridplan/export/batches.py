"""Batches of rows on their way to a file: cut into tables of one size, and these into files."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator

import pyarrow as pa

__all__ = ["foreign_reader", "pieces", "rechunked"]


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


def pieces(tables: Iterable[pa.Table], count: int) -> Iterator[Iterator[pa.Table]]:
    """The tables `count` at a time; each piece has to be taken before the next one is asked for."""
    left = iter(tables)
    for first in left:
        yield itertools.chain([first], itertools.islice(left, count - 1))


@contextlib.contextmanager
def foreign_reader(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatchReader]:
    """A reader for a library that is not written in Python: what goes wrong with the batches is raised as it was.

    The library would tell it as an error of its own, a full disk and an interrupt alike.
    """
    wrong: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (Exception, KeyboardInterrupt) as error:
            wrong.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(schema, watched())
    except Exception:
        if not wrong:
            raise
    if wrong:
        raise wrong[0]
