"""Aggregates of a cube that is never kept: blocks are planned, folded into small arrays and forgotten."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from threading import Event
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.cluster.current import scheduler_in_use
from gridplan.engine.cluster.fold import FoldRecipe, folded_on
from gridplan.engine.columns import plan_columns
from gridplan.engine.folds import Fold, add_block, folds_of
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.places import Place
from gridplan.engine.workers import Stopped, default_workers, spread
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.store.blocks import Block, cut
from gridplan.store.layout import Layout

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["reduce"]

MAX_SKETCHES = 2_000
"""Groups up to which quantiles are kept (policy): a sketch takes 56 kB, and every thread has its own."""

TASK_CELLS = 2_000_000
"""Cells of one task of a thread (policy)."""


def reduce(
    grid: Grid,
    aggregates: Mapping[str, str | Sequence[str]],
    by: Sequence[str] = (),
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> xr.Dataset:
    """Fold the cube of `grid` into one value per combination of the labels of `by`, in bounded memory.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    aggregates
        For each measure one or more of `min`, `max`, `mean`, `sum`, `count` (cells with a value; for text, cells of
        each label), `argmin`, `argmax` (the labels of the winning cell, first in declared order where several tie) and
        `p1` to `p99.9` (a quantile within 0.5% of its value).
    by
        Axes that stay; all others are folded.
    workers
        Threads; as many as cores by default. The result does not depend on their number, except for the last digits of
        sums and means.
    scheduler
        Fold on a cluster of dask.distributed in place of threads, as `gridplan.run` plans on one.
    progress
        Called with the number of cells whenever some are done.

    Returns
    -------
    xarray.Dataset
        `<measure>_<aggregate>` on the dimensions of `by`; `argmin` gives `<measure>_argmin_<axis>` for every folded
        axis; `count` of text has one more dimension, named like the measure. NaN or None where no cell has a value.

    Raises
    ------
    ContractError
        For an unknown measure, aggregate or axis, and for anything wrong with the grid.
    """
    inputs = build_inputs(grid)
    wanted = {name: [kinds] if isinstance(kinds, str) else list(kinds) for name, kinds in aggregates.items()}
    _check(wanted, by, inputs.space.labels)
    plan = plan_columns(inputs, wanted)
    layout = plan.layout
    shared = hoist(inputs, plan)
    total = folds_of(layout, wanted, by)
    for name, folds in total.items():
        if name in shared.columns:
            _add_whole(layout, by, folds, shared.columns[name])
    told = progress or (lambda _: None)
    rest = {name: kinds for name, kinds in wanted.items() if name not in shared.columns}
    if not rest:
        told(layout.cells)
        return _dataset(layout, total, by)

    def make(stop: Event) -> Callable[[Block], dict[str, list[Fold]]]:
        evaluator = BlockEvaluator(inputs, plan, shared)

        def work(task: Block) -> dict[str, list[Fold]]:
            part = folds_of(layout, rest, by)
            for block in cut(task, BLOCK_CELLS):
                if stop.is_set():
                    raise Stopped
                add_block(evaluator, Place(layout, by, block), part)
                told(block.rows)
            return part

        return work

    tasks = list(cut(layout.block, TASK_CELLS))
    if scheduler is None and workers is None:
        scheduler = scheduler_in_use()
    if scheduler is None:
        results = spread(tasks, make, workers or default_workers())
    else:
        results = folded_on(scheduler, FoldRecipe(uuid4().hex, grid, tuple(wanted), rest, tuple(by)), tasks, told)
    for _, part in results:
        for name, folds in part.items():
            for whole, one in zip(total[name], folds, strict=True):
                whole.merge(one)
    return _dataset(layout, total, by)


def _add_whole(layout: Layout, by: Sequence[str], folds: Iterable[Fold], values: Array) -> None:
    """Fold a measure that is known in whole: each value once, however many cells it stands for.

    Axes that neither split the values nor the groups stay whole, so a block of few values may stand for all cells.
    """
    split = [values.shape[axis] > 1 or name in by for axis, name in enumerate(layout.dims)]
    sizes = tuple(size if apart else 1 for size, apart in zip(layout.shape, split, strict=True))
    for piece in cut(Block((0,) * len(sizes), sizes), BLOCK_CELLS):
        stop = tuple(end if apart else size for end, size, apart in zip(piece.stop, layout.shape, split, strict=True))
        place = Place(layout, by, Block(piece.start, stop))
        part = tuple(
            slice(*ends) if size > 1 else slice(None)
            for ends, size in zip(zip(piece.start, piece.stop, strict=True), values.shape, strict=True)
        )
        for fold in folds:
            fold.add(place, values[part])


def _check(wanted: Mapping[str, Sequence[str]], by: Sequence[str], axes: Mapping[str, Sequence[object]]) -> None:
    problems = [
        Problem(f"{name} is not an axis of this grid{suggestion(name, axes)}", key="by")
        for name in by
        if name not in axes
    ]
    groups = math.prod(len(axes[name]) for name in set(by) if name in axes)
    if groups > MAX_SKETCHES and any(kind[0] == "p" for kinds in wanted.values() for kind in kinds):
        problems.append(Problem(f"{groups:,} groups are too many for quantiles; at most {MAX_SKETCHES:,}", key="by"))
    for name, kinds in wanted.items():
        if name not in all_measures():
            problems.append(Problem(f"{name} is not a measure{suggestion(name, all_measures())}"))
            continue
        is_label = dictionary()[name].is_label
        for kind in kinds:
            if not _is_aggregate(kind, is_label):
                allowed = "count" if is_label else "min, max, mean, sum, count, argmin, argmax, p1 to p99.9"
                problems.append(Problem(f"{kind} is no aggregate of {name}; it may be {allowed}", key=name))
    if problems:
        raise ContractError(problems)


def _is_aggregate(kind: str, is_label: bool) -> bool:
    if is_label:
        return kind == "count"
    if kind in ("min", "max", "mean", "sum", "count", "argmin", "argmax"):
        return True
    try:
        return kind.startswith("p") and 0 < float(kind[1:]) < 100
    except ValueError:
        return False


def _dataset(layout: Layout, folds: Mapping[str, Iterable[Fold]], by: Sequence[str]) -> xr.Dataset:
    import xarray as xr

    ordered = [axis for axis in layout.axes if axis.name in by]
    shape = tuple(len(axis.labels) for axis in ordered)
    dims = [axis.name for axis in ordered]
    coords = {axis.name: np.array(axis.labels, dtype=object if axis.is_text else np.float64) for axis in ordered}
    variables: dict[str, tuple[list[str], Array]] = {}
    for fold in chain.from_iterable(folds.values()):
        for name, (values, extra) in fold.results().items():
            tail = tuple(len(labels) for labels in extra.values())
            variables[name] = ([*dims, *extra], values.reshape(shape + tail))
            coords.update({dim: np.array(labels, dtype=object) for dim, labels in extra.items()})
    return xr.Dataset(variables, coords=coords)
