"""Answers of `gridplan.solve` as a table: rows for JSON, aligned text, Parquet or CSV."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.report.aligned import aligned
from gridplan.store.files import landing, store_errors

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr

__all__ = ["SHOWN_ROWS", "columns_of", "rows_of", "table_of", "write_table"]

SHOWN_ROWS = 60
"""Rows that are printed (policy); the others are counted, and written by -o."""

_TITLES = {
    "max_context_tokens": "max context",
    "min_tensor_parallel": "min TP",
    "min_gpus": "min GPUs",
    "max_concurrency": "max concurrency",
    "concurrency_at_answer": "holds",
    "fails_at_tokens": "fails at",
    "fails_at_tensor_parallel": "fails at",
    "fails_at_gpus": "fails at",
    "fails_at_concurrency": "fails at",
    "concurrency_at_failure": "holds there",
    "fails_reason": "because",
}
"""Short heads of printed columns; others are printed under their names without the unit."""


def columns_of(solution: xr.Dataset) -> dict[str, np.ndarray]:
    """One column per axis, label and answer, one row per cell; axes in declared order, then labels, then answers."""
    dims = [str(name) for name in solution.coords if name in solution.sizes]
    shape = tuple(solution.sizes[name] for name in dims)
    names = [*dims, *(str(name) for name in solution.coords if name not in dims), *map(str, solution.data_vars)]
    found: dict[str, np.ndarray] = {}
    for name in names:
        item = solution[name].transpose(*(dim for dim in dims if dim in solution[name].dims))
        # With the ellipsis a scalar stays an array, and so keeps its dtype.
        place = [slice(None) if dim in item.dims else np.newaxis for dim in dims]
        found[name] = np.broadcast_to(item.values[(*place, ...)], shape).ravel()
    return found


def rows_of(solution: xr.Dataset) -> list[dict[str, Any]]:
    """The rows as plain values: None for null, whole numbers as int, true and false as bool."""
    columns = {
        name: [_plain(item, solution[name].attrs.get("dtype") == "bool") for item in values.tolist()]
        for name, values in columns_of(solution).items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value: Any, is_bool: bool = False) -> Any:
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    if is_bool:
        return value == 1.0
    return int(value) if value.is_integer() else value


def table_of(solution: xr.Dataset, most: int = SHOWN_ROWS) -> str:
    """The rows as aligned text; columns that say the same in every row, or nothing, stand above."""
    rows = rows_of(solution)
    answers = {str(name) for name in solution.data_vars}
    alike = {name: rows[0][name] for name in rows[0] if name not in answers and len({row[name] for row in rows}) == 1}
    answer = next(iter(solution.data_vars))  # a dash in every row says that nothing holds
    told_twice = all(row["no_answer_reason"] in (None, row["fails_reason"]) for row in rows)
    kept = [
        name
        for name in rows[0]
        if name not in alike
        and not (name == "no_answer_reason" and told_twice)
        and (name not in answers or name == answer or any(row[name] is not None for row in rows))
    ]
    heads = [_TITLES.get(name, name.removesuffix("_tokens").replace("_", " ")) for name in kept]
    columns = [[head, *(_shown(row[name]) for row in rows[:most])] for head, name in zip(heads, kept, strict=True)]
    numeric = [all(isinstance(row[name], (int, float, type(None))) for row in rows) for name in kept]
    lines = [_headline(solution), *(["at " + ", ".join(f"{k}={_shown(v)}" for k, v in alike.items())] if alike else [])]
    lines += aligned(columns, numeric)
    if len(rows) > most:
        lines.append(f"... {len(rows) - most:,} more rows: fold them with --by, or write them with -o")
    return "\n".join(lines)


def _headline(solution: xr.Dataset) -> str:
    attrs = solution.attrs
    context = "the length of the sequences" if attrs["context"] == "length" else "max_model_len"
    wanted = f" for {attrs['concurrency']:,} sequences" if "concurrency" in attrs else ""
    cap = f" with {attrs['scheduler']}" if "scheduler" in attrs else ""
    return f"{attrs['target']}{wanted}{_length(attrs)} by {attrs['measure']}{cap}; context is {context}"


def _length(attrs: dict[Any, Any]) -> str:
    """The context that was asked about, where it is not the answer."""
    own = "" if attrs.get("tokens_from") != "contract" else "the contract's own "
    if "tokens" in attrs:
        return f" at {own}{attrs['tokens']:,} tokens"
    return f" at {own}lengths" if own else ""


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"


def write_table(solution: xr.Dataset, path: str) -> int:
    """Write the rows to `path`, a .parquet or .csv file, and count them; nulls are nulls, or empty.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    table = _arrow(solution)
    write = pacsv.write_csv if Path(path).suffix == ".csv" else pq.write_table
    with store_errors("write", Path(path)), landing(Path(path)) as temporary:
        write(table, temporary)
    return int(table.num_rows)


def _number(solution: xr.Dataset, name: str, values: np.ndarray) -> pa.DataType:
    """The type of a column of numbers: of figures as the dictionary says, of axes as their labels are."""
    import pyarrow as pa

    stated = solution[name].attrs.get("dtype", "float64" if name in solution.data_vars else None)
    if stated == "bool":
        return pa.bool_()
    whole = stated == "int64" or (stated is None and bool(np.all(values == np.floor(values))))
    return pa.int64() if whole else pa.float64()


def _arrow(solution: xr.Dataset) -> pa.Table:
    import pyarrow as pa

    arrays, fields = [], []
    for name, values in columns_of(solution).items():
        meta = {key: str(value) for key, value in solution[name].attrs.items()}
        if values.dtype == object:
            kind, array = pa.string(), pa.array(values.tolist(), pa.string())
        else:
            null = np.isnan(values)
            kind = _number(solution, name, values[~null])
            array = pa.array(np.where(null, 0, values).astype(kind.to_pandas_dtype()), kind, mask=null)
        arrays.append(array)
        fields.append(pa.field(name, kind, metadata=meta))
    about = {key: str(value) for key, value in solution.attrs.items()}
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=about))
