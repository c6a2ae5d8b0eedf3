"""Mean time per output token and mean batch of a replica that serves requests as they come.

A step lasts t_w + (what each running request adds) + (what new prompts add), and how many requests run depends on how
long steps last. With linear step times that fixed point has a closed form. Requests see more than the average step:
long answers meet full batches, and prompts that arrive together make batches that stay together. Sources: Little 1961
for the fixed point; processor sharing with a rate that depends on the state (Cohen 1979, doi:10.1007/BF00264533) for
its solution without prefill, a negative binomial batch; shot noise for the clustering of arrivals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["Steady", "ratio", "steady", "tpot_mean"]


@dataclass(frozen=True, eq=False)
class Steady:
    """Means of one replica, class axis first where there is one; NaN where time has no room (busy >= 1).

    busy [1] time share that grows with traffic: busy_prefill and busy_decode; shared [s] mean time that the other
    running requests add to a step, as a request sees it; tpot [s by class]; decode [s by class] n x tpot; batch
    [sequences]; batch_free and shared_free, the same if no cap of slots bound; mean_steps [1], mean_prefill,
    mean_decode, mean_context [s] over requests; empty [1] P(no request).
    """

    busy: Array
    busy_prefill: Array
    busy_decode: Array
    clustering: Array
    prefill_variance: Array
    mean_steps: Array
    mean_prefill: Array
    mean_decode: Array
    mean_context: Array
    shared: Array
    tpot: Array
    decode: Array
    batch: Array
    batch_free: Array
    shared_free: Array
    empty: Array


def steady(load: Traffic) -> Steady:
    """M = (lam E[D] t_w + lam E[D c] + c (1 - rp)(g - 1))/(1 - busy), TPOT = (t_w + c + M)/(1 - rp), B = lam E[n TPOT].

    D = n c [s] is the decode work of a request, c what it adds to a step, c = E[D]/E[n] over token steps, rp the time
    share of prefill and g = (ca2 + lam^2 Var s)/(1 - rp)^2 the clustering of requests that leave prefill together.
    """
    lam, w = load.rate, load.weights
    work = load.steps * load.context
    mean_steps, mean_prefill = traffic_mean(w, load.steps), traffic_mean(w, load.prefill)
    mean_decode = traffic_mean(w, work)
    spread = load.prefill - mean_prefill
    variance = traffic_mean(w, spread * spread)
    busy_prefill, busy_decode = lam * mean_prefill, lam * mean_decode
    busy = busy_prefill + busy_decode
    room = np.where(busy < 1.0, 1.0 - busy, np.nan)
    left = 1.0 - busy_prefill
    mean_context = ratio(mean_decode, mean_steps)
    # Few requests at a time hardly meet: how arrivals cluster shows in the batch as far as one holds several.
    several = -np.expm1(-lam * mean_steps * (load.step + mean_context) / np.where(left > 0.0, left, np.nan))
    clustering = (1.0 + (load.arrival_scv - 1.0) * several + lam * lam * variance) / (left * left)
    shared = busy_decode * load.step + lam * traffic_mean(w, work * load.context)
    # Nothing runs at rate 0, so nothing can cluster there.
    shared = np.maximum(shared + np.where(lam > 0.0, mean_context * left * (clustering - 1.0), 0.0), 0.0) / room
    tpot = (load.step + load.context + shared) / left
    # The cycle that carries a request's own prefill admits more prompts than others do.
    tpot = tpot + ratio((busy_prefill / left) * load.prefill, load.steps)
    batch_free, shared_free = lam * traffic_mean(w, load.steps * tpot), shared
    if load.held is not None:
        full = mean_context * load.held
        tpot = np.minimum(tpot, (load.step + full) / np.where(busy < 1.0, left, np.nan))
        shared = np.minimum(shared, full)
    decode = load.steps * tpot
    batch = lam * traffic_mean(w, decode)
    return Steady(
        busy=busy,
        busy_prefill=busy_prefill,
        busy_decode=busy_decode,
        clustering=clustering,
        prefill_variance=variance,
        mean_steps=mean_steps,
        mean_prefill=mean_prefill,
        mean_decode=mean_decode,
        mean_context=mean_context,
        shared=shared,
        tpot=tpot,
        decode=decode,
        batch=batch,
        batch_free=batch_free,
        shared_free=shared_free,
        # Without prefill requests come as if alone (M/G/inf), prefill alone is one server.
        empty=left * np.exp(-batch_free),
    )


def ratio(above: Array, below: Array) -> Array:
    """above / below, and 0 where below is 0: shares of requests that do not decode, and the like."""
    out: Array = np.where(below != 0.0, above / np.where(below != 0.0, below, 1.0), 0.0)
    return out


def tpot_mean(load: Traffic, tpot: Array) -> Array:
    """Mean of TPOT by class [s] over requests of more than one output token; NaN where there are none."""
    decodes = np.where(load.steps > 0.0, load.weights, 0.0)
    share = traffic_mean(decodes, np.ones(1))
    mean = traffic_mean(decodes, np.where(load.steps > 0.0, tpot, 0.0))
    return np.where(share > 0.0, ratio(mean, share), np.nan)
