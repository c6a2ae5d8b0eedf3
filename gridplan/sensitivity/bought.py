"""The fleet as bought under a scenario: the replicas of the nominal plan at the scenario's load and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridplan.chain.redundancy import left_of, stated_losses
from gridplan.formulas import failure_domain_code
from gridplan.formulas.fleet import carries
from gridplan.sensitivity.cells import labels_like

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["BREAKS", "breaks", "carried", "left_after_loss"]

BREAKS = ("nothing", "headroom", "limits", "replica")
"""What gives way first: nothing; the planned headroom alone; the latency limits too; a replica that cannot run."""


def carried(
    replicas_left: xr.DataArray,
    arrival_rate: xr.DataArray,
    lambda_safe: xr.DataArray,
    lambda_instance: xr.DataArray,
    holds_limits: xr.DataArray,
) -> dict[str, xr.DataArray]:
    """What so many replicas do at the peak: rates [req/s], utilisations [1] and the two answers (1, 0, null).

    `holds_limits` is true where `lambda_instance` is a rate at which limits hold, false where it counts slots or is
    that of saturation: whether limits hold is null there. Of no replicas left the utilisations are null.

    >>> import xarray as xr
    >>> found = carried(*(xr.DataArray(value) for value in (8.0, 60.0, 7.0, 10.0, True)))
    >>> [float(found[name]) for name in ("bought_arrival_rate_safe", "bought_headroom_kept", "bought_slo_held")]
    [56.0, 0.0, 1.0]
    """
    safe, most = replicas_left * lambda_safe, replicas_left * lambda_instance
    within = most.where(holds_limits)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept, held = carries(arrival_rate, safe), carries(arrival_rate, within)
    return {
        "bought_replicas_left": replicas_left,
        "bought_arrival_rate_safe": safe,
        "bought_arrival_rate_slo": within,
        "bought_utilization": arrival_rate / most.where(most > 0),
        "bought_utilization_safe": arrival_rate / safe.where(safe > 0),
        "bought_headroom_kept": kept,
        "bought_slo_held": held,
    }


def left_after_loss(
    replicas: xr.DataArray,
    lost_units: xr.DataArray,
    lost_domain: xr.DataArray,
    replicas_per_node: xr.DataArray,
    zones: xr.DataArray,
) -> xr.DataArray:
    """Replicas of the fleet as bought that the scenario's loss leaves [count], at its worst.

    >>> import xarray as xr
    >>> left_after_loss(*(xr.DataArray(item) for item in (16.0, 1.0, "node", 8.0, 1.0))).item()
    8.0
    """
    import xarray as xr

    code = failure_domain_code(lost_domain)
    dims = xr.broadcast(replicas, lost_units, code, replicas_per_node, zones)
    count, units, kind, per_node, spread = (item.values for item in dims)
    outright, in_zones = stated_losses(units, kind, per_node)
    return dims[0].copy(data=left_of(count, outright, in_zones, spread, per_node))


def breaks(headroom_kept: xr.DataArray, slo_held: xr.DataArray, replica_reason: xr.DataArray) -> xr.DataArray:
    """The first of `BREAKS` that holds, worst first, as text; null where the fleet as bought says nothing.

    >>> import xarray as xr
    >>> of = lambda kept, held: breaks(xr.DataArray(kept), xr.DataArray(held), xr.DataArray(None)).item()
    >>> of(1.0, 1.0), of(0.0, 1.0), of(0.0, 0.0), of(0.0, float("nan"))
    ('nothing', 'headroom', 'limits', 'headroom')
    """
    import xarray as xr

    kept, held, reason = xr.broadcast(headroom_kept, slo_held, replica_reason)
    stuck = np.array([item is not None for item in reason.values.ravel()], bool).reshape(reason.shape)
    label = np.select(
        [stuck, held.values == 0.0, kept.values == 0.0, kept.values == 1.0],
        [3, 2, 1, 0],
        default=-1,
    )
    words = np.array([*BREAKS, None], dtype=object)
    return labels_like(kept, words[label])
