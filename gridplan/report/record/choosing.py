"""The cheapest among the levers that are left open, under the conditions that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gridplan.contract.grid import Grid
from gridplan.report.record.case import Asked, Case, Label

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["choice_of", "surviving_choice"]


def choice_of(
    source: Grid | str | Path,
    asked: Asked,
    fixed: Mapping[str, Label],
    chosen: tuple[str, ...],
    survives: str | None,
) -> xr.Dataset | None:
    """The cheapest along the levers `chosen`; None where none is open, and nothing is asked of the plan."""
    if not chosen and survives is None and not asked.where and not asked.accept:
        return None
    from gridplan.sensitivity.choice import cheapest

    return cheapest(
        source,
        asked.measure,
        by=list(fixed),
        levers=list(chosen),
        at=fixed,
        survives=survives,
        where=asked.where,
        accept=asked.accept or None,
    )


def surviving_choice(case: Case, unit: str) -> xr.Dataset | None:
    """The cheapest along the same levers that survives the loss of a unit, None where the source cannot tell."""
    if not case.has(f"survives_{unit}_loss_slo"):
        return None
    fixed = {name: label for name, label in (case.plan or {}).items() if name not in case.chosen}
    return choice_of(case.source, case.asked, fixed, case.chosen, unit)
