"""Regret on plain arrays: groups x states of the world x options; infinity where an option fails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "information", "regret_of", "tail"]

Array = NDArray[np.float64]


def regret_of(values: Array) -> Array:
    """What each option costs above the best one of its state; NaN in states where every option fails.

    >>> regret_of(np.array([[[4.0, 6.0], [9.0, 5.0]]])).tolist()
    [[[0.0, 2.0], [4.0, 0.0]]]
    """
    best = values.min(axis=2, keepdims=True, initial=np.inf)
    served = np.isfinite(best)
    regret: Array = np.where(served, values - np.where(served, best, 0.0), np.nan)
    return regret


def tail(values: Array, weights: Array, share: float) -> Array:
    """The least value that with its lower ones weighs at least `share`, along the states (axis 1).

    `weights` are states of each group, summing to 1; a state of weight 0 never decides.

    >>> tail(np.array([[[3.0], [1.0], [2.0], [9.0]]]), np.full((1, 4), 0.25), 0.75).tolist()
    [[3.0]]
    """
    found = np.empty((values.shape[0], values.shape[2]))
    for group, (own, weight) in enumerate(zip(values, weights, strict=True)):
        order = own.argsort(axis=0, kind="stable")
        reached = weight[order].cumsum(axis=0) >= share - 1e-12
        place = reached.argmax(axis=0)
        found[group] = own[order[place, np.arange(own.shape[1])], np.arange(own.shape[1])]
    return found


def information(values: Array, weights: Array, eligible: NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
    """The expected best with perfect information, the same among `eligible` options, the best expected value of these,
    and each option's expected value (NaN where not eligible); by group.

    `eligible` are options with a value in every state that counts. Whoever knows the state picks its best option;
    whoever does not picks one of them for all states. The difference is what the knowledge is worth at most.

    >>> values = np.array([[[4.0, 6.0], [9.0, 5.0]]])
    >>> perfect, among, choice, _ = information(values, np.full((1, 2), 0.5), np.ones((1, 2), bool))
    >>> float(choice[0] - perfect[0])  # min(6.5, 5.5) - (4 + 5) / 2
    1.0
    """
    known = np.where((weights[:, :, np.newaxis] > 0) & np.isfinite(values), values, 0.0)
    best = np.where(weights > 0, values.min(axis=2, initial=np.inf), 0.0)
    own = np.where(eligible[:, None, :], values, np.inf).min(axis=2, initial=np.inf)
    some = np.logical_or.reduce(eligible, axis=1)
    among = np.where(some[:, None] & (weights > 0), own, 0.0)
    expected: Array = np.where(eligible, np.einsum("gs,gso->go", weights, known), np.nan)
    any_state = weights.sum(axis=1) > 0
    perfect = np.where(any_state, (weights * best).sum(axis=1), np.nan)
    robust = np.where(some, (weights * among).sum(axis=1), np.nan)
    low = np.where(np.isnan(expected), np.inf, expected).min(axis=1, initial=np.inf)
    return perfect, robust, np.where(some, low, np.nan), expected
