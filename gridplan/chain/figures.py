"""What a replica shows at a rate: means, percentiles, goodput, whether limits hold, and why a figure is missing.

Every function takes a rate [req/s], and the quantities of `REPLICA` last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridplan.chain.codes import NULL, choices
from gridplan.chain.graph import Array
from gridplan.chain.replica import LIMITS, Replica, lengths, point_at
from gridplan.formulas.replica import OperatingPoint
from gridplan.formulas.replica.held import FAR_S, LATENCIES, Limit, limit_margin, shown
from gridplan.formulas.replica.traffic import class_first

__all__ = [
    "fixed_quantile",
    "flags",
    "goodput",
    "limits_of",
    "means",
    "output_scv",
    "quantile",
    "slo_held",
    "slot_share",
]

NO_LIMIT = -1.0
"""The share at which a limit that does not exist is stated."""

_ITL = LIMITS.index("class_itl_slo_s")
_FLAGS = choices("latency_flag")
_UNSTABLE = {"time": "unstable_time", "token_budget": "unstable_token_budget", "slots": "unstable_slots"}


def means(rate: Array, *replica: Array) -> tuple[Array, Array, Array, Array]:
    """Means at `rate` [req/s]: TPOT, TTFT, and time from first to last token [s]; and the code of `latency_flag`."""
    made = Replica(*replica)
    point = point_at(rate, made)
    return point.tpot_mean_s, point.ttft_s, _decode_s(point, made), flags(point, rate)


def slot_share(rate: Array, *replica: Array) -> Array:
    """Rate over the rate at which every slot is taken [1]; NaN where no cap on sequences is known."""
    made = Replica(*replica)
    return np.where(np.isfinite(made.slots), point_at(rate, made).slot_share, np.nan)


def _decode_s(point: OperatingPoint, replica: Replica) -> Array:
    """Mean time from first to last token [s], shown wherever TPOT is."""
    steps = lengths(replica)[2] - 1.0
    taken = np.where(steps > 0.0, steps * point.tpot_s, 0.0)
    return np.asarray((replica.class_weight * taken).sum(axis=-1))


def flags(point: OperatingPoint, rate: Array) -> Array:
    """Code of `latency_flag`, -1 where everything is shown; a cell without a rate has no plan and no flag."""
    code = np.full(np.shape(point.valid_reason), NULL)
    for reason in np.unique(point.valid_reason):
        if reason not in ("", "unstable"):
            code[point.valid_reason == reason] = _FLAGS.index(str(reason))
    for limit, label in _UNSTABLE.items():
        code[point.limit == limit] = _FLAGS.index(label)
    return np.where(np.isnan(rate), NULL, code)


def quantile(latency: str, rate: Array, share: Array, *replica: Array) -> Array:
    """The latency [s] that the share `share` of requests does not exceed; the mean where the limit is on it (NaN).

    NaN where no limit is stated.
    """
    made = Replica(*replica)
    point = point_at(np.broadcast_to(rate, np.broadcast_shapes(rate.shape, share.shape)), made)
    of_share = share > 0.0
    found = np.where(np.isnan(share), _mean(point, latency, made), np.nan)
    if not np.any(of_share):
        return found
    return np.where(of_share, _quantile(point, latency, np.where(of_share, share, 0.5), made), found)


def _mean(point: OperatingPoint, latency: str, replica: Replica) -> Array:
    if latency == "itl":
        # Over gaps, not over requests: long answers have more of them.
        gaps = ((replica.class_output_tokens - 1.0) * replica.class_weight).sum(axis=-1)
        return _decode_s(point, replica) / np.where(gaps > 0.0, gaps, np.nan)
    return {"ttft": point.ttft_s, "tpot": point.tpot_mean_s, "e2e": point.e2e_s}[latency]


def fixed_quantile(latency: str, share: float, rate: Array, *replica: Array) -> Array:
    """The latency [s] that the share `share` of requests does not exceed."""
    made = Replica(*replica)
    return _quantile(point_at(rate, made), latency, np.array(share), made)


def _quantile(point: OperatingPoint, latency: str, share: Array, replica: Replica) -> Array:
    if latency == "e2e":
        return point.e2e_quantile(share, output_scv=output_scv(replica))
    found: Array = getattr(point, f"{latency}_quantile")(share)
    return found


def output_scv(replica: Replica) -> Array | None:
    """What varies within the nodes of random answers; None where nothing does."""
    return replica.class_output_tokens_scv if np.any(replica.class_output_tokens_scv) else None


def goodput(rate: Array, *limits_and_replica: Array) -> tuple[Array, Array]:
    """Share of requests within all limits of their class [1]: at least, and estimated; NaN without a limit.

    Limits on gaps are limits on a share of gaps, not on requests: `slo_held` knows them.
    """
    limits, replica = limits_and_replica[: len(LIMITS)], limits_and_replica[len(LIMITS) :]
    limits = _of_requests(limits)
    made = Replica(*replica)
    bound, estimate = point_at(_over(rate, limits), made).goodput(**_given(limits), output_scv=output_scv(made))
    some = np.broadcast_arrays(*(~np.isnan(limit) for limit in limits))
    asked = np.where(np.any(some, axis=(0, -1)), 1.0, np.nan)
    return bound * asked, estimate * asked


def _of_requests(limits: Sequence[Array]) -> tuple[Array, ...]:
    """The limits without that on gaps, which is one on a share of gaps and not of requests."""
    return (*limits[:_ITL], np.full_like(limits[_ITL], np.nan))


def _over(rate: Array, by_class: Sequence[Array]) -> Array:
    """The rate on the dimensions of figures by class as well: limits may vary where the replica does not."""
    return np.broadcast_to(rate, np.broadcast_shapes(rate.shape, *(values.shape[:-1] for values in by_class)))


def _given(limits: Sequence[Array]) -> dict[str, Array | None]:
    """Limits as the formulas take them: none at all, or far away for the classes that have none."""
    return {
        name.removeprefix("class_"): None if np.all(np.isnan(limit)) else np.where(np.isnan(limit), FAR_S, limit)
        for name, limit in zip(LIMITS, limits, strict=True)
    }


def slo_held(rate: Array, *stated: Array) -> Array:
    """1 where each limit holds at its percentile, over all requests or over those of the class that states it, else 0.

    NaN without a limit, or where a figure is not shown. `stated` are the limits, their percentiles (NaN: the limit is
    on the mean), the groups of classes that each judges together, and the quantities of a replica.
    """
    of_limits, replica = stated[: 3 * len(LIMITS)], Replica(*stated[3 * len(LIMITS) :])
    point = point_at(_over(rate, of_limits), replica)
    held, known = np.ones(()), np.zeros(())
    for latency, limit in limits_of(of_limits, point.busy.ndim).items():
        if not limit.stated:
            continue
        margin = limit_margin(point, latency, limit, output_scv(replica))
        met = np.where(shown(point, latency, limit) & ~np.isnan(margin), margin >= 0.0, np.nan)
        asked = (~np.isnan(limit.seconds) & (point._load.weights > 0.0)).any(axis=0)
        held = held * np.where(asked, met, 1.0)
        known = known + asked
    return np.where(known > 0, held, np.nan)


def limits_of(stated: Sequence[Array], lead: int) -> dict[str, Limit]:
    """Limits by latency from arrays by class (the class axis last): seconds, percentiles, groups."""
    count = len(LIMITS)
    arrays = [class_first(item, lead) for item in stated]
    return {
        name: Limit(arrays[k], arrays[count + k] / 100.0, arrays[2 * count + k]) for k, name in enumerate(LATENCIES)
    }
