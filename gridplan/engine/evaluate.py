"""The cube in memory: each quantity over its own dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridplan.chain.graph import Array
from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.cluster.current import scheduler_in_use
from gridplan.engine.columns import Plan, asked, plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.simulations import with_simulations
from gridplan.store.blocks import cut
from gridplan.store.values import put_block

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray as xr

    from gridplan.engine.cluster.lazy import Chunks

__all__ = ["arrays_of", "attributes", "evaluate"]


def evaluate(
    grid: Grid, outputs: Iterable[str] | None = None, *, simulate: bool = False, chunks: Chunks | None = None
) -> xr.Dataset:
    """Plan every combination of a grid.

    Parameters
    ----------
    grid
        A contract, from `gridplan.load_grid`.
    outputs
        Names of measures to compute; without it those that the contract names, else those of
        every cube, for which `default` stands among others.
    simulate
        Simulate the cells whose latencies no formula predicts (`latency_flag`), some 100 a second and core.
    chunks
        Labels of one chunk along every axis, or a mapping from axes to labels (-1, or an axis left out, for all of
        them): measures are dask arrays then, planned box by box when they are asked for, here or on a cluster.

    Returns
    -------
    xarray.Dataset
        One variable per measure on the dimensions it depends on, in the declared order of the axes. Numbers are float64
        with NaN for null (the attribute `dtype` says int64 or bool where they are whole or true/false), labels are text
        or None. Every variable carries unit, long name, formula, source and class.

    Raises
    ------
    ContractError
        If an input is missing, unknown or contradictory, with every problem; if too many cells would be simulated.
    StoreError
        If a number is infinite, or a count above 2**53, where float64 ends: of inputs that nobody can mean.
    """
    inputs = with_simulations(build_inputs(grid), simulate)
    chosen = asked(grid, outputs)
    plan = plan_columns(inputs, chosen)
    if chunks is not None:
        from gridplan.engine.cluster.lazy import lazy_cube

        return lazy_cube(inputs, plan, chosen, chunks, attributes(inputs))
    from gridplan.store.cells import check_numbers
    from gridplan.store.dataset import dataset_from_arrays

    arrays = arrays_of(inputs, plan)
    check_numbers(plan.layout, arrays)
    return dataset_from_arrays(plan.layout, arrays, attributes(inputs))


def arrays_of(inputs: Inputs, plan: Plan) -> dict[str, Array]:
    """Arrays of all given columns over the whole cube, of size 1 along dimensions they do not depend on.

    They are filled block by block: what a step makes is read by the next ones while it is in cache. Inside of
    `gridplan.cluster` the blocks of a cube of several are planned there.
    """
    shared = hoist(inputs, plan, keep=True)
    arrays = {name: array.copy() for name, array in shared.columns.items()}
    if not shared.steps:
        return arrays
    layout, scheduler = plan.layout, scheduler_in_use()
    if scheduler is not None and layout.cells > BLOCK_CELLS:
        from gridplan.engine.cluster.arrays import blocks_on

        for block, planned in blocks_on(scheduler, inputs, plan):
            put_block(arrays, layout.block, block, planned.items(), layout)
        return arrays
    evaluator = BlockEvaluator(inputs, plan, shared)
    for block in cut(layout.block, BLOCK_CELLS):
        put_block(arrays, layout.block, block, evaluator.stream(block), layout)
    return arrays


def attributes(inputs: Inputs) -> dict[str, str]:
    """What the cube says about itself."""
    from gridplan import __version__

    attrs = {
        "grid": inputs.grid.name,
        "description": inputs.grid.description,
        "grid_sha256": inputs.grid.sha256,
        "gridplan_version": __version__,
    }
    folder = inputs.grid.folder
    if folder is not None:
        # By name and content: where the folder lies on this machine does not belong in the bytes of a cube.
        held = ", ".join(f"{file} sha256 {digest}" for file, digest in folder.sha256.items())
        attrs["catalog_folder"] = f"{folder.name}: {held}"
    if inputs.warnings:
        attrs["warnings"] = "\n".join(inputs.warnings)
    return {name: text for name, text in attrs.items() if text}
