"""The cheapest plan of every point that the world may be in, what comes next, and why the other cells are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.sensitivity.asked import options_for, staying
from gridplan.sensitivity.axes import named
from gridplan.sensitivity.labels import label_texts, variable
from gridplan.sensitivity.options import Options
from gridplan.sensitivity.ranking import least

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DEFAULT_MEASURE", "cheapest"]

DEFAULT_MEASURE = "usd_per_mtok_output"

TIES_LISTED = 5
"""Ties that are named (policy); the others are counted."""


def cheapest(
    source: Grid | xr.Dataset | str | Path,
    measure: str = DEFAULT_MEASURE,
    by: str | Iterable[str] | None = None,
    *,
    levers: str | Iterable[str] | None = None,
    where: str | Iterable[str] = (),
    accept: Mapping[str, str | Sequence[str]] | None = None,
    survives: str | None = None,
    also: str | Iterable[str] = (),
    at: Mapping[str, str | float] | None = None,
    mixed: bool = False,
) -> xr.Dataset:
    """The feasible cell with the least measure for each point of the axes `by`.

    Parameters
    ----------
    source
        A grid, of which only the needed measures are planned; a cube; or the folder of one.
    measure
        What is to be least, a number such as `usd_per_mtok_output` or `facility_power_kw`.
    by
        Axes that stay; by default all that happen (traffic, prices, scenarios).
    levers
        Axes chosen along; by default those of class policy that are not in `by`.
    where
        Conditions `NAME OP VALUE` on measures, labels and `provider`: `usd_per_month <= 150000`, `nodes <= 4`,
        `provider in aws, gcp`, `gpu != l4`. A cell where the value is null does not meet it, and is counted apart.
    accept
        Precisions that the owner's evaluations accept: `{"kv_dtype": ["bf16"]}`. Where one is a lever and nothing is
        accepted, a warning says that the cheapest takes the lowest.
    survives
        `gpu`, `node` or `zone`: limits still hold when one is lost; `node-headroom` and the like: the headroom is kept.
        Plans that fall with their spot nodes do not survive, where the cube says so (`slo_held_without_spot`).
    also
        Other measures of the winner.
    at
        Labels at which axes are fixed.
    mixed
        Rank measured, scaled and analytical rates of a point against each other. Otherwise measured ones alone are
        ranked where there are any, and rates scaled by an `anchor_ratio` outside 0.5 to 2 nowhere.

    Returns
    -------
    xarray.Dataset
        On `by`: the labels of the winner (None or NaN where there is none), `<measure>`, `<measure>_runner_up` and
        `<measure>_gap` (to the best cell that does not tie) in the unit of the measure, `runner_up` (its labels),
        `ties` and `ties_count` (within 1e-9; the first in declared order wins), `cells`, `candidates`, `left_out`,
        `left_out_because`; `left_out_by_reason` has one more dimension `reason`. Warnings are attributes.

    Raises
    ------
    ContractError
        For an unknown measure, axis, label or condition, and for an axis that is neither chosen nor stays.

    >>> import xarray as xr
    >>> bills = (("gpu", "arrival_rate"), [[4.0, 9.0], [6.0, 5.0]])
    >>> status = (("gpu", "arrival_rate"), np.full((2, 2), "ok", dtype=object))
    >>> labels = {"gpu": ["a", "b"], "arrival_rate": [1.0, 10.0]}
    >>> cube = xr.Dataset({"usd_per_hour": bills, "status": status}, labels)
    >>> cheapest(cube, "usd_per_hour").usd_per_hour_gap.values.tolist()
    [2.0, 4.0]
    """
    found, attrs = options_for(
        source, (measure,), staying(by, levers), where, accept, survives, named(also) or (), at, mixed
    )
    import xarray as xr

    attrs |= {"also": ", ".join(named(also) or ())} if also else {}
    values = np.where(found.code == 0, found.table(found.column(measure)), np.inf)
    winner, best, ties = least(values)
    none = np.isinf(best)
    tie_texts = _tie_texts(found, ties)
    values[ties] = np.inf
    rows = np.arange(len(best))
    values[rows, winner] = np.inf
    second = values.argmin(axis=1)
    next_best = values[rows, second]
    del values
    single = np.isinf(next_best)
    runner_up = label_texts(found, rows, second, single)
    kept = dict.fromkeys([*found.chosen, *found.followers(), *(named(also) or ())])
    columns: dict[str, Any] = {name: _or_null(found.pick(name, rows, winner), none) for name in kept}
    columns[measure] = _or_null(best, none)
    columns[f"{measure}_runner_up"] = np.where(single, np.nan, next_best)
    columns[f"{measure}_gap"] = np.where(single, np.nan, np.where(single, 0.0, next_best) - np.where(none, 0.0, best))
    columns["runner_up"] = runner_up
    columns["ties"] = tie_texts
    columns["ties_count"] = np.count_nonzero(ties, axis=1)
    columns |= _counted(found)
    shape = found.points
    variables = {name: variable(found.by, values.reshape(shape)) for name, values in columns.items()}
    labels = xr.Dataset(coords={name: found.cube[name] for name in found.by})
    data = labels.drop_vars([name for name in labels.coords if name in variables]).assign(variables).assign_attrs(attrs)
    reasons = np.array(found.reasons, dtype=object)
    data["left_out_by_reason"] = ((*found.by, "reason"), found.counts().reshape(*shape, len(reasons)))
    data = data.assign_coords(reason=("reason", reasons))
    for name in (str(item) for item in data.data_vars):
        data[name].attrs = _about(name, measure, found)
    return data


def _tie_texts(found: Options, ties: NDArray[np.bool_]) -> NDArray[Any]:
    """The labels of what ties with each winner, five at most; None where nothing does."""
    texts = np.empty(len(ties), dtype=object)
    row, option = np.nonzero(ties)
    start = np.searchsorted(row, np.arange(len(ties) + 1))
    listed = np.arange(len(row)) - start[row] < TIES_LISTED
    said = iter(label_texts(found, row[listed], option[listed]).tolist())
    for at in np.flatnonzero(np.diff(start)):
        count = int(start[at + 1] - start[at])
        names = [next(said) for _ in range(min(count, TIES_LISTED))]
        more = [f"{count - TIES_LISTED:,} more"] if count > TIES_LISTED else []
        texts[at] = "; ".join([*names, *more])
    return texts


def _counted(found: Options) -> dict[str, NDArray[Any]]:
    counts = found.counts()
    left_out = counts.sum(axis=1)
    because = np.empty(len(left_out), dtype=object)
    for at in np.flatnonzero(left_out):
        order = sorted(np.flatnonzero(counts[at]), key=lambda place, row=counts[at]: -row[place])  # type: ignore[misc]
        because[at] = ", ".join(f"{found.reasons[place]} {counts[at, place]:,}" for place in order)
    cells = np.full(len(left_out), found.code.shape[1])
    return {"cells": cells, "candidates": cells - left_out, "left_out": left_out, "left_out_because": because}


def _or_null(values: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    found = np.array(values, dtype=object if values.dtype == object else np.float64)
    found[none] = None if found.dtype == object else np.nan
    return found


def _about(name: str, measure: str, found: Options) -> dict[str, Any]:
    """Attributes of a column: of a variable of the cube its own, of values the unit, of counts their type."""
    if name in found.cube.variables:
        return found.about(name)
    if name.startswith(f"{measure}_"):
        return {"unit": found.about(measure)["unit"]}
    if name in ("cells", "candidates", "left_out", "left_out_by_reason", "ties_count"):
        return {"unit": "count", "dtype": "int64"}
    return {"unit": "label"}
