"""What a replica shows to a request that finds it empty: the best that any rate can give."""

from __future__ import annotations

import numpy as np

from gridplan.formulas.replica.held import Limit
from gridplan.formulas.replica.laws import Laws
from gridplan.formulas.replica.traffic import Array

__all__ = ["best_possible"]


def best_possible(laws: Laws, latency: str, limit: Limit) -> Array:
    """Value of a latency without load at the share of its limit [s], of the group of classes that is furthest from it.

    `laws` are those at rate 0: every request of a class takes the same time then, so the percentile over classes is
    that of a few values. NaN without a limit.
    """
    values, weight = _alone(laws, latency)
    best, worst = np.full(laws._load.lead, np.nan), np.full(laws._load.lead, -np.inf)
    for group in limit.members:
        members = group & ~np.isnan(limit.seconds)
        value = _at_share(values, members * weight, np.where(members, limit.share, -np.inf).max(axis=0))
        ratio = value / np.where(members, limit.seconds, np.inf).min(axis=0)
        further = ratio > worst
        best, worst = np.where(further, value, best), np.where(further, ratio, worst)
    return best


def _alone(laws: Laws, latency: str) -> tuple[Array, Array]:
    """Time and weight of each class without load, class axis first."""
    load, state = laws._load, laws._state
    shape = (load.classes, *load.lead)
    of_class = {
        "ttft": (laws._ttft_mean, load.weights),
        "tpot": (state.tpot, np.where(load.steps > 0.0, load.weights, 0.0)),
        "e2e": (laws._ttft_mean + state.decode, load.weights),
        "itl": (state.tpot, load.weights * load.steps),
    }[latency]
    return np.broadcast_to(of_class[0], shape), np.broadcast_to(of_class[1], shape)


def _at_share(values: Array, weight: Array, share: Array) -> Array:
    """The smallest value that the share of the weight does not exceed; the mean where the share is not one."""
    total = weight.sum(axis=0)
    some = np.where(total > 0.0, total, np.nan)
    order = np.argsort(values, axis=0)
    sorted_values, sorted_weight = (np.take_along_axis(item, order, axis=0) for item in (values, weight))
    reached = np.cumsum(sorted_weight, axis=0) >= share * some * (1.0 - 1e-12)
    first = np.argmax(reached, axis=0)
    at = np.take_along_axis(sorted_values, first[None], axis=0)[0]
    mean = (weight * np.where(weight > 0.0, values, 0.0)).sum(axis=0) / some
    return np.where(np.isnan(some), np.nan, np.where(np.isfinite(share), at, mean))
