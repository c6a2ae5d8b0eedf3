"""From blocks of broadcastable arrays to an Arrow table, through buffers that are filled in place and used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gridplan.store.arrow import ARROW_TYPES, encoded_schema
from gridplan.store.blocks import Block
from gridplan.store.columns import Column, DType
from gridplan.store.layout import Layout
from gridplan.store.values import Arrays, column_values

__all__ = ["SpanBuffer"]

NUMPY_TYPES: dict[DType, type[np.generic]] = {
    "string": np.int32,
    "float64": np.float64,
    "int64": np.int64,
    "bool": np.bool_,
}


class SpanBuffer:
    """Memory for `rows` rows of a cube's table.

    Blocks are copied in one after the other (`put`), then taken out as one Arrow table that shares the memory
    (`table`). The table must be done with before the next `put`: the same pages are filled again, since touching new
    ones costs more than copying.
    """

    def __init__(self, layout: Layout, rows: int) -> None:
        self.layout = layout
        self.schema = encoded_schema(layout)
        self._lanes = [_Lane(column, rows) for column in layout.columns]
        self._filled = 0

    def put(self, block: Block, arrays: Arrays) -> None:
        """Append the rows of `block`. Raises StoreError for values that must not be stored."""
        rows = slice(self._filled, self._filled + block.rows)
        for lane in self._lanes:
            values, nulls = column_values(self.layout, lane.column, block, arrays)
            lane.put(rows, block.shape, values, nulls)
        self._filled = rows.stop

    def table(self) -> pa.Table:
        """The rows put so far as a table of `schema`; the buffer then counts as empty."""
        table = pa.Table.from_arrays([lane.take(self._filled) for lane in self._lanes], schema=self.schema)
        self._filled = 0
        return table


class _Lane:
    """One column of a SpanBuffer: values, and validity from the first null on."""

    def __init__(self, column: Column, rows: int) -> None:
        self.column = column
        self._data = np.empty(rows, dtype=NUMPY_TYPES[column.dtype])
        self._valid: npt.NDArray[np.bool_] | None = None
        self._labels = pa.array(column.categories, type=pa.string()) if column.dtype == "string" else None
        self._has_nulls = False

    def put(
        self, rows: slice, shape: tuple[int, ...], values: npt.NDArray[Any], nulls: npt.NDArray[np.bool_] | None
    ) -> None:
        self._data[rows].reshape(shape)[...] = values
        if nulls is not None and not self._has_nulls:
            if self._valid is None:
                self._valid = np.empty(len(self._data), dtype=np.bool_)
            self._valid[: rows.start] = True
            self._has_nulls = True
        if self._has_nulls and self._valid is not None:
            self._valid[rows].reshape(shape)[...] = True if nulls is None else ~nulls

    def take(self, rows: int) -> pa.Array:
        validity = None
        if self._has_nulls and self._valid is not None:
            validity = pa.py_buffer(np.packbits(self._valid[:rows], bitorder="little"))
        self._has_nulls = False
        data = self._data[:rows]
        if self._labels is not None:
            codes = pa.Array.from_buffers(pa.int32(), rows, [validity, pa.py_buffer(data)])
            return pa.DictionaryArray.from_arrays(codes, self._labels, safe=False)
        packed = np.packbits(data, bitorder="little") if self.column.dtype == "bool" else data
        return pa.Array.from_buffers(ARROW_TYPES[self.column.dtype], rows, [validity, pa.py_buffer(packed)])
