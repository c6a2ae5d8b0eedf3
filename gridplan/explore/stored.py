"""Cells of a cube in a folder, read by SQL when they are asked for: only files that hold some of them are opened."""

from __future__ import annotations

from collections.abc import Sequence
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

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in declared order."""
        return self.table.axes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Coordinates, then measures."""
        return self.table.manifest.layout.given

    def box(self, place: Place, names: Sequence[str]) -> Box:
        """The cells at `place`; null where the folder was written without the rows of cells that have no plan.

        Raises StoreError for a file that is missing or damaged, or holds a label that the manifest does not know.
        """
        known = {column.name: column for column in self.columns}
        columns = tuple(known[name] for name in names)
        axes = cut_axes(self.axes, place)
        shape = tuple(map(len, place))
        rows = self._rows(place, axes, names)
        # Of the rows, whatever their order; a cube without axes is one cell.
        along = tuple(self._positions(axis, rows.column(axis.name)) for axis in axes)
        cells = np.ravel_multi_index(along, shape) if along else np.zeros(rows.num_rows, np.intp)
        arrays = {column.name: _spread(column, rows.column(column.name), cells, shape) for column in columns}
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
    column: Column, values: pa.ChunkedArray, cells: npt.NDArray[np.int64], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """The values of a column in the cells of their rows, null in those that have none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.dtype == "string":
        found = pc.index_in(values.cast(pa.string()), value_set=pa.array(column.categories, pa.string()))
        flat: npt.NDArray[Any] = np.full(int(np.prod(shape)), -1, np.int32)
        flat[cells] = found.fill_null(-1).to_numpy()
    else:
        flat = np.full(int(np.prod(shape)), np.nan)
        flat[cells] = values.cast(pa.float64()).to_numpy()
    return flat.reshape(shape)
