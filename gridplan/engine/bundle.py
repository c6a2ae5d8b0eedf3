"""Everything one cube is computed from, once it has been resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gridplan import chain
from gridplan.catalog import Catalog
from gridplan.chain import Step
from gridplan.chain.codes import choices, code
from gridplan.contract.grid import Grid
from gridplan.engine.field import Field, Space
from gridplan.engine.resolve import OriginOf

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """Everything one cube is computed from.

    `values` are the arrays the chain reads; `labels` the text fields (gpu, model, ...); `stated` every input as it
    was resolved; `warnings` what a reader of the cube must know;
    `curves` whether latencies are read from curves, `simulate` whether a simulation fills what no formula predicts.
    """

    grid: Grid
    catalog: Catalog
    space: Space
    values: Mapping[str, Field]
    labels: Mapping[str, Field]
    stated: Mapping[str, Field]
    origins: Mapping[str, OriginOf]
    warnings: tuple[str, ...] = field(default=())
    curves: bool = False
    simulate: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """The plan of the cube: shorter where all tokens cost the same, no model has experts, or one law holds."""
        names = ("kv_uniform", "kv_uniform_model")
        uniform = all(bool((self.values[name].data == 1).all()) for name in names)
        dense = not np.any(np.nan_to_num(self.values["experts_read_bytes"].data))
        queueing = bool((self.values["latency_model_code"].data == code("latency_model", "queueing")).all())
        capacity = self.values["capacity_model_code"].data == code("capacity_model", "queueing")
        bought = {choices("purchase")[number] for number in np.unique(self.values["purchase_code"].data).tolist()}
        spot = self.values["purchase_code"].data == code("purchase", "spot")
        mixed = bool(np.any((self.values["spot_share"].data > 0) & ~spot))
        return chain.steps_for(
            uniform, dense, queueing, self.curves, self.simulate, bool(np.any(capacity)), bought, mixed
        )

    @property
    def dims(self) -> dict[str, frozenset[str]]:
        """Dimensions of every value."""
        return {name: item.dims for name, item in self.values.items()}
