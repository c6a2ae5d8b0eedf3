"""The rate that one replica sustains within its latency limits, for arrays of replicas."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.replica.edge import BINDS, Edge, Rows, edge, rate_top
from gridplan.formulas.replica.held import LATENCIES, Limit
from gridplan.formulas.replica.traffic import UNLIMITED, Array, Traffic, class_first_within, read_traffic, traffic_mean

__all__ = ["SustainedRate", "sustained_rate"]

PERCENTILES = {"ttft": 95.0, "tpot": 95.0, "e2e": 99.0, "itl": 95.0}
"""Percentiles of limits where none is stated (policy)."""

_LABELS = np.array([*BINDS, ""])


class SustainedRate(NamedTuple):
    """lambda_instance [req/s]; 0 where a limit holds at no rate, NaN where an input is not known. Labels, '' for none:
    binding_constraint (slots, token_budget, time, ttft, tpot, e2e, itl), binding_next, what binds once that is lifted,
    unreachable, the limit that no rate holds. margin_to_next [1]: rise of the rate if the binding limit were lifted.
    """

    lambda_instance: Array
    binding_constraint: npt.NDArray[np.str_]
    binding_next: npt.NDArray[np.str_]
    margin_to_next: Array
    unreachable: npt.NDArray[np.str_]


def sustained_rate(
    class_weights: Value,
    prompt_tokens: Value,
    uncached_tokens: Value,
    output_tokens: Value,
    step_weights_s: Value,
    step_per_context_token_s: Value,
    prefill_per_token_s: Value,
    step_per_sequence_s: Value = 0.0,
    prefill_s: Value | None = None,
    token_budget: Value = 2048,
    arrival_scv: Value = 1.0,
    slots: Value | None = None,
    max_num_seqs: Value | None = None,
    *,
    ttft_slo_s: Value | None = None,
    tpot_slo_s: Value | None = None,
    e2e_slo_s: Value | None = None,
    itl_slo_s: Value | None = None,
    percentiles: dict[str, float | None] | None = None,
    output_scv: Value | None = None,
) -> SustainedRate:
    """Largest arrival rate at which one replica holds all its limits [req/s].

    Inputs as in `operating_point`; slots [sequences] is what the KV pool holds, max_num_seqs what the scheduler lets
    run. The pool makes requests wait; that it also keeps steps short is not credited, so that a larger pool never
    lowers the rate (simulated: half a percent of the rate). Limits [s] are numbers or arrays that broadcast against
    the leading axes, each on the mixture of all requests (of all gaps for ITL): at the percentile that `percentiles`
    states by latency ('ttft', 'tpot', 'e2e', 'itl'), None for the mean; 95 where it states none, 99 for E2E. Without a
    limit the rate is that at which the queue begins to grow without end.

    ValueError: what `operating_point` refuses, a limit that is not above 0, a percentile outside 0 to 100.

    A 70B model on four H100 (TTFT p95 1 s, TPOT p95 50 ms, E2E p99 20 s; a simulation of the same steps gives 8.46):

    >>> one = {"class_weights": [1.0], "prompt_tokens": [2000], "uncached_tokens": [2000], "output_tokens": [300]}
    >>> steps = {"step_weights_s": 7.02e-3, "step_per_context_token_s": 32.6e-9, "prefill_per_token_s": 35.65e-6}
    >>> found = sustained_rate(**one, **steps, max_num_seqs=256, ttft_slo_s=1.0, tpot_slo_s=0.050, e2e_slo_s=20.0)
    >>> round(float(found.lambda_instance), 2), str(found.binding_constraint)
    (8.42, 'tpot')
    """
    limits = {"ttft": ttft_slo_s, "tpot": tpot_slo_s, "e2e": e2e_slo_s, "itl": itl_slo_s}
    arrays = {name: _limit(name, value) for name, value in limits.items()}
    shape = np.broadcast_shapes(*(item.shape for item in arrays.values()))
    pool, cap = (np.asarray(np.inf if item is None else item, dtype=np.float64) for item in (slots, max_num_seqs))
    load = read_traffic(
        class_weights,
        prompt_tokens,
        uncached_tokens,
        output_tokens,
        step_weights_s,
        step_per_context_token_s,
        prefill_per_token_s,
        step_per_sequence_s,
        prefill_s,
        token_budget,
        None if slots is None and max_num_seqs is None else np.minimum(pool, cap),
        np.zeros(shape),
        arrival_scv,
    )
    rows = _Loads(load, *(np.broadcast_to(item, load.lead) for item in (pool, cap)))
    by_row = {name: rows.limit(array, _share(name, percentiles or {})) for name, array in arrays.items()}
    spread = None if output_scv is None else np.moveaxis(rows.by_class(output_scv), 0, -1)
    return _labelled(edge(rows.at, by_row, rows.top(), spread), load.lead)


def _labelled(found: Edge, lead: tuple[int, ...]) -> SustainedRate:
    with np.errstate(all="ignore"):
        margin = found.next_rate / found.rate - 1.0
    labels = (_LABELS[codes].reshape(lead) for codes in (found.binding, found.next, found.missed))
    binding, following, missed = labels
    return SustainedRate(found.rate.reshape(lead), binding, following, margin.reshape(lead), missed)


def _limit(name: str, value: Value | None) -> Array:
    if value is None:
        return np.array(np.nan)
    array = np.asarray(value, dtype=np.float64)
    if np.any(array <= 0.0):
        raise ValueError(f"{name}_slo_s must be above 0")
    return array


def _share(name: str, percentiles: dict[str, float | None]) -> float:
    unknown = sorted(set(percentiles) - set(LATENCIES))
    if unknown:
        raise ValueError(f"percentiles knows {', '.join(LATENCIES)}, not {', '.join(unknown)}")
    percentile = percentiles.get(name, PERCENTILES[name])
    if percentile is None:
        return np.nan
    if not 0.0 < percentile < 100.0:
        raise ValueError(f"the percentile of {name} must be in (0, 100), not {percentile:g}")
    return percentile / 100.0


class _Loads:
    """A load with one row a replica: class axis first where there is one, then the rows."""

    def __init__(self, load: Traffic, pool: Array, cap: Array) -> None:
        self.lead, self.count, self.classes = load.lead, int(np.prod(load.lead)), load.classes
        self.arrays = {
            item.name: self._row(value)
            for item in fields(load)
            if isinstance(value := getattr(load, item.name), np.ndarray)
        }
        self.load = load
        self.pool, self.cap = (np.minimum(self._row(item), UNLIMITED) for item in (pool, cap))

    def _row(self, values: Array) -> Array:
        if values.ndim > len(self.lead):
            return np.broadcast_to(values, (values.shape[0], *self.lead)).reshape(values.shape[0], -1)
        return np.broadcast_to(values, self.lead).reshape(-1)

    def at(self, rate: Array, rows: Rows, lifted: str) -> Traffic:
        arrays: dict[str, Any] = self.arrays
        pool, cap = self.pool, self.cap
        if rows.size < self.count:
            arrays = {name: np.take(values, rows, -1) for name, values in arrays.items()}
            pool, cap = pool[rows], cap[rows]
        arrays = arrays | {"held": cap}
        if lifted == "slots":
            arrays |= {"slots": np.maximum(pool, cap), "held": np.where(cap < pool, UNLIMITED, cap)}
        if lifted == "token_budget":
            arrays["budget"] = np.full(rows.size, UNLIMITED)
        return replace(self.load, **{**arrays, "rate": rate, "lead": (rows.size,)})

    def top(self) -> Array:
        """Rate at which work that grows with traffic takes all the time [1/s]."""
        load = self.at(np.zeros(self.count), np.arange(self.count), "")
        work = traffic_mean(load.weights, load.prefill + load.steps * load.context)
        steps, tokens = (traffic_mean(load.weights, item) for item in (load.steps, load.uncached))
        return rate_top(work, load.slots, steps * load.step, load.budget, tokens * load.step)

    def limit(self, seconds: Array, share: float) -> Limit:
        by_class = np.broadcast_to(self._row(np.broadcast_to(seconds, self.lead)), (self.classes, self.count))
        return Limit(by_class, np.full_like(by_class, share), np.zeros_like(by_class))

    def by_class(self, value: Value) -> Array:
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
        return self._row(class_first_within("output_scv", array, self.load))
