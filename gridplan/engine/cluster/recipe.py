"""A run in a form that travels, and the planning of one of its parts where it arrives."""

from __future__ import annotations

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
from gridplan.store.parquet import WriteOptions
from gridplan.store.place import place_of

__all__ = ["Recipe", "plan_part"]


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


def plan_part(recipe: Recipe, part: Part, receipt: Receipt | None) -> tuple[Receipt, Summary]:
    """Plan one part, write it and its receipt, and say what is in it; with a `receipt` it stands and is only counted.

    Raises StoreError where this process has another version, or does not see the folder of the run.
    """
    check_version(recipe.version)
    target = place_of(recipe.target)
    check_seen(target, INTENT)
    planner = kept(recipe.key, lambda: _planner(recipe))
    planner.begin_anew()
    if receipt is not None:
        planner.count(part)
    else:
        receipt = planner.begin(target, part).land()
    return receipt, planner.summary.without_layout()


def _planner(recipe: Recipe) -> PartPlanner:
    """What plans the parts of the run on this thread."""
    inputs = with_simulations(build_inputs(recipe.grid), recipe.simulate)
    plan = plan_columns(inputs, recipe.measures)
    return PartPlanner(inputs, plan, recipe.options, hoist(inputs, plan))
