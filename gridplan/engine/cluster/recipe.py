"""What a process elsewhere needs to plan parts of a cube, and what it keeps between two of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridplan import __version__
from gridplan.contract.grid import Grid
from gridplan.engine.columns import plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.job import PartPlanner
from gridplan.engine.simulations import with_simulations
from gridplan.engine.summary import Summary
from gridplan.errors import StoreError
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt
from gridplan.store.inside import INTENT
from gridplan.store.parquet import WriteOptions

__all__ = ["Recipe", "plan_part"]


@dataclass(frozen=True)
class Recipe:
    """All that decides the bytes of a cube, in a form that travels: inputs are built anew where it arrives.

    `key` names the run, `measures` are those that are computed (None for those of every cube), `target` is the folder
    as all processes see it.
    """

    key: str
    grid: Grid
    measures: tuple[str, ...] | None
    simulate: bool
    options: WriteOptions
    target: str
    single_file: bool
    version: str = field(default=__version__)


@dataclass
class _Bench:
    """What one thread of a process keeps of a run: its parts and the planner that knows the last place."""

    parts: Mapping[int, Part]
    planner: Any


_benches = threading.local()
_MOST_KEPT = 2
"""Runs of which a thread keeps inputs (policy): a cluster may serve two people."""


def plan_part(recipe: Recipe, number: int, receipt: Receipt | None) -> tuple[Receipt, Summary]:
    """Plan one part, write it and its receipt, and say what is in it; with a `receipt` it stands and is only counted.

    Raises StoreError where this process has another version, or does not see the folder of the run.
    """
    _check(recipe)
    bench = _bench(recipe)
    part = bench.parts[number]
    bench.planner.summary = Summary(bench.planner.summary.layout)
    if receipt is not None:
        bench.planner.count(part)
    else:
        receipt = bench.planner.begin(Path(recipe.target), part).land()
    return receipt, bench.planner.summary


def _check(recipe: Recipe) -> None:
    if recipe.version != __version__:
        said = f"a worker has gridplan {__version__}, and this run is of {recipe.version}: install the same everywhere"
        raise StoreError(said)
    if not (Path(recipe.target) / INTENT).is_file():
        said = f"a worker does not see {recipe.target}: the folder must be one that all workers share, under one path"
        raise StoreError(said)


def _bench(recipe: Recipe) -> _Bench:
    """What this thread has of the run, made when its first part arrives."""
    known: dict[str, _Bench] = _benches.__dict__.setdefault("known", {})
    if recipe.key not in known:
        while len(known) >= _MOST_KEPT:
            known.pop(next(iter(known)))
        inputs = with_simulations(build_inputs(recipe.grid), recipe.simulate)
        plan = plan_columns(inputs, recipe.measures)
        parts = plan.layout.parts(None if recipe.single_file else plan.layout.rows_per_part)
        planner = PartPlanner(inputs, plan, recipe.options, hoist(inputs, plan))
        known[recipe.key] = _Bench({part.number: part for part in parts}, planner)
    return known[recipe.key]
