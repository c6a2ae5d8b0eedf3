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
        return chain.steps_for(self.features)

    @property
    def features(self) -> chain.Features:
        """What the cells have in common, or need."""
        uniform = all(bool((self.values[name].data == 1).all()) for name in ("kv_uniform", "kv_uniform_model"))
        spot_beside = (self.values["spot_share"].data > 0) & ~self._is("purchase", "spot")
        return chain.Features(
            uniform=uniform,
            dense=not np.any(np.nan_to_num(self.values["experts_read_bytes"].data)),
            by_queue=bool(self._is("latency_model", "queueing").all()),
            curves=self.curves,
            simulate=self.simulate,
            queue_capacity=bool(self._is("capacity_model", "queueing").any()),
            plain_spares=not (self._is("redundancy_basis", "slo").any() or self._some("availability_target")),
            purchases=frozenset(
                choices("purchase")[at] for at in np.unique(self.values["purchase_code"].data).tolist()
            ),
            spot_mixed=bool(np.any(spot_beside)),
            capped=self._some("budget_usd_per_month") or self._some("power_budget_kw"),
        )

    def _is(self, name: str, label: str) -> np.ndarray:
        """Where a label input has that label."""
        return np.asarray(self.values[f"{name}_code"].data == code(name, label))

    def _some(self, name: str) -> bool:
        """Whether some cell states a numeric input."""
        return not bool(np.isnan(self.values[name].data).all())

    @property
    def dims(self) -> dict[str, frozenset[str]]:
        """Dimensions of every value."""
        return {name: item.dims for name, item in self.values.items()}
