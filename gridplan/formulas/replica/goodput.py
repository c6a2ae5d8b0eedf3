"""Goodput: the share of requests that meet all of their limits at once.

Limits are met by each request on its own: TTFT, TPOT as the mean gap of the answer, E2E, and ITL by every single gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridplan.formulas._types import Value
from gridplan.formulas.replica.decode_law import decode_law, e2e_share, tpot_share
from gridplan.formulas.replica.gaps import gap_met_share
from gridplan.formulas.replica.steady import ratio
from gridplan.formulas.replica.traffic import Array, Traffic, by_class_last, class_first_within, traffic_mean

if TYPE_CHECKING:
    from gridplan.formulas.replica.point import OperatingPoint

__all__ = ["goodput", "met_shares"]

NODES = 16
"""Slices of equal probability into which the decode time is cut where E2E couples it to TTFT (policy)."""


def goodput(
    point: OperatingPoint,
    ttft_slo_s: Value | None,
    tpot_slo_s: Value | None,
    e2e_slo_s: Value | None,
    itl_slo_s: Value | None,
    output_scv: Value | None,
) -> tuple[Array, Array]:
    """(bound, estimate) as `OperatingPoint.goodput` says."""
    load = point._load
    ttft, tpot, e2e, itl = _limits(load, ttft_slo_s, tpot_slo_s, e2e_slo_s, itl_slo_s)
    with np.errstate(all="ignore"):
        met_ttft, met_tpot, met_e2e, met_itl = _shares(point, ttft, tpot, e2e, itl, output_scv)
        missed = 4.0 - met_ttft - met_tpot - met_e2e - met_itl
        joint = met_ttft * met_tpot
        if e2e is not None:
            # Random lengths leave TPOT as it is; else a limit on TPOT is one on the decode time.
            apart = met_tpot if output_scv is not None else 1.0
            pace = None if output_scv is not None else tpot
            alone = _coupled(point, None, None, e2e, output_scv)
            joint = apart * met_e2e * ratio(_coupled(point, ttft, pace, e2e, output_scv), alone)
        shown = np.where(point.valid, 1.0, np.nan)
        bound = np.clip(1.0 - traffic_mean(load.weights, missed), 0.0, 1.0)
        estimate = np.clip(traffic_mean(load.weights, joint * met_itl), bound, 1.0)
        return bound * shown, estimate * shown


def met_shares(
    point: OperatingPoint,
    ttft_slo_s: Value | None,
    tpot_slo_s: Value | None,
    e2e_slo_s: Value | None,
    itl_slo_s: Value | None,
    output_scv: Value | None,
) -> tuple[Array, Array, Array, Array]:
    """Shares of the requests of each class that meet each limit, as `OperatingPoint.met_shares` says."""
    load = point._load
    limits = _limits(load, ttft_slo_s, tpot_slo_s, e2e_slo_s, itl_slo_s)
    shown = np.where(point.valid, 1.0, np.nan)
    with np.errstate(all="ignore"):
        ttft, tpot, e2e, itl = (by_class_last(share * shown, load) for share in _shares(point, *limits, output_scv))
    return ttft, tpot, e2e, itl


def _limits(load: Traffic, *stated: Value | None) -> tuple[Array | None, Array | None, Array | None, Array | None]:
    names = ("ttft_slo_s", "tpot_slo_s", "e2e_slo_s", "itl_slo_s")
    ttft, tpot, e2e, itl = (_limit(name, value, load) for name, value in zip(names, stated, strict=True))
    return ttft, tpot, e2e, itl


def _shares(
    point: OperatingPoint,
    ttft: Array | None,
    tpot: Array | None,
    e2e: Array | None,
    itl: Array | None,
    output_scv: Value | None,
) -> tuple[Array, Array, Array, Array]:
    """Share of each class that meets each limit, class axis first; 1 where there is none."""
    load = point._load
    one = np.ones((load.classes, *(1,) * len(load.lead)))
    return (
        one if ttft is None else point._ttft_law.share(ttft),
        one if tpot is None else tpot_share(point, tpot),
        one if e2e is None else e2e_share(point, e2e, output_scv),
        one if itl is None else gap_met_share(load, point._state, point._gap_law, itl),
    )


def _limit(name: str, value: Value | None, load: Traffic) -> Array | None:
    """A limit as (classes or 1, ...): a number is the same for all; an array ends with the class axis."""
    if value is None:
        return None
    array = np.asarray(value, dtype=np.float64)
    if np.any(array <= 0.0):
        raise ValueError(f"{name} must be above 0")
    return array if array.ndim == 0 else class_first_within(name, array, load)


def _coupled(
    point: OperatingPoint, ttft: Array | None, tpot: Array | None, e2e: Array, output_scv: Value | None
) -> Array:
    """P(TTFT <= x, TPOT <= y, TTFT + T <= z) by class: T in slices of equal probability, TTFT below what each leaves.

    TTFT and the decode time T are taken as independent within a class.
    """
    from scipy import special

    n = point._load.steps
    mean, variance, least = decode_law(point, output_scv)
    body = np.maximum(mean - least, 1e-12 * mean + 1e-300)
    spread = np.maximum(variance, 1e-12 * body * body)
    shape, scale = body * body / spread, spread / body
    top: Array = np.ones(())
    if tpot is not None:
        top = np.where(n > 0.0, special.gammainc(shape, np.maximum(n * tpot - least, 0.0) / scale), 1.0)
    total: Array = np.zeros(())
    for i in range(NODES):
        took = least + scale * special.gammaincinv(shape, top * (i + 0.5) / NODES)
        left = e2e - np.where(n > 0.0, took, 0.0)
        total = total + point._ttft_law.share(left if ttft is None else np.minimum(left, ttft))
    out: Array = top * total / NODES
    return out
