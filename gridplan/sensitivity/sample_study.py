"""A question about uncertain inputs, checked: the grid cut to its labels, distributions in bounds, points to sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from gridplan import __version__
from gridplan.contract.grid import Grid
from gridplan.engine.cell import cell_index
from gridplan.engine.cluster.bench import check_version
from gridplan.engine.cluster.current import scheduler_in_use
from gridplan.engine.cluster.spread import in_order
from gridplan.engine.columns import plan_columns
from gridplan.engine.evaluate import evaluate
from gridplan.engine.field import Field
from gridplan.engine.inputs import build_inputs
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem
from gridplan.quantities import format_labels
from gridplan.sensitivity.cut_grid import grid_at
from gridplan.sensitivity.distribution_text import DistributionLike
from gridplan.sensitivity.distributions import Distribution
from gridplan.sensitivity.uncertain_inputs import bounded_distributions, moved_by, values_at

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MAX_SAMPLES", "Study", "check_count", "points_of", "study_of"]

Columns = Mapping[str, NDArray[Any]]

MAX_SAMPLES = 2**30
"""Points of a Sobol' sequence with 30 bits (fact: scipy.stats.qmc.Sobol)."""


@dataclass(frozen=True)
class Study:
    """A grid at the labels asked for and its uncertain inputs.

    `dropped` are the dimensions of one label that no answer shows: fixed ones, and axes whose input is sampled.
    """

    grid: Grid
    distributions: Mapping[str, Distribution]
    fixed: Mapping[str, str | float]
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def cells(self) -> int:
        """Cells of the cube without samples."""
        return int(np.prod([len(labels) for labels in space_of(self.grid).labels.values()], dtype=np.int64))

    def cube(self, values: Columns, measures: Iterable[str]) -> xr.Dataset:
        """The measures at samples of the inputs, along `sample`."""
        found = evaluate(moved_by(self.grid, self.distributions, values), measures)
        return found.isel(dict.fromkeys(self.dropped, 0), drop=True)

    def cubes(self, pieces: Iterable[Columns], measures: Iterable[str]) -> Iterator[xr.Dataset]:
        """The same at one piece of the samples after another; inside of `gridplan.cluster` its workers plan them."""
        names, scheduler = tuple(measures), scheduler_in_use()
        if scheduler is None:
            for values in pieces:
                yield self.cube(values, names)
            return
        name = f"gridplan-sample-{uuid4().hex[:12]}"
        planned = in_order(scheduler, _cube, (self, names, __version__), pieces, lambda values: (values,), name)
        yield from (cube for _, cube in planned)

    @property
    def at(self) -> str:
        """The labels that are fixed, as text."""
        return format_labels(self.fixed.items())


def _cube(shared: tuple[Study, tuple[str, ...], str], values: Columns) -> xr.Dataset:
    """The cube of one piece, where it arrives. Raises StoreError for a study of another version."""
    study, names, version = shared
    check_version(version)
    return study.cube(values, names)


def study_of(
    grid: Grid,
    distributions: Mapping[str, DistributionLike],
    measures: Iterable[str],
    at: Mapping[str, str | float] | None,
    one_cell: bool = False,
) -> Study:
    """The question, checked; with `one_cell` every axis must be fixed, but for those whose input is sampled.

    Raises ContractError for unknown or impossible inputs, distributions, measures, axes and labels.
    """
    if grid.shifts:
        raise ContractError([Problem("inputs of this grid are moved already; give the grid as it was", key="grid")])
    at = dict(at or {})
    cut, fixed = grid_at(grid, at)
    fitted = bounded_distributions(cut, distributions)
    ruled = [name for name, item in fitted.items() if not item.multiplies and name in space_of(grid).labels]
    clash = [name for name in ruled if name in at]
    if clash:
        said = "is sampled and fixed: leave one out, or let samples multiply the label (x before the distribution)"
        raise ContractError([Problem(said, key=name) for name in clash])
    labels = space_of(cut).labels
    cut, _ = grid_at(cut, {name: labels[name][0] for name in ruled})
    if one_cell:
        inputs = build_inputs(cut, lenient=True)
        cell = {name: inputs.space.labels[name][place] for name, place in cell_index(inputs, fixed).items()}
        cut, cell = grid_at(cut, cell)
        fixed = {name: label for name, label in cell.items() if name not in ruled}
    moved = moved_by(grid, fitted, values_at(fitted, np.tile([[0.25], [0.75]], len(fitted))))
    warnings = (*build_inputs(moved).warnings, *_without_effect(cut, fitted, tuple(measures)))
    return Study(cut, fitted, fixed, tuple(dict.fromkeys((*fixed, *ruled))), warnings)


def _without_effect(grid: Grid, fitted: Mapping[str, Distribution], measures: tuple[str, ...]) -> Iterator[str]:
    """Inputs that change nothing that the measures asked for are computed from.

    Raises ContractError for those that change nothing at all: the contract has something else in their place.
    """
    problems = []
    for name, item in fitted.items():
        ends = values_at({name: item}, np.array([[0.01], [0.99]]))
        if ends[name][0] == ends[name][1]:
            yield f"{name} is {ends[name][0]:g} in nearly every sample"
            continue
        inputs = build_inputs(moved_by(grid, {name: item}, ends), lenient=True)
        moved = {key for key, held in inputs.values.items() if _differs(held)}
        if not moved:
            said = f"{name} changes nothing here: the contract gives an input that stands in its place"
            problems.append(Problem(said, key=name))
        elif moved.isdisjoint(read for step in plan_columns(inputs, measures).steps for read in step.inputs):
            yield f"{name} changes none of {', '.join(measures)}"
    if problems:
        raise ContractError(problems)


def _differs(held: Field) -> bool:
    """Whether an input differs between two samples, which are its first dimension."""
    data = held.data
    return data.shape[0] > 1 and not np.array_equal(data[0], data[1], equal_nan=data.dtype.kind == "f")


def check_count(n: int, method: str) -> None:
    """Raise ContractError unless `n` points of that kind can be drawn."""
    if method not in ("sobol", "random"):
        raise ContractError([Problem(f"method is sobol or random, not {method}", key="method")])
    if not 2 <= n <= MAX_SAMPLES:
        raise ContractError([Problem(f"n must be from 2 to {MAX_SAMPLES:,}; {n:,} is not", key="n")])
    if method == "sobol" and n & (n - 1):
        low = 1 << (n.bit_length() - 1)
        raise ContractError([Problem(f"n must be a power of 2, such as {low:,} or {2 * low:,}; {n:,} is not", key="n")])


def points_of(width: int, n: int, seed: int, method: str, chunk: int) -> Iterator[NDArray[Any]]:
    """`n` points of the unit cube of `width` dimensions, in pieces of at most `chunk` rows (a power of 2)."""
    random = np.random.default_rng(seed)
    if method == "random":
        for start in range(0, n, chunk):
            yield random.random((min(chunk, n - start), width))
        return
    from scipy.stats import qmc

    sequence = qmc.Sobol(width, scramble=True, seed=random)
    for _ in range(0, n, chunk):
        # The middle of the cell of 2^-30 that a point stands for: never 0, where a quantile is infinite.
        yield sequence.random(min(chunk, n)) + 2.0**-31
