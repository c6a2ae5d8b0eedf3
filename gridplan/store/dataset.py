"""The cube as an xarray Dataset: one builder for a cube just evaluated and for one read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gridplan.errors import StoreError
from gridplan.store.columns import AxisSpec, Column
from gridplan.store.layout import Layout
from gridplan.store.values import Arrays, axis_values

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["axis_labels", "column_attrs", "dataset_from_arrays", "labelled"]


def dataset_from_arrays(layout: Layout, arrays: Arrays, attrs: Mapping[str, Any] | None = None) -> xr.Dataset:
    """The Dataset of a whole cube from the same arrays that a writer is given.

    Every variable stands on its own dims. Text is an object array of str or None; numbers are float64 with NaN for
    null, also whole numbers and flags, which carry the attribute `dtype` ("int64" or "bool"). Axes are indexes in
    declared order, other labels coordinates along the axes that fix them. A column that `arrays` lacks is left out.

    Raises StoreError when the shape of an array does not fit the cube.
    """
    import xarray as xr

    coords: dict[str, xr.Variable] = {}
    measures: dict[str, xr.Variable] = {}
    for axis, column in zip(layout.axes, layout.columns, strict=False):
        coords[axis.name] = _variable((axis.name,), axis_labels(axis, column), column_attrs(column))
    for column in layout.given:
        if column.name in arrays:
            values = on_own_dims(layout, column, arrays[column.name])
            decoded = labelled(column, values) if column.dtype == "string" else values.astype(np.float64, copy=False)
            kind = coords if column.role == "coord" else measures
            kind[column.name] = _variable(column.dims, decoded, column_attrs(column))
    return xr.Dataset(measures, coords, attrs)


def _variable(dims: tuple[str, ...], values: npt.NDArray[Any], attrs: dict[str, Any]) -> xr.Variable:
    import xarray as xr

    # Without the fast path xarray passes objects through a pandas Series, which from pandas 3 on turns None into NaN.
    return xr.Variable(dims, values, attrs, fastpath=True)


def axis_labels(axis: AxisSpec, column: Column) -> npt.NDArray[Any]:
    """The labels of an axis as an index holds them: str objects, float64 or int64."""
    return _objects(axis.labels) if axis.is_text else axis_values(axis, column)


def on_own_dims(layout: Layout, column: Column, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`values` without the axes the column does not depend on; size 1 is spread along the axes it does depend on."""
    full = tuple(size if dim in column.dims else 1 for dim, size in zip(layout.dims, layout.shape, strict=True))
    own = tuple(size for dim, size in zip(layout.dims, layout.shape, strict=True) if dim in column.dims)
    try:
        spread = values if values.shape == full else np.array(np.broadcast_to(values, full))
        return spread.reshape(own)
    except ValueError as error:
        raise StoreError(
            f"column {column.name}: values of shape {values.shape} do not fit dims {column.dims}"
        ) from error


def labelled(column: Column, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Codes as labels; -1 becomes None."""
    # The None at the end is what index -1 finds.
    return np.asarray(_objects((*column.categories, None))[codes], dtype=object).reshape(codes.shape)


def _objects(labels: tuple[Any, ...]) -> npt.NDArray[Any]:
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


def column_attrs(column: Column) -> dict[str, Any]:
    """What a variable says about itself."""
    held_as_float = column.role != "axis" and column.dtype in ("int64", "bool")
    return {**column.meta, **({"dtype": column.dtype} if held_as_float else {})}
