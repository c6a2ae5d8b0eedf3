"""One cell of a grid whose inputs move along samples, each value checked to be what it was meant to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cell_index
from gridplan.engine.inputs import build_inputs
from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.errors import ContractError, Problem
from gridplan.sensitivity.cells import cube_of, inputs_at, refuse
from gridplan.sensitivity.cut_grid import grid_at
from gridplan.sensitivity.ranges import out_of_bounds
from gridplan.sensitivity.rates import FAR_ANCHOR, NOT_MOVED
from gridplan.sensitivity.shifted import Op, with_samples

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["CONTINUOUS", "Cell", "Moved", "cell_of", "moved_values", "null_reason", "values_of"]

CONTINUOUS: Mapping[str, str] = {
    "replicas_active": "replicas_fractional",
    "replicas": "replicas_fractional",
    "nodes": "nodes_unrounded",
    "usd_per_month": "usd_per_month_unrounded",
    "usd_per_mtok_output": "usd_per_mtok_output_unrounded",
}
"""For measures that move in stairs, the one without rounding up and without spares."""

_BESIDE = (
    *("binding_constraint", "infeasible_reason", "capacity_source", "lambda_instance", "lambda_analytical"),
    *("lambda_basis", "anchor_ratio"),
)
_LENGTHS = ("prompt_tokens", "output_tokens")
_LIMITS = ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "itl_slo_s")


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: the position along every dimension, its labels, and the grid that it is of."""

    grid: Grid
    index: Mapping[str, int]
    labels: Mapping[str, str | float]
    inputs: Inputs

    def value(self, name: str) -> float:
        """The number that an input has here, NaN where it has none; of lengths of classes their mean."""
        return float(values_of(self.inputs, name).ravel()[0])

    def own_of_classes(self, name: str) -> bool:
        """Whether a class of the workload has a value of its own in place of the contract's."""
        return any(name in item.own for workload in self.grid.workloads for item in workload.classes)

    def has_classes(self, name: str) -> bool:
        """Whether the classes of the workload state this length, each its own."""
        return name in _LENGTHS and any(workload.classes for workload in self.grid.workloads)


def cell_of(grid: Grid, at: Mapping[str, str | float] | None) -> Cell:
    """The cell that `at` names; axes with one label and the nominal scenario may be left out.

    Raises ContractError if an axis is unknown or not fixed, or a label is not on its axis, with the nearest labels.
    """
    if getattr(grid, "samples", 0):
        raise ContractError([Problem("this grid has samples already", key="grid")])
    inputs = build_inputs(grid)
    index = cell_index(inputs, dict(at or {}))
    labels = {name: inputs.space.labels[name][position] for name, position in index.items()}
    if not grid.shifts:
        # Other labels are no part of the question: a value that they would refuse may still be asked about here.
        grid, index = grid_at(grid, labels)[0], dict.fromkeys(index, 0)
    return Cell(grid, index, labels, inputs_at(grid, index))


def values_of(inputs: Inputs, name: str) -> np.ndarray:
    """The numbers of an input in these cells; of lengths that classes state their mean over requests."""
    if name in _LENGTHS:
        weight, length = inputs.values["class_weight"].data, inputs.values[f"class_{name}"].data
        return np.asarray((weight * length).sum(axis=-1))
    for known in (inputs.stated, inputs.values):
        if name in known and known[name].data.dtype != object and not bool(np.isnan(known[name].data).all()):
            return np.asarray(known[name].data)
    return np.full(1, np.nan)


@dataclass(frozen=True)
class Moved:
    """What became of the measures of one cell along samples, and whether the rates followed."""

    inputs: Inputs
    cube: xr.Dataset
    count: int

    def numbers(self, name: str) -> np.ndarray:
        """A measure at every sample."""
        return np.broadcast_to(np.asarray(self._column(name), np.float64), self.count)

    def labels(self, name: str) -> list[str | None]:
        """A label at every sample; null is None."""
        column = self._column(name)
        return [item if isinstance(item, str) else None for item in np.broadcast_to(column, self.count).tolist()]

    def _column(self, name: str) -> Any:
        item = self.cube[name]
        return item.values.reshape(-1) if item.ndim else np.asarray([item.item()], item.dtype)

    def notes(self, name: str) -> list[str | None]:
        """What to know of the rates: a measured one that stays while input `name` moves, one scaled by a far anchor."""
        rate, other = self.numbers("lambda_instance"), self.numbers("lambda_analytical")
        stays = np.abs(rate - rate[0]) <= 1e-9 * rate[0]
        moves = (np.abs(other - other[0]) > 1e-9 * other[0]) | (name in _LIMITS)
        measured = [source == "measured" for source in self.labels("capacity_source")]
        anchor = self.numbers("anchor_ratio")
        far = (anchor < ANCHOR_RANGE[0]) | (anchor > ANCHOR_RANGE[1])
        notes = np.where(stays & moves & np.array(measured), NOT_MOVED, np.where(far, FAR_ANCHOR, ""))
        return [str(note) or None for note in notes.tolist()]


def moved_values(
    cell: Cell,
    samples: Mapping[str, tuple[Op, np.ndarray]],
    expected: Mapping[str, np.ndarray],
    names: tuple[str, ...],
) -> Moved:
    """The measures of a cell while its inputs move along samples; sample 0 is the base.

    `expected` are the values that each input is to have, NaN where it is not looked at.

    Raises ContractError where a value is out of bounds, or an input does not come to have its value because others
    decide it.
    """
    refuse(
        [
            Problem(said, key=name)
            for name, values in expected.items()
            for value in values[~np.isnan(values)].tolist()
            if (said := out_of_bounds(name, value))
        ]
    )
    grid = with_samples(cell.grid, dict(samples))
    inputs = inputs_at(grid, {name: at for name, at in cell.index.items()})
    wrong = []
    for name, values in expected.items():
        got = np.broadcast_to(values_of(inputs, name).reshape(-1), values.shape)
        tolerance = np.where(cell.has_classes(name), 0.5, 1e-9 * np.abs(values))
        if bool((np.abs(got - values) > tolerance).any()):
            said = f"{name} does not take the values of its range: other inputs of the contract decide it"
            wrong.append(Problem(said, key=name))
    refuse(wrong)
    wanted = dict.fromkeys((*names, *(CONTINUOUS[name] for name in names if name in CONTINUOUS), *_BESIDE))
    count = len(next(iter(samples.values()))[1])
    return Moved(inputs, cube_of(inputs, wanted), count)


def null_reason(name: str, value: float, reason: str | None) -> str | None:
    """Why a measure has no number: the cell is infeasible, or what the dictionary says."""
    if not np.isnan(value):
        return None
    return reason or f"null where {dictionary()[name].null_where}"
