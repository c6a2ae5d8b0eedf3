"""How many servers a load needs: the least number for a probability of blocking or waiting, and the square-root rule.

The probabilities are those of `erlang`; symbols as there. Sources: Halfin and Whitt 1981, doi:10.1287/opre.29.3.567,
for the limit of many servers; its next term is derived here from the expansion of Erlang C in Janssen, van Leeuwaarden
and Zwart 2011, doi:10.1287/opre.1110.0991.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count, formula
from gridplan.formulas._types import Value
from gridplan.formulas.erlang import blocking_share, waiting_share

__all__ = ["halfin_whitt_c", "mmc_servers_needed", "mmcc_servers_needed", "square_root_staffing"]

_TARGET_GUARD = 1e-12
"""Share by which a probability may exceed its target and still meet it: the rounding of the probability (policy)."""

_BISECTIONS = 64
"""Halvings that reach the last bit of a float64 (fact)."""

_MAX_SAFETY = 39.0
"""Standard deviations of safety above which every probability of waiting underflows (fact: phi(39) < 1e-300)."""


@count
def mmc_servers_needed(offered_load: Value, wait_probability: Value) -> Value:
    """Least number of servers at which a request of M/M/c waits with at most the stated probability [count].

    offered_load a [Erlang, >= 0], wait_probability [1, above 0 and up to 1]; outside the result is NaN. Always more
    servers than load, so that the queue is stable, and at least 1. Exact to a relative 1e-12 of the probability.

    >>> mmc_servers_needed(0.7, 0.7), mmc_servers_needed(5, 0.04), mmc_servers_needed(100, 1)
    (1, 10, 101)
    """
    return _least(waiting_share, offered_load, wait_probability, np.floor(offered_load))


@count
def mmcc_servers_needed(offered_load: Value, blocking_probability: Value) -> Value:
    """Least number of servers at which M/M/c/c turns away at most the stated share of the requests [count].

    offered_load a [Erlang, >= 0], blocking_probability [1, above 0 and up to 1]; outside the result is NaN. At least 1.
    Exact to a relative 1e-12 of the probability.

    >>> mmcc_servers_needed(1, 0.5), mmcc_servers_needed(5, 0.02)
    (1, 10)
    """
    return _least(blocking_share, offered_load, blocking_probability, 0.0 * offered_load)


@formula
def halfin_whitt_c(servers: Value, offered_load: Value) -> Value:
    """Erlang C in the limit of many servers: 1 / (1 + beta Phi(beta) / phi(beta)), beta = (1 - rho) sqrt(c) [1].

    servers c [count, > 0], offered_load a [Erlang, >= 0]; 1 from rho = 1 on. Only near saturation: with 50
    servers within 1 % from rho = 0.9 on, 16 % too high at 0.8 and 30 times at 0.5. Use `erlang_c` for a figure.

    >>> round(halfin_whitt_c(100, 90), 3), halfin_whitt_c(4, 4)
    (0.223, 1.0)
    """
    safety = np.maximum(servers - offered_load, 0.0) / np.sqrt(servers)
    return np.where(servers > 0.0, _delay(safety), np.nan)


@formula
def square_root_staffing(offered_load: Value, wait_probability: Value) -> Value:
    """Servers for a probability of waiting by the corrected square-root rule: a + beta sqrt(a) + delta [count, real].

    offered_load a [Erlang, > 0], wait_probability [1, between 0 and 1]; outside the result is NaN. beta solves
    1 / (1 + beta m) = wait_probability with m = Phi(beta) / phi(beta), and
    delta = (beta/3 + beta^2 m/2 + beta^3/6 + beta^4 m/6) / (m + beta + beta^2 m).

    For loads from 1 and probabilities from 1e-4 to 0.99 it lies above the least real number of servers by at most 0.45,
    by 0.2 from load 10 and 0.08 from load 100; rounded up it is `mmc_servers_needed` or one more, never fewer.

    >>> round(square_root_staffing(100, 0.2), 2), mmc_servers_needed(100, 0.2)
    (111.0, 111)
    """
    return _corrected(offered_load, wait_probability)


def _least(probability: Callable[[Any, Any], Any], load: Any, target: Any, below: Any) -> Any:
    """The least whole c above `below`, which itself misses the target, at which the probability meets it."""
    load, target, low = np.broadcast_arrays(load, target, below)
    sought = (load >= 0.0) & np.isfinite(load) & (target > 0.0) & (target <= 1.0)
    load, goal = np.where(sought, load, 0.0), np.where(sought, target, 1.0) * (1.0 + _TARGET_GUARD)
    low = np.where(sought, low, 0.0)
    reach = 4.0 * np.sqrt(load) + 4.0
    high = np.floor(load) + np.ceil(reach)
    while np.any(missed := probability(high, load) > goal):
        reach = reach * 2.0
        high = np.where(missed, np.floor(load) + np.ceil(reach), high)
    for _ in range(_BISECTIONS):
        if not np.any(high - low > 1.0):
            break
        middle = np.floor(low + (high - low) * 0.5)
        met = probability(np.maximum(middle, 1.0), load) <= goal
        inside = (middle > low) & (middle < high)
        high = np.where(met & inside, middle, high)
        low = np.where(~met & inside, middle, low)
    return np.where(sought, high, np.nan)


def _delay(safety: Any) -> Any:
    """Halfin and Whitt's probability of waiting at a safety of so many standard deviations."""
    density, below = _normal(safety)
    return density / (density + safety * below)


def _normal(x: Any) -> tuple[Any, Any]:
    from scipy import special  # loads slower than all the rest of a plan, which does without it

    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi), special.ndtr(x)


def _corrected(load: Any, target: Any) -> Any:
    load, target = np.broadcast_arrays(load, target)
    low, high = np.zeros_like(target), np.full_like(target, _MAX_SAFETY)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        above = _delay(middle) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    beta = 0.5 * (low + high)
    density, below = _normal(beta)
    b2 = beta * beta
    more = beta * density * (1 / 3 + b2 / 6) + b2 * below * (1 / 2 + b2 / 6)
    servers = load + beta * np.sqrt(load) + more / (below + beta * density + b2 * below)
    return np.where((load > 0.0) & (target > 0.0) & (target < 1.0), servers, np.nan)
