"""A cube in memory whose blocks are planned by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

from gridplan import __version__
from gridplan.chain.graph import Array
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.bundle import Inputs
from gridplan.engine.cluster.bench import check_version, kept
from gridplan.engine.cluster.spread import spread_on
from gridplan.engine.columns import Plan, plan_columns
from gridplan.store.blocks import Block, cut

__all__ = ["blocks_on"]


@dataclass(frozen=True)
class _Recipe:
    """Inputs as they are here, cut or moved as a question has it, and the measures that are planned of them."""

    key: str
    inputs: Inputs
    measures: tuple[str, ...]
    version: str = field(default=__version__)


def blocks_on(scheduler: str, inputs: Inputs, plan: Plan) -> Iterator[tuple[Block, dict[str, Array]]]:
    """Each block of the cube with its columns that are not shared. Raises as `spread_on` does."""
    measures = tuple(column.name for column in plan.layout.given if column.role == "measure")
    # Where an input comes from is a function of the contract, which does not travel; nothing planned depends on it.
    recipe = _Recipe(uuid4().hex, replace(inputs, origins={}), measures)
    blocks = cut(plan.layout.block, BLOCK_CELLS)
    return spread_on(scheduler, _plan, recipe, blocks, lambda block: (block,), f"gridplan-block-{recipe.key[:12]}")


def _plan(recipe: _Recipe, block: Block) -> dict[str, Array]:
    check_version(recipe.version)
    return dict(kept(recipe.key, lambda: _evaluator(recipe)).stream(block))


def _evaluator(recipe: _Recipe) -> BlockEvaluator:
    return BlockEvaluator(recipe.inputs, plan_columns(recipe.inputs, recipe.measures))
