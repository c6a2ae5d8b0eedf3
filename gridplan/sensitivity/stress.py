"""The stress table: each scenario planned anew, and what the fleet of the nominal plan does under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gridplan.contract.grid import Grid, Scenario, Shift
from gridplan.engine.bundle import Inputs
from gridplan.engine.cell import label_index
from gridplan.engine.inputs import build_inputs
from gridplan.errors import ContractError, Problem
from gridplan.formulas import replicas_per_node
from gridplan.sensitivity.bought import breaks, carried, left_after_loss
from gridplan.sensitivity.cells import cube_of, inputs_at, labelled_field, labels_like
from gridplan.sensitivity.library import SPOT_LOSS, library_scenarios
from gridplan.sensitivity.rates import moved_limits, rate_note
from gridplan.sensitivity.stress_columns import described, with_deltas

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["REPLANNED", "stress"]

REPLANNED = (
    *("lambda_instance", "lambda_safe", "replicas_active", "replicas", "nodes", "gpus_deployed"),
    *("usd_per_month", "usd_per_mtok_output", "utilization_deployed", "utilization_deployed_safe"),
    *("lambda_basis", "binding_constraint", "infeasible_reason"),
)
"""What the plan made anew for a scenario says."""

_BESIDE = (
    *("replicas_deployed", "gpus_per_replica", "arrival_rate_slo_after_loss", "replicas_without_spot"),
    *("capacity_source", "anchor_ratio", "lambda_analytical"),
)
_READ = (*REPLANNED, *_BESIDE)


def stress(grid: Grid, library: bool = False, at: Mapping[str, str | float] | None = None) -> xr.Dataset:
    """The scenarios of a grid as rows, each asked two questions, in every cell of the other axes.

    **Planned anew**: what the fleet would have to be if the scenario were the plan (`replicas`, `nodes`,
    `usd_per_month`, ...; `_delta` and `_delta_pct` against the nominal plan of the same cell). **As bought**: what the
    fleet of the nominal plan (`bought_replicas` [count]) does in the scenario: replicas left after its losses, the rate
    carried with the headroom kept and within limits [req/s], utilisations of both [1], and `bought_breaks`, the first
    that applies of `replica` (a replica cannot run), `limits`, `headroom`, `nothing`. Budgets cap what may be bought,
    not what stands, so they do not count there. Losses concern the fleet as bought alone.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    library
        Add the standard scenarios that fit this grid; those that do not are listed in the attribute `left_out`.
    at
        Labels at which other axes are fixed.

    Returns
    -------
    xarray.Dataset
        Dimension `scenario` and the axes that are not fixed. Flags are 1, 0 or null. `bought_slo_held` is null where
        `lambda_basis` is slots or saturation; all of `bought_` is null where the scenario changes the GPU, the instance
        or the GPUs of a replica (`bought_note` says so). `rate_note` marks rates that do not follow the scenario.

    Raises
    ------
    ContractError
        If the grid has no scenarios and the library is not asked for; for an unknown axis or label.

    >>> import gridplan
    >>> rows = gridplan.stress(gridplan.load_grid("grids/lesson.yaml"), at={"instance": "aws-p4de"})
    >>> lost = rows.sel(scenario="node_loss")
    >>> lost.bought_arrival_rate_safe.item(), lost.bought_breaks.item()
    (56.0, 'headroom')
    """
    added, left_out = library_scenarios(grid) if library else ((), {})
    moved = _with_rows(grid, added)
    fixed = dict(at or {})
    if "scenario" in fixed:
        raise ContractError([Problem("scenarios are the rows of this table, not fixed", key="at")])
    index = label_index(build_inputs(moved), fixed)
    inputs = inputs_at(moved, index)
    cube = cube_of(inputs, _READ)
    found = {"arrival_rate_in_scenario": _arrival(inputs), **{name: cube[name] for name in REPLANNED}}
    found |= {"rate_note": rate_note(cube, nominal_of(cube), moved_limits(inputs))}
    spot = next((row.name for row in added if row.name in (SPOT_LOSS, f"{SPOT_LOSS}_library")), None)
    found |= _as_bought(inputs, cube, _uncapped(moved, index, cube), spot)
    table = with_deltas(_rows(found, inputs))
    table.attrs = {**cube.attrs, "left_out": "; ".join(f"{name}: {why}" for name, why in left_out.items())}
    return described(table)


def nominal_of(cube: xr.Dataset) -> xr.Dataset:
    """The nominal plan of every cell."""
    return cube.sel(scenario="nominal", drop=True) if "scenario" in cube.dims else cube


def _with_rows(grid: Grid, added: tuple[Scenario, ...]) -> Grid:
    """The grid with standard scenarios behind its own."""
    if not grid.scenarios and not added:
        said = "this grid has no scenarios: state some, or ask for the standard ones (library)"
        raise ContractError([Problem(said, file=grid.path, key="scenarios")])
    if not grid.scenarios and grid.shifts:
        raise ContractError([Problem("a grid whose inputs a study moves has no room for scenarios", key="library")])
    own = grid.scenarios or (Scenario("nominal", {}, {}),)
    return replace(grid, scenarios=(*own, *added))


def _arrival(inputs: Inputs) -> xr.DataArray:
    """The peak of each row [req/s], also where its rate is an axis that scenarios change."""
    return labelled_field(inputs, inputs.values["arrival_rate"])


def _uncapped(grid: Grid, index: Mapping[str, int], cube: xr.Dataset) -> xr.Dataset:
    """The same cube without budgets, which limit what may be bought; itself where there are none."""
    capped = {"budget_exceeded", "power_exceeded"} & set(cube.infeasible_reason.values.ravel().tolist())
    if not capped:
        return cube
    far = np.full((1,) * len(build_inputs(grid).space.names), 1e9)
    lifted = {name: Shift("multiply", far) for name in ("budget_usd_per_month", "power_budget_kw")}
    return cube_of(inputs_at(replace(grid, shifts={**grid.shifts, **lifted}), index), _READ)


def _as_bought(inputs: Inputs, cube: xr.Dataset, free: xr.Dataset, spot: str | None) -> dict[str, xr.DataArray]:
    """The fleet of the nominal plan under each scenario; `free` are the rates without budgets.

    `spot` is the scenario that takes all spot nodes back, if there is one.
    """
    import xarray as xr

    bought = nominal_of(cube)
    of = {name: labelled_field(inputs, inputs.stated[name]) for name in ("lost_units", "lost_domain", "zones")}
    per_node = replicas_per_node(labelled_field(inputs, inputs.values["gpus_per_node"]), cube.gpus_per_replica)
    left = left_after_loss(bought.replicas_deployed, of["lost_units"], of["lost_domain"], per_node, of["zones"])
    if spot is not None:
        rows = xr.DataArray(cube.indexes["scenario"] == spot, {"scenario": cube.scenario}, "scenario")
        left = bought.replicas_without_spot.where(rows, left)
    same = _same_replica(inputs, cube)
    left = left.where(same)
    limits = ~np.isnan(free.arrival_rate_slo_after_loss)
    found = carried(left, _arrival(inputs), free.lambda_safe, free.lambda_instance, limits)
    reason = free.infeasible_reason
    # What the nominal plan cannot be bought for, or is no plan at all, breaks nothing here: it is not there.
    stands = _labels(reason, same & ~np.isnan(bought.replicas_deployed))
    found["bought_breaks"] = breaks(found["bought_headroom_kept"], found["bought_slo_held"], stands)
    bare = ~np.isnan(bought.replicas_deployed)
    bare, same = xr.broadcast(bare, same)
    words = np.array([None, "replica_changed", "no_nominal_plan"], dtype=object)
    note = labels_like(bare, words[np.where(~bare, 2, (~same).astype(int))])
    return {"bought_replicas": bought.replicas_deployed, **found, "bought_note": note}


def _labels(labels: xr.DataArray, kept: xr.DataArray) -> xr.DataArray:
    """Labels where `kept` holds, else None."""
    import xarray as xr

    labels, kept = xr.broadcast(labels, kept)
    found = labels.values.copy()
    found[~kept.values] = None
    return labels_like(labels, found)


def _same_replica(inputs: Inputs, cube: xr.Dataset) -> xr.DataArray:
    """Whether a scenario leaves the hardware of a replica as it was bought."""
    same: xr.DataArray = cube.gpus_per_replica == nominal_of(cube).gpus_per_replica
    for name in ("gpu", "instance"):
        labels = labelled_field(inputs, inputs.labels.get(name, inputs.stated[name]))
        if "scenario" in labels.dims:
            same = same & (labels == labels.sel(scenario="nominal", drop=True))
    return same


def _rows(found: Mapping[str, xr.DataArray], inputs: Inputs) -> xr.Dataset:
    """All columns on scenario and the axes of the cube, in its order."""
    import xarray as xr

    labels = {
        name: np.array(axis, float if isinstance(axis[0], float) else object)
        for name, axis in inputs.space.labels.items()
    }
    order = list(labels)
    columns = {}
    for name, item in found.items():
        spread = item.reset_coords(drop=True) if item.coords else item
        missing = {axis: labels[axis] for axis in order if axis not in spread.dims}
        columns[name] = spread.expand_dims(missing).transpose(*order)
    return xr.Dataset(columns, {name: axis for name, axis in labels.items()})
