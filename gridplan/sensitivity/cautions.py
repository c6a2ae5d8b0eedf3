"""What a reader must know who takes the cheapest plan for the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gridplan.sensitivity.axes import free_levers
from gridplan.sensitivity.question import Question

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["cautions"]


def cautions(cube: xr.Dataset, chosen: Sequence[str], question: Question) -> list[str]:
    """Precisions and promises that are chosen freely, and rates that are compared although they should not be."""
    said: list[str] = []
    sizes: Mapping[str, int] = {str(name): size for name, size in cube.sizes.items()}
    tied = {item.name for item in (*question.accept, *question.where)}
    free = [
        name
        for name in ("weight_dtype", "kv_dtype")
        if name in cube.variables
        and name not in tied
        and any(sizes[str(dim)] > 1 for dim in cube[name].dims if dim in chosen)
        and len(set(cube[name].values.ravel().tolist())) > 1
    ]
    if free:
        said.append(
            f"{' and '.join(free)} chosen freely: the cheapest plan tends to the lowest precision; name those that "
            "your evaluations accept (accept)"
        )
    promises = free_levers(sizes, chosen, tied, question.survives is not None)
    if promises:
        said.append(
            f"{', '.join(promises)} chosen freely: the cheapest plan promises least; name them in by, or fix them (at)"
        )
    if question.mixed:
        said.append("measured, scaled and analytical rates are ranked against each other (mixed)")
    return said
