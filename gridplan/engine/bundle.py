"""Everything one cube is computed from, once it has been resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridplan import chain
from gridplan.catalog import Catalog
from gridplan.chain import Step
from gridplan.contract.grid import Grid
from gridplan.engine.field import Field, Space
from gridplan.engine.resolve import OriginOf

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """Everything one cube is computed from.

    `values` are the arrays the chain reads; `labels` the text fields (gpu, model, ...); `stated` every input as it
    was resolved; `warnings` what a reader of the cube must know.
    """

    grid: Grid
    catalog: Catalog
    space: Space
    values: Mapping[str, Field]
    labels: Mapping[str, Field]
    stated: Mapping[str, Field]
    origins: Mapping[str, OriginOf]
    warnings: tuple[str, ...] = field(default=())

    @property
    def steps(self) -> tuple[Step, ...]:
        """The plan of the cube; shorter where every token of every model costs the same."""
        names = ("kv_uniform", "kv_uniform_model")
        return chain.steps_for(all(bool((self.values[name].data == 1).all()) for name in names))

    @property
    def dims(self) -> dict[str, frozenset[str]]:
        """Dimensions of every value."""
        return {name: item.dims for name, item in self.values.items()}
