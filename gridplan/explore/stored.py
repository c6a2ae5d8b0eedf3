"""Cells of a cube in a folder, read by SQL when they are asked for: only files that hold some of them are opened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gridplan.contract.grid import Grid
from gridplan.errors import StoreError
from gridplan.explore.box import Box, Place, cut_axes
from gridplan.query.database import batches, duckdb_errors
from gridplan.query.files import files_sql, held_parts
from gridplan.query.table import Table
from gridplan.query.text import listed, name_sql, number_sql, read_sql, text_sql
from gridplan.store.columns import AxisSpec, Column

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["StoredCells"]


@dataclass(frozen=True)
class StoredCells:
    """A cube in a folder; `grid` is its contract, where it can be planned anew."""

    table: Table
    db: duckdb.DuckDBPyConnection
    grid: Grid | None
    hidden: frozenset[str] = frozenset()

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in declared order."""
        return self.table.axes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Coordinates, then measures."""
        return self.table.manifest.layout.given

    @property
    def drops_rows(self) -> bool:
        """Whether the folder was written without the rows of cells that have no plan."""
        return bool(self.table.manifest.options.get("drop_infeasible"))

    def box(self, place: Place, names: Sequence[str]) -> Box:
        """The cells at `place`; those without a row are infeasible and null otherwise.

        Raises StoreError for a file that is missing or damaged, or holds a label that the manifest does not know.
        """
        known = {column.name: column for column in self.columns}
        columns = tuple(known[name] for name in names)
        axes = cut_axes(self.axes, place)
        rows = self._rows(place, axes, names)
        along = {axis.name: self._positions(axis, rows.column(axis.name)) for axis in axes}
        arrays = {column.name: _spread(column, rows.column(column.name), axes, along) for column in columns}
        if self.drops_rows and "status" in arrays and "infeasible" in known["status"].categories:
            arrays["status"] = np.where(
                arrays["status"] < 0, known["status"].categories.index("infeasible"), arrays["status"]
            )
        return Box(axes, columns, arrays, tuple(own.start for own in place))

    def _rows(self, place: Place, axes: Sequence[AxisSpec], names: Sequence[str]) -> pa.Table:
        """The rows at `place`: all axes, then the columns of these names."""
        import pyarrow as pa

        held = {axis.name: list(own) for axis, own in zip(self.axes, place, strict=True)}
        parts = held_parts(self.table, held)
        self.table.check(parts)
        cut = [axis for axis, whole in zip(axes, self.axes, strict=True) if len(axis.labels) < len(whole.labels)]
        conditions = " AND ".join(_condition(axis) for axis in cut) or "true"
        wanted = listed([*(axis.name for axis in axes), *names])
        sql = f"SELECT {wanted} FROM {read_sql(files_sql(self.table, parts))} WHERE {conditions}"
        with duckdb_errors(self.table.folder):
            # Requests come side by side, and a connection answers one at a time.
            reader = batches(self.db.cursor(), sql)
            return pa.Table.from_batches(reader, reader.schema)

    def _positions(self, axis: AxisSpec, column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The place of each row along an axis. Raises StoreError for a label that is not on it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = pa.array(axis.labels, pa.string() if axis.is_text else pa.float64())
        found = pc.index_in(column.cast(labels.type), value_set=labels)
        if found.null_count:
            raise StoreError(f"{self.table.folder}: {axis.name} has labels that the manifest does not know")
        return np.asarray(found.to_numpy(), np.int64)


def _condition(axis: AxisSpec) -> str:
    """SQL that holds at the labels of an axis; they come from the manifest, never from a page."""
    written = [text_sql(str(label)) if axis.is_text else number_sql(float(label)) for label in axis.labels]
    name = name_sql(axis.name)
    return f"{name} = {written[0]}" if len(written) == 1 else f"{name} IN ({', '.join(written)})"


def _spread(
    column: Column, values: pa.ChunkedArray, axes: Sequence[AxisSpec], along: Mapping[str, npt.NDArray[np.int64]]
) -> npt.NDArray[Any]:
    """The values of a column at the places of their rows along the axes on which it depends, null where no row is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    shape = tuple(len(axis.labels) if axis.name in column.dims else 1 for axis in axes)
    # All rows that meet in one place have the same value there.
    cells = np.zeros(len(values), np.int64)
    for axis, size in zip(axes, shape, strict=True):
        cells = cells * size + (along[axis.name] if size > 1 else 0)
    if column.dtype == "string":
        codes = pc.index_in(values.cast(pa.string()), value_set=pa.array(column.categories, pa.string()))
        found: npt.NDArray[Any] = np.full(math.prod(shape), -1, np.int32)
        found[cells] = codes.fill_null(-1).to_numpy()
    else:
        found = np.full(math.prod(shape), np.nan)
        found[cells] = values.cast(pa.float64()).to_numpy()
    return found.reshape(shape)
