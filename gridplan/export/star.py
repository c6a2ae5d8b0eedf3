"""A star schema: a fact table of keys and measures, a table of labels and attributes for each axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gridplan.export.rows import Rows
from gridplan.query.answer import AnswerColumn, Query, like
from gridplan.query.arrow import schema_of
from gridplan.query.text import name_sql
from gridplan.store.arrow import ARROW_TYPES, arrow_field
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.reader import reading

__all__ = ["Star", "key_of", "star_of"]


def key_of(axis: str) -> str:
    """The column that joins the facts with the table of an axis.

    >>> key_of("gpu")
    'gpu_key'
    """
    return f"{axis}_key"


@dataclass(frozen=True)
class Star:
    """`dims` by axis; `query` reads what the facts are made from, `columns` are the columns of the facts."""

    dims: Mapping[str, pa.Table]
    columns: tuple[AnswerColumn, ...]
    query: Query
    labels: Mapping[str, pa.Array]
    """Labels of the axes that are numbers, whose position is their key."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables of the axes, by the names that they are written under."""
        return {f"dim_{axis}": dim for axis, dim in self.dims.items()}

    @property
    def schema(self) -> pa.Schema:
        """The schema of the facts."""
        return schema_of(self.columns)

    def facts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of the query as batches of the facts: each axis by its key, which counts labels from 0."""
        schema = self.schema
        for batch in batches:
            columns = [self._key(batch, place, column.name) for place, column in enumerate(self.columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def keyed(self, table: pa.Table) -> pa.Table:
        """A table that has labels of the axes, with their keys before them: null where a label is."""
        for axis in reversed([name for name in self.dims if name in table.column_names]):
            dim = self.dims[axis]
            keys = pc.index_in(table.column(axis), value_set=dim.column(axis).combine_chunks()).cast(pa.int64())
            table = table.add_column(0, dim.schema.field(key_of(axis)), keys)
        return table

    def _key(self, batch: pa.RecordBatch, place: int, name: str) -> pa.Array:
        values = batch.column(place)
        labels = self.labels.get(name)
        return values if labels is None else pc.index_in(values, value_set=labels).cast(pa.int64())


def star_of(rows: Rows) -> Star:
    """The star schema of rows of a cube. Raises StoreError for a damaged file."""
    rows.table.check_dims()
    axes = rows.table.axes
    names = {axis.name for axis in axes}
    own = {axis.name: [c for c in rows.columns if c.role == "coord" and c.dims == (axis.name,)] for axis in axes}
    moved = {column.name for columns in own.values() for column in columns}
    ranks = {f"{name}_rank" for name in [*names, *moved]}
    facts = [c for c in rows.columns if c.name not in names | moved | ranks]
    read = [_source(rows, axis) for axis in axes]
    keys = [AnswerColumn(key_of(axis.name), "int64", _about_key(axis)) for axis in axes]
    labels = {
        key_of(axis.name): pa.array([float(label) for label in axis.labels], ARROW_TYPES[column.dtype])
        for axis, column in zip(axes, read, strict=True)
        if not axis.is_text
    }
    dims = {axis.name: _dim(rows, axis, own[axis.name]) for axis in axes}
    return Star(dims, (*keys, *map(like, facts)), rows.query([*read, *facts]), labels)


def _source(rows: Rows, axis: AxisSpec) -> Column:
    """The column that the key of an axis is made from: its rank, or its labels where they are numbers."""
    column = rows.table.column(f"{axis.name}_rank" if axis.is_text else axis.name)
    assert column is not None
    return column


def _about_key(axis: AxisSpec) -> dict[str, str]:
    return {"long_name": f"place of the label among those of {axis.name}, from 0"}


def _dim(rows: Rows, axis: AxisSpec, coords: Sequence[Column]) -> pa.Table:
    """Key, label and rank of every label of an axis, its coordinates, and what the catalog says of it."""
    column = rows.table.column(axis.name)
    assert column is not None
    size = range(len(axis.labels))
    key = arrow_field(key_of(axis.name), "int64", _about_key(axis))
    fields = [key, arrow_field(axis.name, column.dtype, column.meta)]
    arrays = [pa.array(size, pa.int64()), _labels(axis, column)]
    ranked = [c for coord in coords if (c := rows.table.column(f"{coord.name}_rank")) is not None]
    for coord in (*coords, *ranked):
        values = _values(rows, axis, column, coord)
        fields.append(arrow_field(coord.name, coord.dtype, coord.meta))
        arrays.append(pa.array([values.get(label) for label in axis.labels], ARROW_TYPES[coord.dtype]))
    table = pa.table(arrays, schema=pa.schema(fields))
    return _with_attributes(rows, axis, table)


def _labels(axis: AxisSpec, column: Column) -> pa.Array:
    if axis.is_text:
        return pa.array(axis.labels, pa.string())
    return pa.array([float(label) for label in axis.labels], pa.float64()).cast(ARROW_TYPES[column.dtype])


def _values(rows: Rows, axis: AxisSpec, column: Column, coord: Column) -> dict[Any, Any]:
    """A coordinate of an axis by label, as the rows that are handed over have it."""
    label, value = name_sql(axis.name), name_sql(coord.name)
    return dict(rows.figures(f"{label}, any_value({value})", f"GROUP BY {label}"))


def _with_attributes(rows: Rows, axis: AxisSpec, table: pa.Table) -> pa.Table:
    """The table with the columns of the cube's own table of this axis, in the order of the labels."""
    file = f"dims/{axis.name}.parquet"
    if file not in [record.file for record in rows.table.manifest.dims]:
        return table
    path = rows.table.folder.absolute() / file
    with reading(path):
        given = pq.read_table(path)
    order = pc.index_in(table.column(axis.name), value_set=given.column(axis.name).combine_chunks())
    for field in given.schema:
        if field.name not in (axis.name, f"{axis.name}_rank"):
            name = f"catalog_{field.name}" if field.name in table.column_names else field.name
            values = given.column(field.name).take(order)
            table = table.append_column(pa.field(name, field.type, metadata=field.metadata), values)
    return table
