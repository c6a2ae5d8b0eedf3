"""`gridplan.best`: among what is chosen, the plan with the least of a measure that meets every condition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridplan.contract.grid import Grid
from gridplan.dictionary import all_measures, dictionary
from gridplan.engine.resolve import space_of
from gridplan.errors import ContractError, Problem, suggestion
from gridplan.sensitivity.answers import about, answer_dataset, axes_of, either
from gridplan.sensitivity.conditions import Condition, conditions_of, judged, read_for
from gridplan.sensitivity.fixed import figures_of, fixed_at
from gridplan.sensitivity.roles import levers

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["best"]

Array = NDArray[Any]


def best(
    grid: Grid,
    measure: str = "usd_per_month",
    *,
    where: str | Iterable[str] = (),
    at: Mapping[str, str | float] | None = None,
    by: str | Sequence[str] | None = None,
) -> xr.Dataset:
    """Find the cell with the least `measure` that meets every condition, for each combination of the axes that stay.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    measure
        What is to be least: usd_per_month, gpus_deployed, nodes.
    where
        Conditions that a plan must meet, as of `invert`; that it exists, and that its nodes hold it, always.
    at
        Labels at which axes are fixed.
    by
        Axes that stay; by default all that nobody chooses (arrival rates, scenarios, workloads).

    Returns
    -------
    xarray.Dataset
        `least_<measure>`, NaN where no plan meets the conditions; `best_<axis>`, the labels of the first such cell;
        `candidates` of the `cells` that were compared.

    Raises
    ------
    ContractError
        For anything wrong with the question or the grid, with every problem.
    """
    if measure not in all_measures() or dictionary()[measure].is_label:
        raise ContractError([Problem(f"{measure} is not a number{suggestion(measure, all_measures())}", key="measure")])
    bare = fixed_at(grid, at or {})
    stated = conditions_of(where)
    conditions = (*stated, Condition("fleet_sufficient", "=", 1.0))
    names, labels = space_of(bare).names, space_of(bare).labels
    asked = axes_of(by, bare)
    keep = [name for name in names if name not in levers(names)] if asked is None else list(asked)
    figures = figures_of(bare, [measure, *read_for(conditions)])
    held = np.where(judged(conditions, figures) == 1.0, figures[measure], np.nan)
    shape = tuple(len(labels[name]) for name in names)
    places = [place for place, name in enumerate(names) if name not in keep]
    kept_shape = tuple(1 if place in places else size for place, size in enumerate(shape))
    moved = np.moveaxis(np.broadcast_to(held, shape), places, range(len(shape) - len(places), len(shape)))
    flat = moved.reshape(*moved.shape[: len(shape) - len(places)], -1)
    known = ~np.isnan(flat)
    where_least = np.argmin(np.where(known, flat, np.inf), axis=-1)
    found = {f"least_{measure}": np.take_along_axis(flat, where_least[..., np.newaxis], axis=-1)[..., 0]}
    none = ~known.any(axis=-1)
    index = np.unravel_index(where_least, [shape[place] for place in places]) if places else ()
    for place, position in zip(places, index, strict=True):
        values = np.array(labels[names[place]], dtype=object if isinstance(labels[names[place]][0], str) else float)
        if shape[place] > 1:
            own = values[position]
            is_text = values.dtype == object
            found[f"best_{names[place]}"] = either(none, None, own) if is_text else np.where(none, np.nan, own)
    found["candidates"] = known.sum(axis=-1).astype(np.float64)
    found["cells"] = np.full(none.shape, float(math.prod(shape[place] for place in places)))
    columns = {name: np.reshape(values, kept_shape) for name, values in found.items()}
    said = {"question": f"least {measure}", "conditions": " and ".join(map(str, conditions))}
    return answer_dataset(columns, bare, about(bare, grid, **said), keep)
