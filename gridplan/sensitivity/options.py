"""The cells that may be chosen: a table of points by options, and for each cell the reason that leaves it out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.dictionary import dictionary
from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.engine.survivors import WITHOUT_SPOT
from gridplan.errors import ContractError, Problem
from gridplan.sensitivity.cautions import cautions
from gridplan.sensitivity.constraints import Condition, held
from gridplan.sensitivity.question import Question

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FAR", "UNPRICED", "Options", "options_of"]

FAR = f"anchor_ratio outside {ANCHOR_RANGE[0]:g} to {ANCHOR_RANGE[1]:g}"
BESIDE = "beside measured"
NULL = " null"
Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]
UNPRICED = ("no_price", "no_spot_price", "no_reserved_price", "needs_node_size")


@dataclass
class Options:
    """Points (labels of the axes `by`) times options (labels of the axes `chosen`), in the order of these names.

    `code` is 0 for a candidate, else 1 + the place in `reasons` of why the cell is left out: the first that holds.
    """

    cube: xr.Dataset
    by: tuple[str, ...]
    chosen: tuple[str, ...]
    code: NDArray[np.int16] = field(init=False)
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def points(self) -> tuple[int, ...]:
        """Labels of each axis that stays."""
        return tuple(self.cube.sizes[name] for name in self.by)

    @property
    def choices(self) -> tuple[int, ...]:
        """Labels of each axis chosen along."""
        return tuple(self.cube.sizes[name] for name in self.chosen)

    def column(self, name: str) -> NDArray[Any]:
        """A variable with one array axis per axis of the cube, of size 1 where it does not depend on it."""
        item, dims = self.cube[name], (*self.by, *self.chosen)
        held_dims = [dim for dim in dims if dim in item.dims]
        values: NDArray[Any] = item.transpose(*held_dims).values
        if values.dtype != np.float64:  # a cube that was changed by hand may hold text, whole numbers and truth values
            values = values.astype(np.float64 if values.dtype.kind in "fiub" else object)
        return values[(*(slice(None) if dim in held_dims else np.newaxis for dim in dims), ...)]

    def table(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column spread over all points (rows) and options (columns)."""
        spread = np.broadcast_to(values, self.points + self.choices)
        return spread.reshape(math.prod(self.points), math.prod(self.choices))

    def pick(self, name: str, row: NDArray[np.intp], option: NDArray[np.intp]) -> NDArray[Any]:
        """Values of a variable in the cells (row, option)."""
        values = self.column(name)
        index = (*_unravel(row, self.points), *_unravel(option, self.choices))
        found = values[tuple(at if size > 1 else 0 for at, size in zip(index, values.shape, strict=True))]
        return np.broadcast_to(np.asarray(found, values.dtype), row.shape)

    def counts(self) -> NDArray[np.int64]:
        """Cells left out, by point and reason."""
        found = [np.count_nonzero(self.code == place + 1, axis=1) for place in range(len(self.reasons))]
        return np.array(found, np.int64).reshape(len(found), self.code.shape[0]).T

    def unknown(self) -> NDArray[np.bool_]:
        """For each code whether the reason is that something is not known, rather than that the cell cannot do it."""
        said = [text.endswith((NULL, BESIDE)) or text in (*UNPRICED, FAR) for text in self.reasons]
        return np.array([False, *said])

    def about(self, name: str) -> dict[str, Any]:
        """Attributes of a variable, the unit of the dictionary where it states none."""
        known = dictionary().get(name)
        return {"unit": known.unit if known else "", **self.cube[name].attrs}

    def followers(self) -> list[str]:
        """Coordinates that are no axes and that the choice fixes: the GPU of an instance, the width of a model."""
        names = (str(name) for name in self.cube.coords if name not in self.cube.sizes)
        return [name for name in names if not set(self.chosen).isdisjoint(map(str, self.cube[name].dims))]


def _unravel(place: NDArray[np.intp], shape: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    return np.unravel_index(place, shape) if shape else ()


def options_of(cube: xr.Dataset, by: Sequence[str], chosen: Sequence[str], question: Question) -> Options:
    """Which cells are candidates, and why the others are not.

    In this order: there is a plan, the fleet holds it (`fleet_sufficient`), limits are held (`slo_held`), labels are
    accepted, conditions and survival hold, the measures have values, and the rate is comparable with the others of its
    point: not scaled by an anchor out of range, and not scaled or analytical where another one is measured.

    Raises
    ------
    ContractError
        For a cube that does not say whether a cell has a plan, or how far a rate was scaled; for a condition that
        does not fit the values.
    """
    found = Options(cube, tuple(by), tuple(chosen))
    _check(cube, question)
    for name in question.measures:
        if found.column(name).dtype == object:
            raise ContractError([Problem(f"{name} is a label and has no order", key="measure")])
    code = np.zeros((1,) * (len(found.by) + len(found.chosen)), np.int16)
    for reason, mask in _masks(found, question):
        out = (code == 0) & mask
        if out.any():
            if reason not in found.reasons:
                found.reasons.append(reason)
            code = np.where(out, np.int16(found.reasons.index(reason) + 1), code)
    found.code = np.ascontiguousarray(found.table(code))
    if not found.code.flags.writeable:
        found.code = found.code.copy()
    if not question.mixed:
        _beside_measured(found)
    found.warnings += cautions(cube, found.chosen, question)
    return found


def _check(cube: xr.Dataset, question: Question) -> None:
    if "status" not in cube and "infeasible_reason" not in cube:
        raise ContractError([Problem("the cube has no status, so nobody knows which cells have a plan")])
    models = cube["capacity_model"].values.ravel().tolist() if "capacity_model" in cube.variables else []
    missing = [name for name in ("anchor_ratio", "capacity_source") if name not in cube]
    if "measured" in models and missing and not question.mixed:
        said = f"rates may be measured and the cube has no {', '.join(missing)}: compute it, or ask with mixed"
        raise ContractError([Problem(said)])


def _masks(found: Options, question: Question) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    """Reasons with the cells that each leaves out, first ones first."""
    cube = found.cube
    if "infeasible_reason" in cube:
        yield from _labelled(found.column("infeasible_reason"))
    if "status" in cube:
        yield "infeasible", found.column("status") != "ok"
    for name in ("fleet_sufficient", "slo_held"):
        if name in cube:
            yield f"{name} false", found.column(name) == 0
    for condition, (holds, null) in _held(found, (*question.accept, *question.where)):
        yield condition.name + NULL, null
        yield condition.reason, ~holds
    if question.survives:
        survives = found.column(question.survives)
        yield question.survives + NULL, np.isnan(survives)
        yield f"{question.survives} false", survives == 0
        if WITHOUT_SPOT in cube:
            yield f"{WITHOUT_SPOT} false", found.column(WITHOUT_SPOT) == 0
    for name in question.measures:
        null = np.isnan(found.column(name))
        if "price_flag" in cube and null.any() and name in dictionary() and dictionary()[name].unit.startswith("USD"):
            flags = ((label, null & mask) for label, mask in _labelled(found.column("price_flag")))
            yield from ((label, mask) for label, mask in flags if label in UNPRICED)
        yield name + NULL, null
    if "anchor_ratio" in cube and not question.mixed:
        anchor = found.column("anchor_ratio")
        yield FAR, (anchor < ANCHOR_RANGE[0]) | (anchor > ANCHOR_RANGE[1])


def _held(found: Options, conditions: Sequence[Condition]) -> Iterable[tuple[Condition, Masks]]:
    """Each condition with the cells where it holds, and those where its value is null; all that is wrong at once."""
    pairs: list[tuple[Condition, Masks]] = []
    problems: list[Problem] = []
    for condition in conditions:
        try:
            pairs.append((condition, held(condition, found.column(condition.name))))
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(problems)
    return pairs


def _labelled(labels: NDArray[Any]) -> Iterable[tuple[str, NDArray[np.bool_]]]:
    from pandas import factorize

    codes, names = factorize(labels.ravel())
    for place, name in enumerate(names):
        yield str(name), (codes == place).reshape(labels.shape)


def _beside_measured(found: Options) -> None:
    """Leave out what is not measured wherever a candidate of the same point is."""
    if "capacity_source" not in found.cube:
        return
    kinds = dict(_labelled(found.column("capacity_source")))
    if "measured" not in kinds or len(kinds) == 1:
        return
    with_one = (found.table(kinds.pop("measured")) & (found.code == 0)).any(axis=1, keepdims=True)
    for kind, mask in kinds.items():
        out = with_one & found.table(mask) & (found.code == 0)
        if out.any():
            found.reasons.append(f"{kind} {BESIDE}")
            found.code[out] = len(found.reasons)
