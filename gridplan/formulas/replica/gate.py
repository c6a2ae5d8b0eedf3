"""How many prompts one step carries, while the token budget holds all that arrived during the step before.

Step lengths are then a branching process with immigration: each prompt makes its step longer, and more prompts arrive
in it. The transform of the length is a product over generations (Athreya and Ney, Branching Processes, 1972, VI.7),
which gives the probabilities of no prompt and of one prompt exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridplan.formulas.replica.steady import ratio
from gridplan.formulas.replica.traffic import Array

__all__ = ["Carried", "prompts_in_a_step"]

GENERATIONS = 10
"""Generations that are summed one by one; the rest is close to a geometric series (policy)."""


@dataclass(frozen=True, eq=False)
class Carried:
    """P(none), P(exactly one, by class), P(several) [1]; mean and mean square of the prefill of several [s, s^2]."""

    none: Array
    one: Array
    several: Array
    mean: Array
    square: Array


def prompts_in_a_step(rate: Array, work: Array, cycle: Array) -> Carried:
    """Prompts that a step carries, for prompts of `work` [s] at `rate` [1/s], by class, and mean steps of `cycle` [s].

    With theta_0 = lam and theta_(i+1) = sum of lam_j (1 - exp(-theta_i s_j)), P(none) = exp(-V sum theta_i), where
    V = cycle (1 - lam E[s]) is a step without prompts; P(one of j) = lam_j E[T exp(-lam T)] is its derivative.

    Where prompts take no time their number is Poisson: half a prompt a step on average.

    >>> carried = prompts_in_a_step(np.array([5.0]), np.array([0.0]), np.array(0.1))
    >>> [round(float(x), 6) for x in (carried.none, carried.one[0], carried.several)]
    [0.606531, 0.303265, 0.090204]
    """
    busy = (rate * work).sum(axis=0)
    free = cycle * (1.0 - busy)
    arrivals = rate.sum(axis=0)
    theta, slope = arrivals, np.ones_like(arrivals)
    total, total_slope = theta, slope
    for _ in range(GENERATIONS):
        decay = rate * np.exp(-theta * work)
        theta, slope = arrivals - decay.sum(axis=0), slope * (work * decay).sum(axis=0)
        total, total_slope = total + theta, total_slope + slope
    later = busy / (1.0 - busy)
    total, total_slope = total + theta * later, total_slope + slope * later
    none = np.exp(-free * total)
    one = rate * (none * free * total_slope)
    several = np.maximum(1.0 - none - one.sum(axis=0), 0.0)
    all_work = busy * cycle
    variance = cycle * (rate * work * work).sum(axis=0) / (1.0 - busy * busy)
    mean = np.maximum(ratio(all_work - (one * work).sum(axis=0), several), 0.0)
    square = np.maximum(ratio(variance + all_work**2 - (one * work * work).sum(axis=0), several), mean * mean)
    return Carried(none, one, several, mean, square)
