"""A question of choice: what must be known of a cell, hold in it and be survived by it."""

from __future__ import annotations

from dataclasses import dataclass

from gridplan.sensitivity.constraints import Condition

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """What may be chosen: measures that must have a value, conditions, labels accepted, what must be survived."""

    measures: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    accept: tuple[Condition, ...] = ()
    survives: str | None = None
    mixed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that the question reads."""
        own = (*self.measures, *(item.name for item in (*self.where, *self.accept)))
        return (*own, self.survives) if self.survives else own
