"""The two sides of a difference: a contract or a cube, and the cells that both have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import cut_to, label_index
from gridplan.engine.field import Space
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.quantities import format_label
from gridplan.sensitivity.cells import cube_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Common", "Side", "common_cells", "side_of"]

Labels = Mapping[str, tuple[str | float, ...]]


@dataclass(frozen=True)
class Side:
    """A contract with its inputs, or a cube; `labels` are its dimensions."""

    labels: Labels
    inputs: Inputs | None = None
    cube: xr.Dataset | None = None

    def positions(self, fixed: Mapping[str, str | float]) -> dict[str, int]:
        """Positions of labels along their dimensions; ContractError for those that are not there."""
        return label_index(cast(Inputs, SimpleNamespace(space=Space(self.labels))), fixed)

    def measures(self, names: Iterable[str], fixed: Mapping[str, str | float]) -> xr.Dataset:
        """The measures where some dimensions are fixed; those of a cube that it holds."""
        index = self.positions(fixed)
        if self.inputs is not None:
            return cube_of(cut_to(self.inputs, index), names)
        cube = cast("xr.Dataset", self.cube)
        return cube[[name for name in names if name in cube]].isel({name: [at] for name, at in index.items()})


def side_of(given: Grid | xr.Dataset) -> Side:
    """A contract resolved, or a cube as it is."""
    if isinstance(given, Grid):
        inputs = build_inputs(given)
        return Side(inputs.space.labels, inputs)
    labels = {str(name): tuple(given[name].values.tolist()) for name in given.coords if name in given.dims}
    return Side(
        {name: tuple(float(x) if isinstance(x, int) else x for x in axis) for name, axis in labels.items()}, cube=given
    )


@dataclass(frozen=True)
class Common:
    """The cells that both sides have.

    `labels` are the dimensions of the comparison, each with the labels on both sides in the order of A; `fixed` are the
    labels at which dimensions of either side are held; `only` names labels that one side lacks.
    """

    labels: Labels
    fixed: tuple[Mapping[str, str | float], Mapping[str, str | float]]
    only: tuple[tuple[str, str, str | float], ...]

    def of(self, item: xr.DataArray, dims: Labels) -> xr.DataArray:
        """An array of one side on the common cells: held dimensions taken out, labels of the other side left out."""
        place: dict[str, Any] = {}
        for name in map(str, item.dims):
            axis = dims[name]
            place[name] = [axis.index(label) for label in self.labels[name]] if name in self.labels else 0
        found = item.isel(place)
        kept = {name: np.array(self.labels[str(name)], dtype=object) for name in found.dims}
        return found.reset_coords(drop=True).assign_coords(kept) if kept else found.reset_coords(drop=True)


def common_cells(a: Side, b: Side, at: Mapping[str, str | float]) -> Common:
    """What both sides have in common, `at` given labels.

    Raises ContractError for labels of no axis, an axis that one side alone has and nobody fixes, and where the sides
    share no cell.
    """
    sides = {"A": a, "B": b}
    names = list(dict.fromkeys([*a.labels, *b.labels]))
    problems = [
        Problem(f"{name} is not an axis of either side{suggestion(name, names)}", key="at")
        for name in at
        if name not in names
    ]
    fixed: dict[str, dict[str, str | float]] = {"A": {}, "B": {}}
    labels: dict[str, tuple[str | float, ...]] = {}
    only: list[tuple[str, str, str | float]] = []
    for name in names:
        having = [which for which, side in sides.items() if name in side.labels]
        for which in having:
            axis = sides[which].labels[name]
            if name in at:
                fixed[which][name] = at[name]
            elif len(having) == 1:
                if len(axis) > 1 and not (name == "scenario" and "nominal" in axis):
                    texts = [format_label(label) for label in axis[:8]]
                    shown = ", ".join([*texts, *(["..."] if len(axis) > 8 else [])])
                    problems.append(Problem(f"only {which} has the axis {name}: fix it at one of: {shown}", key="at"))
                fixed[which][name] = "nominal" if name == "scenario" and "nominal" in axis else axis[0]
        if len(having) == 2 and name not in at:
            labels[name] = tuple(label for label in a.labels[name] if label in b.labels[name])
            only += [(name, "A", label) for label in a.labels[name] if label not in b.labels[name]]
            only += [(name, "B", label) for label in b.labels[name] if label not in a.labels[name]]
            if not labels[name]:
                if len(a.labels[name]) == len(b.labels[name]) == 1:  # one label each: that is a change, not two cubes
                    fixed["A"][name], fixed["B"][name] = a.labels[name][0], b.labels[name][0]
                    del labels[name]
                else:
                    problems.append(Problem(f"no label of {name} is on both sides", key=name))
    if problems:
        raise ContractError(problems)
    return Common(labels, (fixed["A"], fixed["B"]), tuple(only))
