"""What a run would say at its end, of a grid that is planned and not written."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from gridplan.contract.grid import Grid
from gridplan.dictionary import measures
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.columns import asked, plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.size import cells_of
from gridplan.engine.summary import READ, Summary
from gridplan.engine.workers import Stopped, default_workers, spread
from gridplan.errors import GridTooLargeError
from gridplan.store.blocks import Block, cut

__all__ = ["MOST_CELLS", "planned_summary"]

MOST_CELLS = 20_000_000
"""Cells above which a grid is to be run first (policy): some ten seconds on two cores."""

_TASK_CELLS = 2_000_000


def planned_summary(grid: Grid, workers: int | None = None) -> Summary:
    """Counts and cheapest plans of a grid, as `gridplan.run` gathers them, in bounded memory; nothing is written.

    Only the columns that a summary looks at are planned, of those that the run would write.

    Raises
    ------
    ContractError
        For anything wrong with the grid.
    GridTooLargeError
        For a grid of more than 20 million cells: `run` it, and ask its folder.
    """
    if (cells := cells_of(grid)) > MOST_CELLS:
        said = f"{cells:,} cells are more than the {MOST_CELLS:,} that are planned for a summary"
        raise GridTooLargeError(f"{grid.path}: {said}: run the grid, and ask for its folder")
    inputs = build_inputs(grid)
    written = asked(grid, None) or measures()
    plan = plan_columns(inputs, [name for name in written if name in READ])
    shared = hoist(inputs, plan)
    total = Summary(plan.layout)

    def make(stop: Event) -> Callable[[Block], Summary]:
        evaluator = BlockEvaluator(inputs, plan, shared)

        def work(task: Block) -> Summary:
            part = Summary(plan.layout)
            for block in cut(task, BLOCK_CELLS):
                if stop.is_set():
                    raise Stopped
                part.add(block, {name: values for name, values in evaluator.columns(block) if name in READ})
            return part

        return work

    for _, part in spread(list(cut(plan.layout.block, _TASK_CELLS)), make, workers or default_workers()):
        total.merge(part)
    return total
