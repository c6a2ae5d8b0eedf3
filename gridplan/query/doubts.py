"""Cells that have a figure and should still not be chosen: counted beside an extreme, told as a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridplan.query.table import Table

if TYPE_CHECKING:
    from gridplan.query.where import Where

__all__ = ["Doubts", "doubts_of"]

_DOUBTFUL: Mapping[str, str] = {
    "fleet_sufficient": "fleets that cannot hold their plan",
    "slo_held": "plans that miss a limit",
}
"""Measures that are false where a plan is not to be chosen (as `gridplan choose` has it), and what it is then."""


@dataclass(frozen=True)
class Doubts:
    """Measures that are watched: each is counted, where it is false, in a column at the end of an answer."""

    measures: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns that count."""
        return [f"{name}_false" for name in self.measures]

    def counts(self, known: str) -> list[str]:
        """These columns in SQL; `known` is the condition of a cell that is compared."""
        pairs = zip(self.measures, self.columns, strict=True)
        return [f"count(*) FILTER (WHERE NOT {name} AND {known}) AS {column}" for name, column in pairs]

    def warnings(self, counts: Sequence[int]) -> Iterator[str]:
        """What is said where cells were counted."""
        for name, count in zip(self.measures, counts, strict=True):
            if count:
                yield f'{count:,} of these cells are {_DOUBTFUL[name]}: --where "{name}" leaves them out'


def doubts_of(table: Table, where: Where) -> Doubts:
    """What is watched in a cube: what it has and the condition does not speak of."""
    return Doubts(tuple(name for name in _DOUBTFUL if table.column(name) is not None and name not in where.columns))
