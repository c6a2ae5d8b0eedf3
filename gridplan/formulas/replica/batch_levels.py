"""The number of running requests moves slowly, and the wait for a first token follows it: three levels stand for it.

A full batch makes steps longer and leaves less of the token budget to prompts, so a prompt that comes then waits much
longer than one at the mean batch. The levels are the three nodes of Gauss-Hermite quadrature: exact for the mean, the
variance and the fourth moment of a normal batch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridplan.formulas.replica.steady import Steady
from gridplan.formulas.replica.traffic import Array, Traffic

__all__ = ["LEVELS", "batch_levels", "batch_variance", "cap_share"]

LEVELS = ((2.0 / 3.0, 0.0), (1.0 / 6.0, -(3.0**0.5)), (1.0 / 6.0, 3.0**0.5))
"""Weight and distance from the mean in standard deviations (fact: nodes of the third Hermite polynomial)."""


def batch_variance(load: Traffic, state: Steady) -> Array:
    """Variance of the number of running requests: the Fano factor of linear response times the mean, cut by the cap."""
    left = 1.0 - state.busy_prefill
    fano = (load.arrival_scv + load.rate**2 * state.prefill_variance) / (left * (1.0 - state.busy))
    free = fano * state.batch_free
    out: Array = free * cap_share(load, state, free)
    return out


def cap_share(load: Traffic, state: Steady, variance: Array) -> Array:
    """Share of the variance of a normal batch that is left when it cannot exceed the slots [1]."""
    if load.held is None:
        return np.ones(())
    from scipy import special

    room = (load.held - state.batch_free) / np.sqrt(np.maximum(variance, 1e-300))
    room = np.clip(room, -8.0, 8.0)
    above = special.ndtr(-room)
    density = np.exp(-0.5 * room * room) * 0.3989422804014327
    mean = room * above - density
    out: Array = np.maximum(1.0 - above - room * density + room * room * above - mean * mean, 0.0)
    return out


def batch_levels(load: Traffic, state: Steady) -> list[Steady]:
    """The replica at each level, in the order of `LEVELS`; at small batches the lowest level is an empty one."""
    deviation = np.minimum(np.sqrt(batch_variance(load, state)), state.batch / LEVELS[2][1])
    out = []
    for _, distance in LEVELS:
        batch = state.batch + distance * deviation
        if load.held is not None:
            batch = np.minimum(batch, load.held)
        shared = np.maximum(state.shared + state.mean_context * (batch - state.batch), 0.0)
        out.append(replace(state, batch=batch, shared=shared))
    return out
