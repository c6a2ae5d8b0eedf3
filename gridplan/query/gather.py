"""Rows of a cube by their places: from each file the row groups that hold one, and of these the columns asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gridplan.query.order import ROW_BITS
from gridplan.query.table import Table
from gridplan.store.reader import reading

__all__ = ["rows_at"]


def rows_at(table: Table, places: npt.NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
    """The rows at `places`, which grow, with these columns. No more than a row group is held beside the result.

    Raises StoreError for a damaged file.
    """
    pieces = []
    parts, rows = places >> ROW_BITS, places & (2**ROW_BITS - 1)
    files, folder = {part.number: part.file for part in table.manifest.parts}, table.folder.absolute()
    for number in np.unique(parts).tolist():
        wanted = rows[parts == number]
        with reading(path := folder / files[number]):
            file = pq.ParquetFile(path)
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            starts = np.concatenate([[0], np.cumsum(sizes)])
            groups = np.searchsorted(starts, wanted, side="right") - 1
            for group in np.unique(groups).tolist():
                found = file.read_row_group(group, columns=list(columns))
                pieces.append(found.take(pa.array(wanted[groups == group] - starts[group])))
    if pieces:
        return pa.concat_tables(pieces).select(list(columns))
    return pq.read_schema(folder / next(iter(files.values()))).empty_table().select(list(columns))
