"""A run in a form that travels, and the planning of some of its parts where it arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gridplan import __version__
from gridplan.contract.grid import Grid
from gridplan.engine.cluster.bench import check_seen, check_version, kept
from gridplan.engine.columns import plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.job import PartPlanner
from gridplan.engine.simulations import with_simulations
from gridplan.engine.summary import Summary
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt
from gridplan.store.inside import INTENT
from gridplan.store.intent import finished_part
from gridplan.store.parquet import WriteOptions
from gridplan.store.place import place_of

__all__ = ["Done", "Recipe", "plan_parts"]


@dataclass(frozen=True)
class Recipe:
    """All that decides the bytes of a cube; inputs are built anew where it arrives.

    `key` names the run, `measures` are those that are computed (None for those of every cube), `target` is the folder
    as all processes see it.
    """

    key: str
    grid: Grid
    measures: tuple[str, ...] | None
    simulate: bool
    options: WriteOptions
    target: str
    version: str = field(default=__version__)


@dataclass(frozen=True)
class Done:
    """A part that is there, by its receipt; whether it stood already."""

    receipt: Receipt
    stood: bool


def plan_parts(recipe: Recipe, parts: Sequence[Part], resume: bool) -> tuple[list[Done], Summary]:
    """Plan some parts, write each with its receipt, and say what is in them.

    With `resume` those that stand as an earlier run wrote them are only counted.

    Raises StoreError where this process has another version, or does not see the folder of the run.
    """
    check_version(recipe.version)
    target = place_of(recipe.target)
    check_seen(target, INTENT)
    planner = kept(recipe.key, lambda: _planner(recipe))
    planner.begin_anew()
    done = []
    for part in parts:
        receipt = finished_part(target, part, recipe.options.drop_infeasible) if resume else None
        if receipt is not None:
            planner.count(target, part)
        done.append(Done(receipt or planner.begin(target, part).land(), receipt is not None))
    return done, planner.summary.without_layout()


def _planner(recipe: Recipe) -> PartPlanner:
    """What plans the parts of the run on this thread."""
    inputs = with_simulations(build_inputs(recipe.grid), recipe.simulate)
    plan = plan_columns(inputs, recipe.measures)
    return PartPlanner(inputs, plan, recipe.options, hoist(inputs, plan))
