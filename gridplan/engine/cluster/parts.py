"""The parts of one run, planned and written by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from gridplan.engine.cluster.recipe import Done, Recipe, plan_parts
from gridplan.engine.cluster.spread import spread_on
from gridplan.engine.job import Progress
from gridplan.engine.summary import Summary
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt
from gridplan.store.layout import Layout

__all__ = ["write_parts"]

MOST_TASKS = 100_000
"""Tasks of a run (policy): a scheduler hands them out in 83 s. A larger cube has several parts in each."""


def write_parts(
    scheduler: str, recipe: Recipe, layout: Layout, parts: Sequence[Part], resume: bool, progress: Progress | None
) -> tuple[tuple[Receipt, ...], Summary, int]:
    """Have every part planned and written: receipts in the order of the parts, all counts, how many stood already.

    With `resume` workers look for what an earlier run has left there. Raises StoreError as `spread_on` does; what is
    written then stands, and can be resumed.
    """
    told, total, done = progress or (lambda _: None), Summary(layout), dict[int, Done]()
    at_once = ceil(len(parts) / MOST_TASKS)
    results = spread_on(
        scheduler,
        plan_parts,
        recipe,
        (parts[first : first + at_once] for first in range(0, len(parts), at_once)),
        lambda some: (some, resume),
        f"gridplan-part-{recipe.key[:12]}",
        "the same command with --resume finishes this run",
    )
    for some, (found, counted) in results:
        total.merge(counted)
        done |= {one.receipt.number: one for one in found}
        told(sum(part.rows for part in some))
    stood = sum(one.stood for one in done.values())
    return tuple(done[part.number].receipt for part in parts), total, stood
