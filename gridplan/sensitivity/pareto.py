"""What one objective costs in another: options that nothing beats in all of them, the others kept and marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.errors import ContractError, Problem
from gridplan.sensitivity.asked import options_for, staying
from gridplan.sensitivity.axes import named
from gridplan.sensitivity.front import dominators
from gridplan.sensitivity.labels import variable

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["directions", "pareto"]

_MORE_IS_BETTER = (
    "output_tokens_per_s",
    "goodput",
    "availability",
    "arrival_rate",
    "lambda_",
    "concurrency",
    "replicas_after",
)
_MORE = (
    "closed_loop_output_tokens_per_s",
    "burst_to_slo",
    "margin_to_next",
    "api_saving_usd_per_month",
    "spot_share_max",
)


def directions(stated: str | Iterable[str]) -> dict[str, str]:
    """Measures and whether each is to be `min` or `max`: `usd_per_hour`, `ttft_s:min`, `lambda_safe:max`.

    Rates, goodput, availability and concurrency are `max` unless stated, all else is `min`.

    Raises
    ------
    ContractError
        For a direction that is neither, a measure that is named twice, and no measure at all.

    >>> directions("usd_per_hour, output_tokens_per_s_replica, tpot_s:max")
    {'usd_per_hour': 'min', 'output_tokens_per_s_replica': 'max', 'tpot_s': 'max'}
    """
    found: dict[str, str] = {}
    problems = []
    for text in named(stated) or ():
        name, _, way = (part.strip() for part in text.partition(":"))
        more = name.startswith(_MORE_IS_BETTER) or name in _MORE
        found_way = way or ("max" if more else "min")
        if found_way not in ("min", "max"):
            problems.append(Problem(f"{text}: {way} is neither min nor max", key="objectives"))
        if name in found:
            problems.append(Problem(f"{name} is named twice", key="objectives"))
        found[name] = found_way
    if not found:
        problems.append(Problem("no measure is named", key="objectives"))
    if problems:
        raise ContractError(problems)
    return found


def pareto(
    source: Grid | xr.Dataset | str | Path,
    objectives: str | Iterable[str],
    by: str | Iterable[str] | None = None,
    *,
    levers: str | Iterable[str] | None = None,
    where: str | Iterable[str] = (),
    accept: Mapping[str, str | Sequence[str]] | None = None,
    survives: str | None = None,
    also: str | Iterable[str] = (),
    at: Mapping[str, str | float] | None = None,
    mixed: bool = False,
    dominated: bool = True,
) -> xr.Dataset:
    """The options of each point that no other option of it beats in all objectives, and what beats the others.

    Parameters
    ----------
    objectives
        Two or more measures, each with `:min` or `:max` where the usual direction is not meant.
    dominated
        Keep the options that are dominated as rows; otherwise they are only counted.
    source, by, levers, where, accept, survives, also, at, mixed
        As in `gridplan.cheapest`.

    Returns
    -------
    xarray.Dataset
        One row per candidate, along `row` (its place in declared order, points first): the labels of its point and of
        its option, the objectives in their units, `on_front` (1 or 0), and `dominated_by`, the row of one on the front
        that is nowhere worse and somewhere better (NaN where there is none; comparison is exact, equal options all
        stay). Attributes count the candidates, those that are dominated, and by reason the cells left out.

    Raises
    ------
    ContractError
        As `gridplan.cheapest`, and for an objective without direction.
    """
    import xarray as xr

    ways = directions(objectives)
    found, attrs = options_for(
        source, tuple(ways), staying(by, levers), where, accept, survives, named(also) or (), at, mixed
    )
    point, option = np.nonzero(found.code == 0)
    place = {name: found.pick(name, point, option) for name in ways}
    costs = np.column_stack([place[name] if way == "min" else -place[name] for name, way in ways.items()])
    beaten = dominators(np.ascontiguousarray(costs, np.float64), point.astype(np.int64))
    del costs
    attrs["candidates"], attrs["dominated"] = len(point), int(np.count_nonzero(beaten >= 0))
    row = np.arange(len(point))
    if not dominated:
        row = np.flatnonzero(beaten < 0)
        point, option, beaten = point[row], option[row], beaten[row]
        place = {name: values[row] for name, values in place.items()}
    names = dict.fromkeys([*found.by, *found.chosen, *found.followers(), *(named(also) or ())])
    columns: dict[str, Any] = {name: found.pick(name, point, option) for name in names}
    columns |= place
    columns["on_front"] = (beaten < 0).astype(np.float64)
    columns["dominated_by"] = np.where(beaten < 0, np.nan, beaten)
    counts = found.counts().sum(axis=0).tolist()
    attrs["objectives"] = ", ".join(f"{name}:{way}" for name, way in ways.items())
    attrs["cells"] = int(found.code.size)
    attrs["left_out"] = ", ".join(
        f"{reason} {count:,}" for reason, count in zip(found.reasons, counts, strict=True) if count
    )
    attrs["points_without_candidate"] = int(np.count_nonzero((found.code != 0).all(axis=1)))
    data = xr.Dataset({name: variable("row", values) for name, values in columns.items()}, {"row": row}, attrs)
    for name in columns:
        if name in found.cube.variables:
            data[name].attrs = found.about(name)
    data["on_front"].attrs = {"unit": "bool", "dtype": "bool"}
    data["dominated_by"].attrs = {"unit": "row", "dtype": "int64"}
    return data
