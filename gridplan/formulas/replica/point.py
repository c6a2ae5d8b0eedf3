"""The operating point of one replica: its latencies, means and percentiles, at an arrival rate.

The model is a replica that batches continuously: each step gives one token to every running request, and new prompts
ride on the steps up to a token budget. A step lasts

    t_w + sum over running requests of (k x resident tokens + t_seq) + p x prefill tokens in the step

The figures are closed forms of that model. How far they are from a simulation of it is stated with `valid`; how far
the model is from hardware is not known to this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.formulas.replica.batch_levels import LEVELS, batch_levels
from gridplan.formulas.replica.decode_law import e2e_mixture, tpot_mixture
from gridplan.formulas.replica.decode_spread import decode_variance
from gridplan.formulas.replica.first_token import FirstToken, first_token, first_token_variance
from gridplan.formulas.replica.first_token_law import FirstTokenLaw, first_token_law
from gridplan.formulas.replica.gaps import GapLaw, gap_law
from gridplan.formulas.replica.goodput import goodput, met_shares
from gridplan.formulas.replica.mixture import Mixture, mixture_quantile
from gridplan.formulas.replica.prompt_groups import PromptGroups, prompt_groups
from gridplan.formulas.replica.slot_wait import SlotWait, slot_wait
from gridplan.formulas.replica.steady import Steady, ratio, steady, tpot_mean
from gridplan.formulas.replica.traffic import (
    Array,
    Traffic,
    by_class_last,
    read_traffic,
    traffic_mean,
)
from gridplan.formulas.replica.validity import LIMITS, REASONS, Validity, validity

__all__ = ["OperatingPoint", "operating_point", "point_of"]


@dataclass(frozen=True, eq=False)
class OperatingPoint:
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

    tpot_s: Array
    tpot_mean_s: Array
    batch_mean: Array
    ttft_s: Array
    e2e_s: Array
    ttft_by_class_s: Array
    e2e_by_class_s: Array
    wait_s: Array
    step_mean_s: Array
    busy: Array
    token_budget_share: Array
    slot_share: Array
    stable: npt.NDArray[np.bool_]
    valid: npt.NDArray[np.bool_]
    tpot_valid: npt.NDArray[np.bool_]
    ttft_valid: npt.NDArray[np.bool_]
    _load: Traffic = field(repr=False)
    _state: Steady = field(repr=False)
    _levels: list[Steady] = field(repr=False)
    _firsts: list[FirstToken] = field(repr=False)
    _groups: PromptGroups = field(repr=False)
    _ttft_mean: Array = field(repr=False)
    _wait: SlotWait = field(repr=False)
    _validity: Validity = field(repr=False)

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
    def _decode_variance(self) -> Array:
        with np.errstate(all="ignore"):
            return decode_variance(self._load, self._state)

    @cached_property
    def _ttft_law(self) -> FirstTokenLaw:
        with np.errstate(all="ignore"):
            return first_token_law(self._load, self._groups, self._levels, self._firsts, self._wait)

    @cached_property
    def _ttft_mixture(self) -> Mixture:
        return self._ttft_law.mixture()

    @cached_property
    def _ttft_variance(self) -> Array:
        """Over all levels of the batch, by class, without a wait for a slot [s^2]."""
        total: Array = np.zeros(())
        for (share, _), state, first in zip(LEVELS, self._levels, self._firsts, strict=True):
            total = total + share * (
                first_token_variance(self._load, state, first) + (first.mean - self._ttft_mean) ** 2
            )
        return total

    @cached_property
    def _gap_law(self) -> GapLaw:
        with np.errstate(all="ignore"):
            return gap_law(self._load, self._state, self._firsts[0])


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
        slots,
        arrival_rate,
        arrival_scv,
    )
    return point_of(load)


def point_of(load: Traffic) -> OperatingPoint:
    """The operating point of a load that was read before."""
    with np.errstate(all="ignore"):
        state = steady(load)
        levels = batch_levels(load, state)
        groups = prompt_groups(load)
        few = groups.load(load)
        firsts = [groups.spread(first_token(few, level)) for level in levels]
        wait = slot_wait(load, state)
        return _point(load, state, levels, firsts, groups, wait, validity(load, state, firsts, wait))


def _point(
    load: Traffic,
    state: Steady,
    levels: list[Steady],
    firsts: list[FirstToken],
    groups: PromptGroups,
    wait: SlotWait,
    bounds: Validity,
) -> OperatingPoint:
    mean: Array = sum((share * first.mean for (share, _), first in zip(LEVELS, firsts, strict=True)), np.zeros(()))
    tpot_shown, ttft_shown = np.where(bounds.tpot, 1.0, np.nan), np.where(bounds.ttft, 1.0, np.nan)
    ttft = (mean + wait.mean) * ttft_shown
    e2e = ttft + state.decode

    def lead(values: Any) -> Any:
        return np.broadcast_to(values, load.lead)

    return OperatingPoint(
        tpot_s=by_class_last(np.where(load.steps > 0.0, state.tpot, np.nan) * tpot_shown, load),
        tpot_mean_s=lead(tpot_mean(load, state.tpot) * tpot_shown),
        batch_mean=lead(state.batch * tpot_shown),
        ttft_s=lead(traffic_mean(load.weights, ttft)),
        e2e_s=lead(traffic_mean(load.weights, e2e)),
        ttft_by_class_s=by_class_last(ttft, load),
        e2e_by_class_s=by_class_last(e2e, load),
        wait_s=lead(wait.mean * ttft_shown),
        step_mean_s=lead(_step_mean(load, state) * tpot_shown),
        busy=lead(state.busy),
        token_budget_share=lead(firsts[0].budget_share),
        slot_share=lead(wait.share),
        stable=lead(bounds.limit == 0),
        valid=lead(bounds.percentiles),
        tpot_valid=lead(bounds.tpot),
        ttft_valid=lead(bounds.ttft),
        _load=load,
        _state=state,
        _levels=levels,
        _firsts=firsts,
        _groups=groups,
        _ttft_mean=mean,
        _wait=wait,
        _validity=bounds,
    )


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
