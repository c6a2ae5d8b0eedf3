"""The parts of one run, planned and written by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gridplan.engine.cluster.recipe import Recipe, plan_part
from gridplan.engine.cluster.spread import spread_on
from gridplan.engine.job import Progress
from gridplan.engine.summary import Summary
from gridplan.store.blocks import Part
from gridplan.store.files import Receipt
from gridplan.store.layout import Layout

__all__ = ["write_parts"]


def write_parts(
    scheduler: str,
    recipe: Recipe,
    layout: Layout,
    parts: Sequence[Part],
    kept: Mapping[int, Receipt],
    progress: Progress | None,
) -> tuple[tuple[Receipt, ...], Summary]:
    """Have every part that is not `kept` planned and written; receipts in the order of the parts, and all counts.

    Raises StoreError as `spread_on` does; what is written then stands, and can be resumed.
    """
    told, total, done = progress or (lambda _: None), Summary(layout), dict[int, Receipt]()
    results = spread_on(
        scheduler,
        plan_part,
        recipe,
        parts,
        lambda part: (part, kept.get(part.number)),
        f"gridplan-part-{recipe.key[:12]}",
        "the same command with --resume finishes this run",
    )
    for part, (receipt, counted) in results:
        total.merge(counted)
        done[part.number] = receipt
        told(part.rows)
    return tuple(done[part.number] for part in parts), total
