"""Constants of the step time: achieved shares of peak rates and the overheads of launches, by GPU family and engine.

A constant holds where its row says: rows are asked in the order of the file, and the first that fits is used, so that
what was measured of one engine on one family stands before what was measured of all of them, and that before what is
only assumed. `low` and `high` bound what single groups of measurements ask for; of them follows how well a time is
known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridplan.catalog.versions import holds, parse_version

if TYPE_CHECKING:
    from gridplan.catalog.entries import Engine, Gpu

__all__ = ["ENDS", "STEP_CONSTANTS", "StepConstant", "find_step_constant"]

STEP_CONSTANTS = (
    *("mbu", "mbu_experts", "mfu", "link_share", "step_overhead_s", "layer_overhead_s", "all_reduce_s"),
    *("sequence_overhead_s", "chunk_layer_overhead_s"),
)
"""Names of the constants. Shares of a peak rate [1] make a step shorter as they grow, times [s] make it longer."""

ENDS = ("low", "best", "high")
"""Ends of an interval of the step *time*: low takes the high end of every share and the low end of every overhead."""

ANY = "any"
_SHARES = ("mbu", "mbu_experts", "mfu", "link_share")


@dataclass(frozen=True, slots=True)
class StepConstant:
    """One constant, where it holds, and how well it is known.

    `gpu_families` (of `Gpu.family`, with semicolons between) and `engine` are `any` where they do not matter; `kind` is
    dense or moe. `rows` is the number of measured points it was taken from, `groups` that of combinations of model,
    GPU and engine among them.
    """

    gpu_families: str
    engine: str
    version_from: str
    version_to: str | None
    kind: str
    name: str
    low: float
    best: float
    high: float
    rows: int
    groups: int
    valid_where: str
    cls: str
    as_of: str | None
    source: str
    notes: str

    def at(self, end: str) -> float:
        """The value at one end of the interval of times: `low`, `best` or `high`."""
        if end == "best":
            return self.best
        shortest = self.high if self.name in _SHARES else self.low
        longest = self.low if self.name in _SHARES else self.high
        return shortest if end == "low" else longest

    def fits(self, engine: Engine | None, gpu: Gpu | None, is_moe: bool) -> bool:
        """Whether it holds for an engine on a GPU; one that is not known is met by rows for any."""
        family = ANY if gpu is None else gpu.family
        if self.kind != ("moe" if is_moe else "dense"):
            return False
        if self.gpu_families != ANY and family not in self.gpu_families.split(";"):
            return False
        if self.engine == ANY:
            return True
        return (
            engine is not None
            and self.engine == engine.name
            and holds(parse_version(engine.version_from), self.version_from, self.version_to)
        )


def find_step_constant(
    constants: Iterable[StepConstant], name: str, engine: Engine | None, gpu: Gpu | None, is_moe: bool
) -> StepConstant:
    """The first constant of that name that fits. Raises KeyError for a name that no row has."""
    for item in constants:
        if item.name == name and item.fits(engine, gpu, is_moe):
            return item
    raise KeyError(name)
