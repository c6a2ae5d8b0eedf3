"""The operating point of one replica: its latencies, means and percentiles, at an arrival rate.

The model is a replica that batches continuously: each step gives one token to every running request, and new prompts
ride on the steps up to a token budget. A step lasts

    t_w + sum over running requests of (k x resident tokens + t_seq) + p x prefill tokens in the step

The figures are closed forms of that model. How far they are from a simulation of it is stated with `valid`; how far
the model is from hardware is not known to this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.replica.decode_law import e2e_mixture, tpot_mixture
from gridplan.formulas.replica.goodput import goodput, met_shares
from gridplan.formulas.replica.laws import Laws, quiet
from gridplan.formulas.replica.mixture import Mixture, mixture_quantile
from gridplan.formulas.replica.steady import Steady, ratio, tpot_mean
from gridplan.formulas.replica.traffic import (
    Array,
    Traffic,
    by_class_last,
    read_traffic,
    traffic_mean,
)
from gridplan.formulas.replica.validity import LIMITS, REASONS, Validity, validity

__all__ = ["OperatingPoint", "operating_point"]

_Kind = TypeVar("_Kind", bound=np.generic)

_SHOWN = (
    *("tpot_s", "tpot_mean_s", "batch_mean", "ttft_s", "e2e_s", "ttft_by_class_s", "e2e_by_class_s", "wait_s"),
    *("step_mean_s", "busy", "token_budget_share", "slot_share", "stable", "valid", "tpot_valid", "ttft_valid"),
)
"""What a point says of itself."""


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(Laws):
    """Latencies of one replica at a rate: arrays with the leading axes of the inputs, then the class axis by class.

    Means over requests: tpot_s [s by class, NaN for one output token], tpot_mean_s [s, over requests of more
    than one output token], ttft_s, e2e_s, ttft_by_class_s, e2e_by_class_s [s], wait_s [s, for a slot, part of TTFT],
    batch_mean [decoding sequences], step_mean_s [s, over steps].
    Shares: busy, the time share that grows with traffic; token_budget_share, prompts and the steps that they are cut
    into; slot_share, rate over the rate at the cap (0 without one). The replica is stable while all are below 1.
    stable; limit: '' or which share is at 1 or above, 'time', 'token_budget' or 'slots', the first in this order.
    valid: percentiles may be shown; valid_reason: '' or the bound that is broken. tpot_valid, ttft_valid: where TPOT
    and batch, TTFT and E2E are given; elsewhere they are NaN.
    """

    def __repr__(self) -> str:
        return f"OperatingPoint({', '.join(f'{name}={getattr(self, name)!r}' for name in _SHOWN)})"

    @cached_property
    @quiet
    def tpot_s(self) -> Array:
        load, tpot = self._load, self._state.tpot
        return by_class_last(np.where(load.steps > 0.0, tpot, np.nan) * self._tpot_shown, load)

    @cached_property
    @quiet
    def tpot_mean_s(self) -> Array:
        return self._lead(tpot_mean(self._load, self._state.tpot) * self._tpot_shown)

    @cached_property
    @quiet
    def batch_mean(self) -> Array:
        return self._lead(self._state.batch * self._tpot_shown)

    @cached_property
    @quiet
    def ttft_s(self) -> Array:
        return self._lead(traffic_mean(self._load.weights, self._ttft))

    @cached_property
    @quiet
    def e2e_s(self) -> Array:
        return self._lead(traffic_mean(self._load.weights, self._ttft + self._state.decode))

    @cached_property
    @quiet
    def ttft_by_class_s(self) -> Array:
        return by_class_last(self._ttft, self._load)

    @cached_property
    @quiet
    def e2e_by_class_s(self) -> Array:
        return by_class_last(self._ttft + self._state.decode, self._load)

    @cached_property
    @quiet
    def wait_s(self) -> Array:
        return self._lead(self._wait.mean * self._ttft_shown)

    @cached_property
    @quiet
    def step_mean_s(self) -> Array:
        return self._lead(_step_mean(self._load, self._state) * self._tpot_shown)

    @property
    def busy(self) -> Array:
        return self._lead(self._state.busy)

    @property
    def token_budget_share(self) -> Array:
        return self._lead(self._firsts[0].budget_share)

    @property
    def slot_share(self) -> Array:
        return self._lead(self._wait.share)

    @property
    def stable(self) -> npt.NDArray[np.bool_]:
        return self._lead(self._validity.limit == 0)

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        return self._lead(self._validity.percentiles)

    @property
    def tpot_valid(self) -> npt.NDArray[np.bool_]:
        return self._lead(self._validity.tpot)

    @property
    def ttft_valid(self) -> npt.NDArray[np.bool_]:
        return self._lead(self._validity.ttft)

    @cached_property
    def limit(self) -> npt.NDArray[np.str_]:
        """What makes the replica unstable: '' (stable), 'time', 'token_budget' or 'slots'."""
        return np.broadcast_to(LIMITS[self._validity.limit], self._load.lead)

    @cached_property
    def valid_reason(self) -> npt.NDArray[np.str_]:
        """Why percentiles are not given: '' (they are) or the bound that is broken."""
        return np.broadcast_to(REASONS[self._validity.reason], self._load.lead)

    def ttft_quantile(self, q: Value, method: str = "exact", rough: bool = False) -> Array:
        """Time to first token that the share q of requests does not exceed [s]; q in (0, 1) broadcasts.

        method 'exact' solves the mixture, 'fast' its Wilson-Hilferty form. NaN where not `valid`; with rough=True also
        given where nothing but 'slots' or 'arrival_scv' speaks against it: TTFT is then off by tens of percent, but
        so steep in the rate that a search for the rate at a limit is off by few: for searches, not to be shown.
        """
        return self._quantile(self._ttft_mixture, q, method, rough)

    def e2e_quantile(
        self, q: Value, method: str = "exact", output_scv: Value | None = None, rough: bool = False
    ) -> Array:
        """Latency of the whole answer that the share q of requests does not exceed [s]; see `ttft_quantile`.

        output_scv [1], by class: squared coefficient of variation of the output length within a class, for classes
        that are strata of random lengths (`length_nodes_scv`).
        """
        return self._quantile(e2e_mixture(self, output_scv), q, method, rough)

    def tpot_quantile(self, q: Value, method: str = "exact", rough: bool = False) -> Array:
        """Mean time per output token of a request that the share q does not exceed [s]; see `ttft_quantile`."""
        return self._quantile(tpot_mixture(self), q, method, rough)

    def itl_quantile(self, q: Value, method: str = "exact", rough: bool = False) -> Array:
        """Gap between two tokens that the share q of gaps does not exceed [s]; see `ttft_quantile`.

        Over all tokens of all requests: a gap with a chunk of someone's prompt counts for every sequence that waits.
        """
        return self._quantile(self._gap_law.mixture, q, method, rough)

    def goodput(
        self,
        ttft_slo_s: Value | None = None,
        tpot_slo_s: Value | None = None,
        e2e_slo_s: Value | None = None,
        itl_slo_s: Value | None = None,
        output_scv: Value | None = None,
    ) -> tuple[Array, Array]:
        """Share of requests that meet all limits given [1]: (bound, estimate). NaN where not `valid`.

        A limit [s] is a number for all, or an array whose last axis is the class axis, of the size of the classes or
        1; its other axes broadcast against the leading ones. A limit on TPOT is on the mean gap of a request, one on
        ITL on each of its gaps; answers of one token meet both. The bound holds whatever depends on what: 1 less the
        sum of the shares that miss each limit (Boole). The estimate takes TTFT and decoding as independent within a
        class; it is never below the bound. output_scv as in `e2e_quantile`.
        """
        return goodput(self, ttft_slo_s, tpot_slo_s, e2e_slo_s, itl_slo_s, output_scv)

    def met_shares(
        self,
        ttft_slo_s: Value | None = None,
        tpot_slo_s: Value | None = None,
        e2e_slo_s: Value | None = None,
        itl_slo_s: Value | None = None,
        output_scv: Value | None = None,
    ) -> tuple[Array, Array, Array, Array]:
        """Share of the requests of each class that meet each limit on its own [1], class axis last, in this order.

        Limits as in `goodput`; 1 where none is given, NaN where not `valid`. A percentile q of a limit holds where the
        share is at least q.
        """
        return met_shares(self, ttft_slo_s, tpot_slo_s, e2e_slo_s, itl_slo_s, output_scv)

    def _quantile(self, mixture: Mixture, q: Value, method: str, rough: bool) -> Array:
        with np.errstate(all="ignore"):
            out = mixture_quantile(mixture, _levels(q), method)
        return np.where(self._validity.rough if rough else self.valid, out, np.nan)

    @cached_property
    @quiet
    def _validity(self) -> Validity:
        return validity(self._load, self._state, self._firsts, self._wait)

    @property
    def _tpot_shown(self) -> Array:
        return np.where(self._validity.tpot, 1.0, np.nan)

    @property
    def _ttft_shown(self) -> Array:
        return np.where(self._validity.ttft, 1.0, np.nan)

    @property
    def _ttft(self) -> Array:
        """By class, where it may be shown [s]."""
        return (self._ttft_mean + self._wait.mean) * self._ttft_shown

    def _lead(self, values: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
        return np.broadcast_to(values, self._load.lead)


def operating_point(
    arrival_rate: Value,
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
) -> OperatingPoint:
    """Latencies of one replica that serves `arrival_rate` requests a second [1/s].

    class_weights [share, sum 1], prompt_tokens, uncached_tokens (those to prefill), output_tokens [tokens] and
    prefill_s [s] have the class axis last; everything else broadcasts against their leading axes. Lengths are the same
    for all requests of a class: random lengths become several classes with `length_nodes`. step_weights_s [s a step],
    step_per_context_token_s [s a resident token a step], prefill_per_token_s [s a token], step_per_sequence_s
    [s a sequence a step]. prefill_s replaces prefill_per_token_s x uncached_tokens, where attention makes it more than
    linear. token_budget [tokens a step], arrival_scv [1], squared coefficient of variation of the time between
    arrivals; slots [sequences], cap of the KV pool.

    ValueError: negative or infinite inputs, weights that do not sum to 1, axes that do not line up. NaN gives NaN.

    One request every 100 s meets nobody: TPOT is t_w + k (P + O/2), TTFT t_w + p P.

    >>> quiet = operating_point(1e-9, [1.0], [1000], [1000], [200], 0.010, 1e-6, 1e-5)
    >>> round(float(quiet.tpot_mean_s), 6), round(float(quiet.ttft_s), 6)
    (0.0111, 0.02)
    """
    stated = (
        *(class_weights, prompt_tokens, uncached_tokens, output_tokens),
        *(step_weights_s, step_per_context_token_s, prefill_per_token_s, step_per_sequence_s),
        *(prefill_s, token_budget, slots, arrival_rate, arrival_scv),
    )
    # Figures are worked out later: what the caller does to its arrays meanwhile is no part of them.
    return OperatingPoint(read_traffic(*(item.copy() if isinstance(item, np.ndarray) else item for item in stated)))


def _step_mean(load: Traffic, state: Steady) -> Array:
    """Mean over steps [s]: steps fill the time in which the replica has work, less what traffic adds to them."""
    grows = state.mean_prefill + state.mean_decode
    alone = traffic_mean(load.weights, load.steps * (load.step + load.context)) + state.mean_prefill + load.step
    decoding = -np.expm1(-(state.batch_free + load.rate * load.step))
    occupied = state.busy_prefill + (1.0 - state.busy_prefill) * decoding
    mean = ratio(occupied, occupied - state.busy)
    out: Array = load.step * np.where(load.rate > 0.0, mean, ratio(alone, alone - grows))
    return out


def _levels(q: Value) -> Array:
    level = np.asarray(q, dtype=np.float64)
    if not np.all((level > 0.0) & (level < 1.0)):
        raise ValueError("q must be in (0, 1)")
    return level
