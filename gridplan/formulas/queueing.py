"""Waiting: the utilisation wall of one server, Erlang's formulas for many, Kingman's for general arrivals.

Replicas that batch are not servers of these queues (a step slows down instead of a request waiting), so plans use them
as measures of headroom, not as latencies. Source: "Sizing a Serving Cluster End to End" (the wall); Kingman 1961,
doi:10.1017/S0305004100036094; Erlang 1917; Loader 2000, "Fast and accurate computation of binomial probabilities", for
the Poisson weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "burst_ratio",
    "erlang_b",
    "erlang_c",
    "kingman_wait_s",
    "mmc_wait_s",
    "queue_factor",
    "queue_growth",
]


@formula
def queue_factor(rho: Value) -> Value:
    """Mean wait of M/M/1 in units of the service time: rho / (1 - rho) [1]; infinite from rho = 1 on.

    >>> round(queue_factor(0.7), 4), round(queue_factor(0.9), 4)
    (2.3333, 9.0)
    """
    return rho / np.maximum(1.0 - rho, 0.0)


@formula
def queue_growth(rho_from: Value, rho_to: Value) -> Value:
    """Factor by which the M/M/1 wait grows between two utilisations [1].

    >>> round(queue_growth(0.7, 0.9), 3)
    3.857
    """
    return (rho_to / np.maximum(1.0 - rho_to, 0.0)) / (rho_from / np.maximum(1.0 - rho_from, 0.0))


@formula
def burst_ratio(rho: Value, burst: Value) -> Value:
    """Factor by which the M/M/1 wait grows when the load rises by the factor `burst` [1].

    >>> round(burst_ratio(0.9, 1.1), 6), round(burst_ratio(0.7, 1.1), 4)
    (11.0, 1.4348)
    """
    # The rho of numerator and denominator cancels, which also gives the limit at rho = 0.
    return burst * np.maximum(1.0 - rho, 0.0) / np.maximum(1.0 - rho * burst, 0.0)


@formula
def erlang_b(servers: Value, offered_load: Value) -> Value:
    """Probability that all servers of M/M/c/c are taken [1].

    servers [whole count], offered_load a [Erlang, rate times service time]. Computed as the Poisson weight of c over
    the Poisson distribution up to c, within 1e-12 up to 100,000 servers, and by its series in heavy overload.

    >>> round(erlang_b(1, 1), 12), round(erlang_b(10, 5), 8)
    (0.5, 0.01838457)
    """
    return _erlang_b(servers, offered_load)


@formula
def erlang_c(servers: Value, offered_load: Value) -> Value:
    """Probability that a request of M/M/c has to wait [1]: B / (1 - rho + rho B), and 1 from rho = 1 on.

    >>> round(erlang_c(1, 0.7), 12), round(erlang_c(10, 5), 8), erlang_c(4, 4)
    (0.7, 0.03610536, 1.0)
    """
    return _erlang_c(servers, offered_load)


@formula
def mmc_wait_s(arrival_rate: Value, servers: Value, service_s: Value) -> Value:
    """Mean wait of M/M/c: C(c, a) s / (c - a) with a = rate times service time [s]; infinite from a = c on.

    >>> round(mmc_wait_s(0.7, 1, 1.0), 6)
    2.333333
    """
    load = arrival_rate * service_s
    return _erlang_c(servers, load) * service_s / np.maximum(servers - load, 0.0)


@formula
def kingman_wait_s(rho: Value, arrival_scv: Value, service_scv: Value, service_s: Value) -> Value:
    """Mean wait of G/G/1, an upper figure in heavy traffic: rho / (1 - rho) (ca2 + cs2) / 2 s [s].

    arrival_scv, service_scv [1] are squared coefficients of variation. Both 1 is M/M/1:

    >>> round(kingman_wait_s(0.9, 1.0, 1.0, 2.0), 6), round(kingman_wait_s(0.9, 1.0, 0.0, 2.0), 6)
    (18.0, 9.0)
    """
    return rho / np.maximum(1.0 - rho, 0.0) * ((arrival_scv + service_scv) * 0.5) * service_s


def _erlang_c(servers: Any, load: Any) -> Any:
    rho = load / servers
    blocked = _erlang_b(servers, load)
    waiting = blocked / np.maximum(1.0 - rho + rho * blocked, np.finfo(np.float64).tiny)
    return np.where(rho >= 1.0, 1.0, waiting)


def _erlang_b(servers: Any, load: Any) -> Any:
    from scipy import special  # loads slower than all the rest of a plan, which does without it

    servers, load = np.broadcast_arrays(servers, load)
    blocked = _poisson_weight(servers, load) / special.gammaincc(servers + 1.0, load)
    # Far above c the distribution up to c underflows; there 1/B is a short series.
    overload = load > servers + 30.0 * np.sqrt(servers + 1.0)
    if overload.any():
        blocked = np.where(overload, 0.0, blocked)
        blocked[overload] = 1.0 / _overload_series(servers[overload], load[overload])
    return blocked


def _overload_series(servers: npt.NDArray[np.float64], load: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """1/B = sum over j of c! / ((c - j)! a^j): falls faster than (c/a)^j, so it is short when a is far above c."""
    term, total, left = np.ones_like(load), np.ones_like(load), servers.copy()
    while np.any(term > 1e-17 * total):
        term = term * np.maximum(left, 0.0) / load
        total += term
        left -= 1.0
    return total


def _poisson_weight(c: Any, a: Any) -> Any:
    """a^c e^-a / c!, by the saddle point for larger c: logarithms of large numbers would cancel.

    log weight = -h(a, c) - s(c) - log(2 pi c)/2 with h = a - c - c log(a/c) and s the error of Stirling's formula.
    """
    from scipy import special

    direct = np.exp(special.xlogy(c, a) - a - special.gammaln(c + 1.0))
    n = np.maximum(c, 15.0)
    d = a / n - 1.0
    v = d / (2.0 + d)
    v2 = v * v
    # d - log(1 + d) = d v - 2 (v^3/3 + v^5/5 + ...) without cancellation for small d
    series = v * v2 * (2 / 3 + v2 * (2 / 5 + v2 * (2 / 7 + v2 * (2 / 9 + v2 * (2 / 11 + v2 * (2 / 13 + v2 * 2 / 15))))))
    h = n * np.where(np.abs(d) < 0.1, d * v - series, d - np.log1p(d))
    m = 1.0 / (n * n)
    stirling = (1 / 12 - m * (1 / 360 - m * (1 / 1260 - m * (1 / 1680 - m / 1188)))) / n
    saddle = np.exp(-h - stirling) / np.sqrt(2.0 * np.pi * n)
    return np.where(c < 15.0, direct, saddle)
