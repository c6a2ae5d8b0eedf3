"""How many cells a simulation would fill, and the refusal of too many: each takes about a hundredth of a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridplan.chain.codes import choices
from gridplan.chain.simulated import SIMULATED_FLAGS
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.columns import plan_columns
from gridplan.errors import ContractError, Problem
from gridplan.store.blocks import cut

__all__ = ["MAX_SIMULATIONS", "with_simulations"]

MAX_SIMULATIONS = 200_000
"""Cells that may be simulated in one run (policy): about an hour on one core."""

_FLAG = "latency_flag"


def with_simulations(inputs: Inputs, simulate: bool) -> Inputs:
    """The same inputs, whose cells that no formula predicts are simulated where that is wanted.

    Raises
    ------
    ContractError
        If there are more of them than `MAX_SIMULATIONS`.
    """
    if not simulate:
        return inputs
    count = _flagged(inputs)
    if count > MAX_SIMULATIONS:
        raise ContractError(
            [
                Problem(
                    f"{count:,} cells would be simulated, more than {MAX_SIMULATIONS:,}: latency_flag names them; take "
                    "fewer arrival rates or fewer labels on other axes, or run without --simulate",
                    file=inputs.grid.path,
                )
            ]
        )
    return replace(inputs, simulate=True)


def _flagged(inputs: Inputs) -> int:
    """Cells whose flag a simulation can fill; cells that are alike are simulated once and counted each."""
    plan = plan_columns(inputs, [_FLAG])
    wanted = [choices(_FLAG).index(name) for name in SIMULATED_FLAGS]
    evaluator, count = BlockEvaluator(inputs, plan), 0
    for block in cut(plan.layout.block, BLOCK_CELLS):
        codes = dict(evaluator.columns(block))[_FLAG]
        count += int(np.isin(codes, wanted).sum()) * (block.rows // codes.size)
    return count
