"""How far the latencies of a replica are from their limits, over the requests that a limit is for.

A limit of a service is one on all its requests: its percentile is that of their mixture, as a load test sees it. A
class that states a limit of its own is judged by its own requests, and the rest together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.replica.decode_law import e2e_share, tpot_share
from gridplan.formulas.replica.laws import Laws
from gridplan.formulas.replica.mixture import mixture_share
from gridplan.formulas.replica.point import OperatingPoint
from gridplan.formulas.replica.steady import ratio
from gridplan.formulas.replica.traffic import Array, traffic_mean

__all__ = ["FAR_S", "LATENCIES", "Limit", "limit_margin", "shown"]

LATENCIES = ("ttft", "tpot", "e2e", "itl")
"""Latencies that can have a limit."""

MOST = 30.0
"""Largest margin of a percentile: shares nearer to 1 than e^-30 of what may miss are rounding (policy)."""
Flags = npt.NDArray[np.bool_]

FAR_S = 1e9
"""Stands for a limit that some requests do not have [s] (policy)."""


@dataclass(frozen=True, eq=False)
class Limit:
    """A limit on one latency, class axis first: seconds [s], NaN for none; share [1] of the requests that keep it, NaN
    for a limit on their mean; group: numbers of the sets of classes that are judged together, one for each class.
    """

    seconds: Array
    share: Array
    group: Array

    def take(self, rows: npt.NDArray[np.intp]) -> Limit:
        """The limit of some replicas only, in their order; all of them are the limit itself."""
        if rows.size == self.seconds.shape[1]:
            return self
        return Limit(self.seconds[:, rows], self.share[:, rows], self.group[:, rows])

    @cached_property
    def stated(self) -> bool:
        """Whether any class has it."""
        return not bool(np.all(np.isnan(self.seconds)))

    @cached_property
    def on_share(self) -> bool:
        """Whether any class has it as a percentile."""
        return not bool(np.all(np.isnan(self.share)))

    @cached_property
    def on_mean(self) -> bool:
        """Whether any class has it on the mean."""
        return bool(np.any(np.isnan(self.share) & ~np.isnan(self.seconds)))

    @cached_property
    def members(self) -> list[Flags]:
        """The classes of each group."""
        return [self.group == number for number in np.unique(self.group)]


def limit_margin(laws: Laws, latency: str, limit: Limit, output_scv: Value | None = None) -> Array:
    """How far a latency is from its limit, not below 0 where it holds [1]; infinite without a limit.

    For a percentile the logarithm of the share that may miss over the share that does, for a mean that of the limit
    over the mean; the lowest over the groups. Also where figures are not shown: see `shown`. NaN where not known, as in
    an unstable replica.
    """
    with np.errstate(all="ignore"):
        share = _share(laws, latency, limit, output_scv) if limit.on_share else None
        mean = _mean(laws, latency) if limit.on_mean else None
        lowest: Array = np.full(laws._load.lead, np.inf)
        for members in limit.members:
            lowest = np.minimum(lowest, _of_group(laws, latency, limit, members, share, mean))
    return lowest


def shown(point: OperatingPoint, latency: str, limit: Limit) -> Flags:
    """Where what `limit_margin` says may be shown: percentiles and means have bounds of their own."""
    means: dict[str, Flags] = {"ttft": point.ttft_valid, "tpot": point.tpot_valid, "itl": point.tpot_valid}
    of_mean: Flags = means.get(latency, point.ttft_valid & point.tpot_valid)
    asked = ~np.isnan(limit.seconds) & (point._load.weights > 0.0)
    some_mean, some_share = (asked & known for known in (np.isnan(limit.share), ~np.isnan(limit.share)))
    out: Flags = (of_mean | ~some_mean.any(axis=0)) & (point.valid | ~some_share.any(axis=0))
    return out


def _of_group(laws: Laws, latency: str, limit: Limit, members: Flags, share: Array | None, mean: Array | None) -> Array:
    """The margin of the classes that are judged together."""
    judged = members & ~np.isnan(limit.seconds)
    weight = judged * _weight(laws, latency)
    total = weight.sum(axis=0)
    by_mean = (judged & np.isnan(limit.share)).any(axis=0)
    out = np.full(laws._load.lead, np.inf)
    if share is not None:
        allowed = 1.0 - np.where(judged, limit.share, 0.0).max(axis=0)
        missed = ratio((weight * (1.0 - share)).sum(axis=0), total)
        found = np.log(allowed / np.maximum(missed, allowed * np.exp(-MOST)))
        out = np.where(by_mean, out, found)
    if mean is not None:
        stated = np.where(judged, limit.seconds, np.inf).min(axis=0)
        found = np.log(stated / ratio((weight * np.where(weight > 0.0, mean, 0.0)).sum(axis=0), total))
        out = np.where(by_mean, found, out)
    return np.where(total > 0.0, out, np.where(np.isnan(total), np.nan, np.inf))


def _weight(laws: Laws, latency: str) -> Array:
    """Weight of each class among what has the latency: requests, those that decode, or gaps."""
    load = laws._load
    if latency == "tpot":
        return np.where(load.steps > 0.0, load.weights, 0.0)
    return load.weights * load.steps if latency == "itl" else load.weights


def _share(laws: Laws, latency: str, limit: Limit, output_scv: Value | None) -> Array:
    """Share of each class within its limit [1], class axis first."""
    seconds = np.where(np.isnan(limit.seconds), FAR_S, limit.seconds)
    if latency == "ttft":
        return laws._ttft_law.share(seconds)
    if latency == "e2e":
        return e2e_share(laws, seconds, output_scv)
    if latency == "tpot":
        return tpot_share(laws, seconds)
    return _gap_share(laws, seconds)


def _gap_share(laws: Laws, seconds: Array) -> Array:
    """Share of all gaps within the limit of each class: gaps are not told apart by class."""
    law = laws._gap_law.mixture
    parts = (law.weight, law.mean, law.variance, law.shift)
    weight, mean, variance, shift = (part[:, None] for part in parts)
    out: Array = (weight * mixture_share(mean, variance, shift, seconds[None])).sum(axis=0)
    return out


def _mean(laws: Laws, latency: str) -> Array:
    """Mean of each class [s], class axis first; that of gaps is one for all."""
    load, state = laws._load, laws._state
    if latency == "tpot":
        return state.tpot
    if latency == "itl":
        return ratio(traffic_mean(load.weights, state.decode), state.mean_steps)[None]
    first: Array = laws._ttft_mean + laws._wait.mean
    return first if latency == "ttft" else first + state.decode
