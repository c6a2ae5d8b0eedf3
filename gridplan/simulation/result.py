"""What a simulation found: times of every measured request and figures over them, one row a cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.gaps import BINS, bin_edges
from gridplan.simulation.records import Records
from gridplan.simulation.steady import batches, standard_error

__all__ = ["Metric", "Simulation"]

Array: TypeAlias = npt.NDArray[Any]
Metric: TypeAlias = Literal["ttft", "tpot", "e2e", "itl"]


@dataclass(frozen=True)
class Simulation:
    """Measured requests of every cell; warm-up is left out and every request has finished.

    `stable` (cells,) is False where more arrives than a replica can serve (within 1%) and where the queue is too long
    for any run; every figure of such a cell is NaN. Times of requests, (cells, requests) in the order of arrival, stay
    as they are.

    A standard error knows what the run has seen. A far quantile that comes from a few crowded spells is less certain
    than its error says until the run is long: `requests_for` says how long.
    """

    records: Records
    stable: npt.NDArray[np.bool_]

    @property
    def ttft_s(self) -> Array:
        """From arrival to the first token [s], (cells, requests)."""
        return self.records.ttft_s

    @property
    def e2e_s(self) -> Array:
        """From arrival to the last token [s], (cells, requests)."""
        return self.records.e2e_s

    @property
    def decode_s(self) -> Array:
        """From the first token to the last [s], (cells, requests)."""
        return self.records.decode_s

    @property
    def arrival_s(self) -> Array:
        """Times of arrival [s], (cells, requests)."""
        return self.records.arrival_s

    @property
    def class_index(self) -> Array:
        """Class of each request, (cells, requests)."""
        return self.records.kind

    @property
    def output_tokens(self) -> Array:
        """Output tokens of each request, (cells, requests)."""
        return self.records.output

    @cached_property
    def tpot_s(self) -> Array:
        """Mean time between the tokens of a request [s], (cells, requests); NaN for outputs of one token."""
        with np.errstate(invalid="ignore"):
            return self.decode_s / (self.output_tokens - 1.0)

    def mean(self, metric: Metric) -> Array:
        """Mean over requests (of ITL: over gaps) [s], (cells,); NaN in unstable cells and where there is no gap.

        ITL is NaN too where gaps lie above 4,096 times the shortest, which are not told apart.
        """
        return self._figure(_gap_mean(self.records) if metric == "itl" else _mean(self._times(metric), 1))

    def mean_error(self, metric: Metric) -> Array:
        """Standard error of the mean by batch means [s], (cells,). ITL has none: its gaps are not kept apart."""
        return self._figure(standard_error(_mean(batches(self._times(metric)), 2)))

    def quantile(self, metric: Metric, q: float) -> Array:
        """Quantile over requests (of ITL: over gaps, within 0.4%) [s], (cells,); NaN in unstable cells.

        ITL is NaN too where the quantile lies above 4,096 times the shortest gap.
        """
        return self._figure(_gap_quantile(self.records, q) if metric == "itl" else _quantile(self._times(metric), q, 1))

    def quantile_error(self, metric: Metric, q: float) -> Array:
        """Standard error of the quantile [s], (cells,).

        The share of requests below the quantile has a standard error by batch means; half the distance between the
        quantiles that far below and above q is the error in seconds.
        """
        times = self._times(metric)
        below = np.where(np.isnan(times), np.nan, times <= _quantile(times, q, 1)[:, None])
        share = standard_error(_mean(batches(below), 2))
        low, high = np.maximum(q - share, 0.0), np.minimum(q + share, 1.0)
        return self._figure(0.5 * (_quantile(times, high, 1) - _quantile(times, low, 1)))

    def goodput(self, ttft_s: Any = np.inf, tpot_s: Any = np.inf, e2e_s: Any = np.inf) -> Array:
        """Share of requests that meet all limits at once, (cells,); a request without TPOT meets any limit on it.

        Limits are in seconds, a number or one per cell.
        """
        return self._figure(self._met(ttft_s, tpot_s, e2e_s).mean(axis=1))

    def goodput_error(self, ttft_s: Any = np.inf, tpot_s: Any = np.inf, e2e_s: Any = np.inf) -> Array:
        """Standard error of `goodput` by batch means, (cells,)."""
        return self._figure(standard_error(batches(self._met(ttft_s, tpot_s, e2e_s)).mean(axis=2)))

    @property
    def batch_mean(self) -> Array:
        """Decoding sequences, mean over time [sequences], (cells,)."""
        return self._figure(self._rate(self.records.sequence_s))

    @property
    def busy_share(self) -> Array:
        """Share of time in which a step runs [1], (cells,)."""
        return self._figure(self._rate(self.records.busy_s))

    @property
    def step_rate(self) -> Array:
        """Steps per second of time [1/s], (cells,)."""
        return self._figure(self._rate(self.records.steps))

    @property
    def throughput(self) -> Array:
        """Requests per second of time [1/s], (cells,), in unstable cells too."""
        return self._rate(np.full(self.stable.size, float(self.ttft_s.shape[1])))

    def _rate(self, total: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            rate: Array = total / self.records.span_s
        return rate

    def _times(self, metric: Metric) -> Array:
        if metric not in ("ttft", "tpot", "e2e"):
            raise ValueError(f"metric: ttft, tpot or e2e expected, found {metric!r}")
        return {"ttft": self.ttft_s, "tpot": self.tpot_s, "e2e": self.e2e_s}[metric]

    def _met(self, ttft_s: Any, tpot_s: Any, e2e_s: Any) -> Array:
        ttft, tpot, e2e = (np.asarray(limit, dtype=np.float64).reshape(-1, 1) for limit in (ttft_s, tpot_s, e2e_s))
        met: Array = (self.ttft_s <= ttft) & ~(self.tpot_s > tpot) & (self.e2e_s <= e2e)
        return met

    def _figure(self, values: Array) -> Array:
        return np.where(self.stable, values, np.nan)


def _mean(values: Array, axis: int) -> Array:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return mean


def _quantile(values: Array, q: float | Array, axis: int) -> Array:
    """Quantile of each row over the values that are known, linear between neighbours; `q` a number or one a row."""
    ordered = np.sort(values, axis=axis)  # what is not known goes to the end
    known = (~np.isnan(values)).sum(axis=axis, keepdims=True)
    place = np.reshape(q, (-1,) + (1,) * (values.ndim - 1)) * np.maximum(known - 1, 0)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(known - 1, 0))
    below, above = np.take_along_axis(ordered, low, axis), np.take_along_axis(ordered, high, axis)
    mixed: Array = (below + (above - below) * (place - low)).squeeze(axis)
    return mixed


def _gap_mean(records: Records) -> Array:
    edges = bin_edges()
    middle = 0.5 * (edges[1:] + edges[:-1])
    total = records.gap_weight.sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean: Array = (records.gap_weight * middle).sum(axis=1) / total * records.gap_shortest_s
    return np.where(records.gap_weight[:, -1] > 0, np.nan, mean)


def _gap_quantile(records: Records, q: float) -> Array:
    edges, found = bin_edges(), np.full(records.gap_shortest_s.size, np.nan)
    for row, weight in enumerate(records.gap_weight):
        summed = np.cumsum(weight)
        if summed[-1] == 0:
            continue
        at = min(int(np.searchsorted(summed, q * summed[-1])), BINS - 1)
        if at < BINS - 1:
            share = (q * summed[-1] - (summed[at] - weight[at])) / weight[at]
            found[row] = (edges[at] + (edges[at + 1] - edges[at]) * share) * records.gap_shortest_s[row]
    return found
