"""The blocks of a reduction, folded by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gridplan import __version__
from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.cluster.bench import check_version, kept
from gridplan.engine.cluster.spread import spread_on
from gridplan.engine.columns import plan_columns
from gridplan.engine.folds import Fold, add_block, folds_of
from gridplan.engine.inputs import build_inputs
from gridplan.engine.places import Place
from gridplan.store.blocks import Block, cut
from gridplan.store.layout import Layout

__all__ = ["FoldRecipe", "folded_on"]


@dataclass(frozen=True)
class FoldRecipe:
    """All that decides what a block folds to: `measures` are planned, `rest` are those that are folded by blocks."""

    key: str
    grid: Grid
    measures: tuple[str, ...]
    rest: Mapping[str, Sequence[str]]
    by: tuple[str, ...]
    version: str = field(default=__version__)


def folded_on(
    scheduler: str, recipe: FoldRecipe, blocks: Sequence[Block], told: Callable[[int], object]
) -> Iterator[tuple[Block, dict[str, list[Fold]]]]:
    """What each block folds to, as they are done, with `told` of its cells. Raises as `spread_on` does."""
    name = f"gridplan-fold-{recipe.key[:12]}"
    for block, part in spread_on(scheduler, _fold, recipe, blocks, lambda block: (block,), name):
        told(block.rows)
        yield block, part


def _fold(recipe: FoldRecipe, task: Block) -> dict[str, list[Fold]]:
    check_version(recipe.version)
    layout, evaluator = kept(recipe.key, lambda: _evaluator(recipe))
    part = folds_of(layout, recipe.rest, recipe.by)
    for block in cut(task, BLOCK_CELLS):
        add_block(evaluator, Place(layout, recipe.by, block), part)
    for folds in part.values():
        for fold in folds:
            fold.forget_layout()
    return part


def _evaluator(recipe: FoldRecipe) -> tuple[Layout, BlockEvaluator]:
    inputs = build_inputs(recipe.grid)
    plan = plan_columns(inputs, recipe.measures)
    return plan.layout, BlockEvaluator(inputs, plan)
