"""Tables of studies: rows as plain values for JSON, aligned text, CSV or Parquet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridplan.quantities import format_quantity
from gridplan.report.aligned import aligned
from gridplan.spreadsheet import harmless_texts
from gridplan.store.files import landing, store_errors

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["number_text", "plain_rows", "text_table", "write_frame"]


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values: None for null, whole numbers as int."""
    columns = {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def text_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> list[str]:
    """Lines of a table; `columns` gives the head of each column. Texts go left, all else right."""
    cells = [[head, *(number_text(row[name]) for row in rows)] for name, head in columns.items()]
    numeric = [not any(isinstance(row[name], str) for row in rows) or _figures(rows, name) for name in columns]
    return aligned(cells, numeric)


def _figures(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether all texts of a column are numbers, with or without a sign, unit or separator."""
    return all(row[name] is None or str(row[name])[:1] in "+-0123456789" for row in rows)


def number_text(value: Any) -> str:
    """A value for people: a dash for null, yes and no, thousands separated."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return value if isinstance(value, str) else format_quantity(value, "count")


def write_frame(frame: pd.DataFrame, path: str) -> int:
    """Write the rows to a .csv or .parquet file and count them; null is empty, or null, and no text is a formula.

    Raises StoreError if the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(plain_rows(_typed(frame)), schema=_schema(frame))
    write = pq.write_table
    if Path(path).suffix == ".csv":
        write, (table, _) = pacsv.write_csv, harmless_texts(table)
    with store_errors("write", Path(path)), landing(Path(path)) as temporary:
        write(table, temporary)
    return int(table.num_rows)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns that hold labels and numbers become text."""
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    found = frame.copy()
    for name in mixed:
        found[name] = [None if _plain(value) is None else str(value) for value in frame[name]]
    return found


def _schema(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    kinds = {"f": pa.float64(), "i": pa.int64(), "b": pa.bool_()}
    return pa.schema([(str(name), kinds.get(frame[name].dtype.kind, pa.string())) for name in frame.columns])
