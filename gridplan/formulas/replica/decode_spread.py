"""How much the decode time of requests of one class varies, because the batch they meet varies."""

from __future__ import annotations

import numpy as np

from gridplan.formulas.replica.batch_levels import cap_share
from gridplan.formulas.replica.steady import Steady, ratio
from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["amplification", "decode_variance"]


def amplification(busy_prefill: Array, growth: Array) -> Array:
    """J(rp, q) [1]: variance of the decode time of equal requests in units of its square over the batch, CV^2 = J/B.

    With q the decode share of the time that prefill leaves. Linear response of the batch to arrivals: every request
    slows those around it, which stay longer and slow others. For small q without prefill J is 2/3 q^2:

    >>> round(float(amplification(np.float64(0.0), np.float64(1e-3))) * 1e6, 2)
    0.67
    """
    left = 1.0 - busy_prefill
    # 2 (e^q - 1)/q = 2 + q + q^2/3 + ...: its first terms cancel against the others, which is why they are taken out.
    q = growth
    series = q * q * (1 / 3 + q * (1 / 12 + q * (1 / 60 + q * (1 / 360 + q / 2520))))
    tail = np.where(q > 0.05, 2.0 * ratio(np.expm1(q) - q - 0.5 * q * q, q), series)
    closed = (busy_prefill**2 + busy_prefill * q * left + q * q * left) / (left * left * (1.0 - q))
    out: Array = closed - tail / left
    return out


def decode_variance(load: Traffic, state: Steady) -> Array:
    """Variance of the decode time by class [s^2]: what single requests that overlap add, times the amplification."""
    rp, rd = state.busy_prefill, state.busy_decode
    growth = rd / np.where(rp < 1.0, 1.0 - rp, np.nan)
    small = rp * rp + rp * rd + 2.0 / 3.0 * rd * rd
    # Without load the ratio is 0/0 and its limit is 1.
    quiet = small < 1e-12
    factor = np.where(quiet, 1.0, amplification(rp, growth) / np.where(quiet, 1.0, small))
    second, first = zip(*(_overlap(load, j) for j in range(load.steps.shape[0])), strict=True)
    pulses = np.stack(np.broadcast_arrays(*second))
    extra = load.arrival_scv - 1.0
    if np.any(extra != 0.0):
        pulses = np.maximum(pulses + extra * np.stack(np.broadcast_arrays(*first)) ** 2, 0.0)
    token_step = ratio(traffic_mean(load.weights, state.decode), state.mean_steps)
    out: Array = load.rate * token_step * factor * pulses * _cap(load, state)
    return out


def _cap(load: Traffic, state: Steady) -> Array:
    left = 1.0 - state.busy_prefill
    fano = (load.arrival_scv + load.rate**2 * state.prefill_variance) / (left * (1.0 - state.busy))
    return cap_share(load, state, fano * state.batch_free)


def _overlap(load: Traffic, j: int) -> tuple[Array, Array]:
    """E[pulse^2] and E[pulse] over all ways in which a request i overlaps one of class j, each a pulse of added time.

    The prefill of i hits once; its decode steps overlap those of j in at most m = min(n_i, n_j) steps.
    """
    n, s, c = load.steps, load.prefill, load.context
    mine = np.broadcast_to(n[j], n.shape[1:])
    least, most = np.minimum(mine, n), np.maximum(mine, n)
    inner = np.maximum(most - least / 3.0, 0.0)
    second = mine * s * s + s * c * least * least + c * c * least * least * inner
    first = s * np.sqrt(mine) + c * least * np.sqrt(inner)
    return traffic_mean(load.weights, second), traffic_mean(load.weights, first)
