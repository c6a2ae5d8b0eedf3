"""`gridplan.pair`: the cheapest fleet of at most two kinds of nodes along the axis `instance`, in every other cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridplan.contract.grid import Grid
from gridplan.engine.fleets.dataset import fleet_dataset
from gridplan.engine.fleets.figures import about, asked_of, figures_of
from gridplan.engine.fleets.pair_checks import check_axis, check_inputs
from gridplan.engine.fleets.pair_figures import READ, left_out_texts, pair_figures

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["pair"]

_INSTEAD = {
    "lost_units": "a pair is planned for the loss of redundancy units of failure_domain",
    "lost_domain": "a pair is planned for the loss of redundancy units of failure_domain",
    "budget_usd_per_month": "a pair is not judged by it, nor are the plans in it",
    "power_budget_kw": "a pair is not judged by it, nor are the plans in it",
    "spot_share": "all nodes of a pair are bought as purchase says",
}
"""Inputs that a pair does not read, and what stands in their place."""


def pair(grid: Grid, *, at: Mapping[str, str | float] | None = None) -> xr.Dataset:
    """Find the cheapest fleet of one or two kinds of nodes among those of the axis `instance`.

    Whole nodes are bought and filled with replicas. After the loss of `redundancy` units of `failure_domain` (gpu,
    replica or node), the worst ones, what is left carries arrival_rate at lambda_safe each; where `redundancy_basis`
    is slo it carries it at lambda_instance each, and without the loss at lambda_safe. Every number of the kind that
    needs fewer nodes is tried for every two kinds, so the answer is exact. Replicas of two kinds have different rates:
    the router must send to each by its rate (`pair_request_share_1`).

    Parameters
    ----------
    grid
        A contract with the axis `instance`, from `gridplan.load_grid`.
    at
        Labels at which other axes are fixed.

    Returns
    -------
    xarray.Dataset
        On the axes that change the answer, without `instance`: the kinds with their nodes and replicas, the bill, the
        cheapest kind alone, and what two kinds save. Along `instance`, why a kind is left out: it has no plan, or no
        price.

    Raises
    ------
    ContractError
        For anything wrong with the question or the grid, with every problem; for failure_domain zone.
    GridTooLargeError
        Above 2 million cells, or where fleets are so large that too many numbers would be tried.
    """
    check_axis(grid, at or {})
    inputs, fixed = asked_of(grid, at)
    check_inputs(inputs)
    figures = figures_of(inputs, READ, fixed)
    found = pair_figures(inputs, figures)
    said = about(inputs, fixed, _INSTEAD)
    warnings = [*said.pop("warnings", "").splitlines(), *left_out_texts(inputs, found["pair_left_out_reason"])]
    if warnings:
        said["warnings"] = "\n".join(warnings)
    return fleet_dataset(inputs, found, {}, said)
