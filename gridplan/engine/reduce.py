"""Aggregates of a cube that is never kept: blocks are planned, folded into small arrays and forgotten."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary, measures
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.columns import plan_columns
from gridplan.engine.folds import Fold, make_fold
from gridplan.engine.inputs import build_inputs
from gridplan.engine.workers import Stopped, default_workers, spread
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.store.blocks import Block, cut
from gridplan.store.layout import Layout

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["BLOCK_CELLS", "reduce"]

BLOCK_CELLS = 32_768
"""Cells planned at once (measurement, 2026-11): 16k to 128k stay in cache and cost least a cell."""

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
    tasks = list(cut(layout.block, TASK_CELLS))
    told = progress or (lambda _: None)

    def make(stop: Event) -> Callable[[Block], list[Fold]]:
        evaluator = BlockEvaluator(inputs, plan)

        def work(task: Block) -> list[Fold]:
            folds = _folds(layout, wanted, by)
            for block in cut(task, BLOCK_CELLS):
                if stop.is_set():
                    raise Stopped
                arrays = evaluator(block)
                for fold in folds:
                    fold.add(block, arrays[fold.measure])
                told(block.rows)
            return folds

        return work

    total = _folds(layout, wanted, by)
    for _, parts in spread(tasks, make, workers or default_workers()):
        for whole, part in zip(total, parts, strict=True):
            whole.merge(part)
    return _dataset(layout, total, by)


def _folds(layout: Layout, wanted: Mapping[str, Sequence[str]], by: Sequence[str]) -> list[Fold]:
    return [make_fold(layout, name, kind, by) for name, kinds in wanted.items() for kind in kinds]


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
        if name not in measures():
            problems.append(Problem(f"{name} is not a measure{suggestion(name, measures())}"))
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


def _dataset(layout: Layout, folds: Iterable[Fold], by: Sequence[str]) -> xr.Dataset:
    import xarray as xr

    ordered = [axis for axis in layout.axes if axis.name in by]
    shape = tuple(len(axis.labels) for axis in ordered)
    dims = [axis.name for axis in ordered]
    coords = {axis.name: np.array(axis.labels, dtype=object if axis.is_text else np.float64) for axis in ordered}
    variables: dict[str, tuple[list[str], Array]] = {}
    for fold in folds:
        for name, (values, extra) in fold.results().items():
            tail = tuple(len(labels) for labels in extra.values())
            variables[name] = ([*dims, *extra], values.reshape(shape + tail))
            coords.update({dim: np.array(labels, dtype=object) for dim, labels in extra.items()})
    return xr.Dataset(variables, coords=coords)
