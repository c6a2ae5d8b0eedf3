"""A cube that is planned when it is asked for: a Dataset of dask arrays, planned box by box wherever dask runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import accumulate, product
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from gridplan import __version__
from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.cluster.bench import check_version, kept
from gridplan.engine.columns import Plan, plan_columns
from gridplan.engine.inputs import build_inputs
from gridplan.engine.simulations import with_simulations
from gridplan.errors import ContractError, MissingExtraError, Problem, suggestion
from gridplan.store.blocks import Block, cut
from gridplan.store.cells import check_numbers
from gridplan.store.columns import Column
from gridplan.store.dataset import column_attrs, dataset_from_arrays, labelled
from gridplan.store.layout import Layout
from gridplan.store.values import put_block

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Chunks", "lazy_cube"]

Chunks = int | Mapping[str, int]
"""Labels of one chunk along every axis, or along those that are named; the others stay whole."""

Sizes = tuple[tuple[int, ...], ...]
"""Labels of each chunk along each axis."""


@dataclass(frozen=True)
class _Recipe:
    """All that decides the numbers of a cube, in a form that travels."""

    key: str
    grid: Grid
    measures: tuple[str, ...] | None
    simulate: bool
    version: str = field(default=__version__)


def lazy_cube(
    inputs: Inputs, plan: Plan, measures: Sequence[str] | None, chunks: Chunks, attrs: Mapping[str, Any]
) -> xr.Dataset:
    """The cube of these inputs with dask arrays in place of measures; what needs no planning stands as it is.

    A box of cells is planned with all measures of the Dataset as soon as one of them is asked for.

    Raises
    ------
    ContractError
        For chunks along what is no axis, or of no label.
    MissingExtraError
        When dask is not installed.
    """
    if find_spec("dask") is None:
        raise MissingExtraError("chunks are planned by dask", "distributed")
    layout, sizes = plan.layout, _sizes(plan.layout, chunks)
    known = {name: item.data for name, item in plan.constants.items()}
    cube = dataset_from_arrays(layout, known, attrs)
    recipe = _Recipe(uuid4().hex, inputs.grid, None if measures is None else tuple(measures), inputs.simulate)
    boxes = {
        (f"gridplan-box-{recipe.key}", *place): (_plan_box, recipe, start, stop) for place, start, stop in _boxes(sizes)
    }
    planned = [column for column in layout.given if column.name not in known]
    arrays = {column.name: _dask_array(recipe, layout, column, sizes, boxes) for column in planned}
    cube = cube.assign({column.name: (column.dims, arrays[column.name], column_attrs(column)) for column in planned})
    return cube[[column.name for column in layout.given if column.name in cube.data_vars]]


def _sizes(layout: Layout, chunks: Chunks) -> Sizes:
    """Labels of each chunk along each axis. Raises ContractError."""
    wanted = dict.fromkeys(layout.dims, chunks) if isinstance(chunks, int) else dict(chunks)
    problems = [
        Problem(f"{name} is not an axis of this grid{suggestion(name, layout.dims)}", key="chunks")
        for name in wanted
        if name not in layout.dims
    ]
    problems += [
        Problem(f"{name}: a chunk has one label at least, or -1 for all of them, not {size}", key="chunks")
        for name, size in wanted.items()
        if size < 1 and size != -1
    ]
    if problems:
        raise ContractError(list(dict.fromkeys(problems)))
    found = []
    for name, count in zip(layout.dims, layout.shape, strict=True):
        size = wanted.get(name, -1)
        size = count if size == -1 else min(size, count)
        whole, rest = divmod(count, size)
        found.append((size,) * whole + ((rest,) if rest else ()))
    return tuple(found)


def _boxes(sizes: Sizes) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Each box: its place among the chunks, where it begins along each axis, and where it ends."""
    ends = [tuple(accumulate(own)) for own in sizes]
    for place in product(*(range(len(own)) for own in sizes)):
        stop = tuple(own[at] for own, at in zip(ends, place, strict=True))
        yield place, tuple(end - own[at] for end, own, at in zip(stop, sizes, place, strict=True)), stop


def _dask_array(recipe: _Recipe, layout: Layout, column: Column, sizes: Sizes, boxes: Mapping[Any, Any]) -> Any:
    """One measure on its own dims: of each box the values of that measure, of boxes that repeat it the first one."""
    from dask.array import Array as DaskArray
    from dask.highlevelgraph import HighLevelGraph

    own = [axis for axis, name in enumerate(layout.dims) if name in column.dims]
    name, box_name = f"{column.name}-{recipe.key}", f"gridplan-box-{recipe.key}"
    layer: dict[Any, Any] = {}
    for place in product(*(range(len(sizes[axis])) for axis in own)):
        full = [0] * len(sizes)
        for axis, at in zip(own, place, strict=True):
            full[axis] = at
        shape = tuple(sizes[axis][at] for axis, at in zip(own, place, strict=True))
        layer[(name, *place)] = (_own_values, (box_name, *full), column, tuple(own), shape)
    graph = HighLevelGraph({box_name: dict(boxes), name: layer}, {box_name: set(), name: {box_name}})
    dtype = object if column.dtype == "string" else np.float64
    return DaskArray(graph, name, tuple(sizes[axis] for axis in own), dtype=dtype)


def _plan_box(recipe: _Recipe, start: tuple[int, ...], stop: tuple[int, ...]) -> dict[str, Array]:
    """All planned columns of a box, of size 1 along axes on which they do not depend. Raises StoreError."""
    check_version(recipe.version)
    layout, evaluator = kept(recipe.key, lambda: _evaluator(recipe))
    outer = Block(start, stop)
    arrays: dict[str, Array] = {}
    for block in cut(outer, BLOCK_CELLS):
        put_block(arrays, outer, block, evaluator.columns(block), layout)
    check_numbers(layout, arrays)
    return arrays


def _evaluator(recipe: _Recipe) -> tuple[Layout, BlockEvaluator]:
    inputs = with_simulations(build_inputs(recipe.grid), recipe.simulate)
    plan = plan_columns(inputs, recipe.measures)
    return plan.layout, BlockEvaluator(inputs, plan)


def _own_values(arrays: Mapping[str, Array], column: Column, own: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """The values of one column of a box on its own dims, labels as text."""
    array = arrays[column.name]
    full = [1] * array.ndim
    for axis, size in zip(own, shape, strict=True):
        full[axis] = size
    # A column may be of size 1 along an axis on which it depends, where the box has the same value all along.
    values = np.array(np.broadcast_to(array, full)).reshape(shape)
    return labelled(column, values) if column.dtype == "string" else values.astype(np.float64, copy=False)
