"""Rows of a chart: plain values with None for null, as a table for people and as data for Vega."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Row", "cell_rows", "collected", "frame", "inline", "plain"]

Row = Mapping[str, Any]


def plain(value: Any) -> Any:
    """A value as Python has it: None for null, whole numbers as int.

    >>> plain(np.float64(3.0)), plain(float("nan")), plain("b200")
    (3, None, 'b200')
    """
    if value is None or isinstance(value, str):
        return value
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        if math.isnan(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return number


def cell_rows(cube: xr.Dataset, axes: Sequence[str], names: Iterable[str]) -> list[dict[str, Any]]:
    """One row per cell of a cube that has no dims but `axes` (the last one fastest): its labels and these measures."""
    shape = tuple(cube.sizes[name] for name in axes)
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(axes):
        size = [1] * len(axes)
        size[place] = -1
        labels = np.array(cube[name].values.tolist(), dtype=object).reshape(size)
        columns[name] = np.broadcast_to(labels, shape).ravel().tolist()
    for name in names:
        item = cube[name]
        held = [dim for dim in axes if dim in item.dims]
        values = item.transpose(*held).values
        for place, dim in enumerate(axes):
            if dim not in held:
                values = np.expand_dims(values, place)
        columns[name] = [plain(value) for value in np.broadcast_to(values, shape).ravel().tolist()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """The rows as a table: labels and truth values as objects, numbers as float64 or int64, null as None or NaN."""
    import pandas as pd

    listed = list(rows)
    columns: dict[str, Any] = {}
    for name in listed[0] if listed else ():
        values = [row[name] for row in listed]
        numbers = all(isinstance(value, (int, float, type(None))) and not isinstance(value, bool) for value in values)
        if numbers and any(value is not None for value in values):
            whole = all(isinstance(value, int) for value in values)
            nulled = [math.nan if value is None else value for value in values]
            columns[name] = np.array(nulled, np.int64 if whole else np.float64)
        else:
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


_collected: ContextVar[dict[str, list[dict[str, Any]]] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Inside, `inline` gives the rows a name and collects them here: Altair copies a chart, data included, at every
    step of its making, and most of the time of drawing would go there."""
    found: dict[str, list[dict[str, Any]]] = {}
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def inline(rows: Iterable[Row]) -> Any:
    """The rows as the data of an Altair chart; their names are those that the chart's encodings use."""
    import altair as alt

    values, known = [dict(row) for row in rows], _collected.get()
    if known is None:
        return alt.Data(values=values)  # type: ignore[no-untyped-call]
    name = f"rows-{len(known) + 1}"
    known[name] = values
    return alt.NamedData(name=name)
