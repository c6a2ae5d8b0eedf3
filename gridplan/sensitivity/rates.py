"""Whether the rate of a replica follows what a study moves: a measured rate that nobody restates does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridplan.engine.bundle import Inputs
from gridplan.engine.summary import ANCHOR_RANGE
from gridplan.sensitivity.cells import labelled_field, labels_like

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FAR_ANCHOR", "NOT_MOVED", "moved_limits", "rate_note"]

NOT_MOVED = "measured_rate_not_moved"
"""The rate is a measurement, what it was measured at has changed, and no new measurement is stated."""

FAR_ANCHOR = "scaled_by_far_anchor"
"""A measurement was scaled although it and first principles disagree by more than a factor of two."""

_TOLERANCE = 1e-9
_LIMITS = ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "itl_slo_s")


def moved_limits(inputs: Inputs) -> xr.DataArray:
    """Where a scenario has other latency limits than the nominal plan (true, false)."""
    import xarray as xr

    moved = xr.DataArray(False)
    for name in (*_LIMITS, *(f"class_{limit}" for limit in _LIMITS)):
        item = inputs.values[name]
        if "scenario" not in item.dims:
            continue
        axis = inputs.space.names.index("scenario")
        nominal = item.data.take([inputs.space.labels["scenario"].index("nominal")], axis=axis)
        other = ~((item.data == nominal) | (np.isnan(item.data) & np.isnan(nominal)))
        if other.ndim > len(inputs.space.names):
            other = other.any(axis=-1)
        moved = moved | labelled_field(inputs, type(item)(other, item.dims))
    return moved


def rate_note(cube: xr.Dataset, base: xr.Dataset, limits_moved: xr.DataArray) -> xr.DataArray:
    """What a reader must know of the rate of each cell beside that of `base`, as text or null.

    A measured rate is not moved where limits or the rate from first principles changed and the rate did not.
    """
    import xarray as xr

    stays = abs(cube.lambda_instance - base.lambda_instance) <= _TOLERANCE * base.lambda_instance
    slower = abs(cube.lambda_analytical - base.lambda_analytical) > _TOLERANCE * base.lambda_analytical
    kept = (cube.capacity_source == "measured") & stays & (slower | limits_moved)
    far = (cube.anchor_ratio < ANCHOR_RANGE[0]) | (cube.anchor_ratio > ANCHOR_RANGE[1])
    kept, far = xr.broadcast(kept, far)
    words = np.array([None, FAR_ANCHOR, NOT_MOVED], dtype=object)
    return labels_like(kept, words[np.where(kept, 2, far.astype(int))])
