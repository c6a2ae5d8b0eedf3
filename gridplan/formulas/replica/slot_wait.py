"""Waits for a slot where the KV pool caps the number of sequences in flight.

The number of requests in a replica without a cap is close to negative binomial; beyond the cap it falls geometrically
with the ratio x of arrival rate to the rate at the cap, as in M/M/c. With a step that other sequences do not lengthen
the law is Erlang's C formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridplan.formulas.replica.steady import Steady, ratio
from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["SlotWait", "slot_share", "slot_wait"]


@dataclass(frozen=True, eq=False)
class SlotWait:
    """share x [1] of the rate at the cap; probability [1] that a request waits; time_s [s] mean of waits that occur."""

    share: Array
    probability: Array
    time_s: Array

    @property
    def mean(self) -> Array:
        """Mean wait over all requests [s]."""
        out: Array = self.probability * self.time_s
        return out


def slot_wait(load: Traffic, state: Steady) -> SlotWait:
    """P(wait) and the exponential wait; with no cap all are 0, from x = 1 on NaN."""
    if load.slots is None:
        none = np.zeros(())
        return SlotWait(none, none, none)
    from scipy import special

    cap, lam = load.slots, load.rate
    left = np.where(state.busy_prefill < 1.0, 1.0 - state.busy_prefill, np.nan)
    service = _service(load, state, cap)
    share = lam * service / cap
    room = np.where(share < 1.0, 1.0 - share, np.nan)

    # A request holds its slot from the step that takes up its prompt.
    mean = state.batch_free + lam * traffic_mean(load.weights, load.step + state.shared_free + load.prefill)
    fano = (load.arrival_scv + lam * lam * state.prefill_variance) / (
        left * np.where(state.busy < 1.0, 1.0 - state.busy, np.nan)
    )
    q = 1.0 - 1.0 / np.maximum(fano, 1.0 + 1e-9)
    size = np.maximum(mean * (1.0 - q) / q, 1e-300)
    body = special.betainc(size, np.maximum(cap, 1.0), 1.0 - q)
    log_top = special.gammaln(cap + size) - special.gammaln(size) - special.gammaln(cap + 1.0)
    top = np.exp(log_top + cap * np.log(q) + size * np.log1p(-q)) / room
    # Both underflow where the batch without a cap is far above it.
    probability = np.where(body + top == 0.0, 1.0, top / (body + top))
    residence = load.steps * (load.step + load.context * cap) / left + load.prefill
    spread = _holding_scv(load, residence)
    # M/D/c waits more than half as long as M/M/c, the more so the fewer stand in line (Cosmetatos 1975).
    extra = (1.0 - share) * (cap - 1.0) * (np.sqrt(4.0 + 5.0 * cap) - 2.0) / (16.0 * np.maximum(share, 1e-3) * cap)
    even = np.maximum(1.0 - spread, 0.0) * 0.5 * np.minimum(extra, 1.0)
    return SlotWait(share, probability, service / (cap * room) * ((1.0 + spread) / 2.0 + even))


def slot_share(load: Traffic, state: Steady) -> Array:
    """Rate over the rate at the cap [1]; 0 without a cap, infinite where prompts alone take all the time."""
    if load.slots is None:
        return np.zeros(())
    taken = np.where(state.busy_prefill < 1.0, _service(load, state, load.slots), np.inf)
    out: Array = np.where(load.rate > 0.0, load.rate * taken / load.slots, 0.0)
    return out


def _service(load: Traffic, state: Steady, cap: Array) -> Array:
    """Time that a request holds its slot beside `cap - 1` others [s]."""
    left = np.where(state.busy_prefill < 1.0, 1.0 - state.busy_prefill, np.nan)
    out: Array = state.mean_steps * (load.step + state.mean_context * cap) / left + state.mean_prefill
    return out


def _holding_scv(load: Traffic, residence: Array) -> Array:
    """Squared coefficient of variation of tokens held times the time they are held, over requests [1]."""
    held = (load.prompt + load.output) * residence
    mean = traffic_mean(load.weights, held)
    out: Array = ratio(traffic_mean(load.weights, (held - mean) ** 2), mean * mean)
    return out
