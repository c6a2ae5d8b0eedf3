"""How well a term of an engine's memory budget is known: the value used, and what start-up logs printed around it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MemoryTerm"]


@dataclass(frozen=True, slots=True)
class MemoryTerm:
    """What was measured of one term of an engine's memory budget, and where it holds.

    `condition` is any, tp1 or tp2plus. `best_gib` is the value used, None where a formula (`rule`) gives it. `low` and
    `high` bound what `rows` logs printed: in GiB, or as ratios to the formula (`spread_unit` gib or ratio).
    """

    engine: str
    version_from: str
    version_to: str | None
    term: str
    condition: str
    rule: str
    best_gib: float | None
    low: float
    high: float
    spread_unit: str
    rows: int
    valid_where: str
    cls: str
    source: str
    as_of: str | None
    notes: str

    def spread_bytes(self, value_bytes: float) -> tuple[float, float]:
        """Lowest and highest value seen in place of `value_bytes` [bytes]."""
        unit = value_bytes if self.spread_unit == "ratio" else 2.0**30
        return self.low * unit, self.high * unit
