"""Erlang's formulas for many servers, and what they say of the mean wait under general arrivals and service.

Servers are slots that each hold one request, so these queues fit replicas that are bound by their slots. Symbols: c
servers, a = rate times service time the offered load [Erlang], rho = a/c. The number of servers may be real: 1/B is
then the integral of e^-t (1 + t/a)^c over t from 0 on (Jagerman 1974), which is the usual sum where c is whole.

Sources: Erlang 1917; Loader 2000, "Fast and accurate computation of binomial probabilities", for the Poisson weight;
Legendre's continued fraction of the incomplete gamma function, DLMF 8.9.2; Allen 1990, "Probability, Statistics and
Queueing Theory", for the two moments of arrivals and service.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "allen_cunneen_wait_s",
    "blocking_share",
    "erlang_b",
    "erlang_c",
    "mmc_wait_s",
    "waiting_share",
]

_OVERLOAD_DEVIATIONS = 8.0
"""Standard deviations of load above the servers from which the continued fraction is used (policy)."""

_FRACTION_TERMS = 40
"""Terms of the continued fraction; from 8 deviations on, 25 of them reach the last bit of float64 (policy)."""


@formula
def erlang_b(servers: Value, offered_load: Value) -> Value:
    """Probability that all servers of M/M/c/c are taken [1].

    servers c [count, whole or real, >= 0], offered_load a [Erlang, >= 0]; outside the result is NaN. Any load, to a
    relative 1e-12 up to 1e6 servers; below 1e-300 the result is 0.

    >>> round(erlang_b(1, 1), 12), round(erlang_b(10, 5), 8), erlang_b(1, 999)
    (0.5, 0.01838457, 0.999)
    """
    return blocking_share(servers, offered_load)


@formula
def erlang_c(servers: Value, offered_load: Value) -> Value:
    """Probability that a request of M/M/c has to wait [1]: B / (1 - rho + rho B), and 1 from rho = 1 on.

    servers c [count, whole or real, > 0], offered_load a [Erlang, >= 0]; outside the result is NaN. The accuracy is
    that of `erlang_b`.

    >>> round(erlang_c(1, 0.7), 12), round(erlang_c(10, 5), 8), erlang_c(4, 4)
    (0.7, 0.03610536, 1.0)
    """
    return waiting_share(servers, offered_load)


@formula
def mmc_wait_s(arrival_rate: Value, servers: Value, service_s: Value) -> Value:
    """Mean wait of M/M/c: C(c, a) s / (c - a) with a = rate times service time [s]; infinite from a = c on.

    >>> round(mmc_wait_s(0.7, 1, 1.0), 6)
    2.333333
    """
    return _wait_s(arrival_rate, servers, service_s)


@formula
def allen_cunneen_wait_s(
    arrival_rate: Value, servers: Value, service_s: Value, arrival_scv: Value, service_scv: Value
) -> Value:
    """Mean wait of G/G/c, approximately: that of M/M/c times (ca2 + cs2) / 2 [s]; infinite from a = c on.

    arrival_scv ca2, service_scv cs2 [1] are squared coefficients of variation. Exact for M/M/c and, with one server,
    for Poisson arrivals and any service (Pollaczek-Khinchine). Else an estimate for high utilisation; simulated with
    gamma laws and up to 16 servers it is off by 10 % at rho 0.8 and 5 % at 0.9 for Poisson arrivals, by 27 % at 0.9 for
    arrivals of scv 1/4 to 4, and by a multiple at rho 0.5: regular arrivals hardly wait there, bursts do.

    >>> round(allen_cunneen_wait_s(0.45, 1, 2.0, 1.0, 0.0), 6), allen_cunneen_wait_s(0.5, 1, 2.0, 1.0, 0.0)
    (9.0, inf)
    """
    return _wait_s(arrival_rate, servers, service_s) * ((arrival_scv + service_scv) * 0.5)


def waiting_share(servers: Any, load: Any) -> Any:
    """Erlang C of plain arrays [1]; the kernel of `erlang_c` for the formulas that search in it."""
    blocked = blocking_share(servers, load)
    spare = (servers - load) / servers  # 1 - load / servers would cancel near saturation
    waiting = blocked / np.maximum(spare + (1.0 - spare) * blocked, np.finfo(np.float64).tiny)
    return np.where(servers > 0.0, np.where(load >= servers, 1.0, waiting), np.nan)


def _wait_s(arrival_rate: Any, servers: Any, service_s: Any) -> Any:
    load = arrival_rate * service_s
    return waiting_share(servers, load) * service_s / np.maximum(servers - load, 0.0)


def blocking_share(servers: Any, load: Any) -> Any:
    """Erlang B of plain arrays [1]; the kernel of `erlang_b` for the formulas that search in it."""
    from scipy import special  # loads slower than all the rest of a plan, which does without it

    c, a = np.broadcast_arrays(servers, load)
    blocked = _poisson_weight(c, a) / special.gammaincc(c + 1.0, a)
    # Far above c both the weight and the distribution up to c lose digits and then underflow.
    overload = a > c + _OVERLOAD_DEVIATIONS * np.sqrt(c + 1.0)
    if overload.any():
        blocked = np.where(overload, 0.0, blocked)
        blocked[overload] = _overloaded(c[overload], a[overload])
    return np.where((c >= 0.0) & (a >= 0.0), blocked, np.nan)


def _overloaded(c: Any, a: Any) -> Any:
    """B = (a - c + c / (a - c + 2 + 2 (c - 1) / (a - c + 4 + ...))) / a, from the innermost term outwards."""
    rest = 0.0
    for term in range(_FRACTION_TERMS, 0, -1):
        rest = term * (c + 1.0 - term) / (a - c + 2.0 * term + rest)
    return np.where(np.isinf(a), 1.0, (a - c + rest) / a)


def _poisson_weight(c: Any, a: Any) -> Any:
    """a^c e^-a / c!, by the saddle point for larger c: logarithms of large numbers would cancel.

    log weight = -h(a, c) - s(c) - log(2 pi c)/2 with h = a - c - c log(a/c) and s the error of Stirling's formula.
    """
    from scipy import special

    direct = np.exp(special.xlogy(c, a) - a - special.gammaln(c + 1.0))
    n = np.maximum(c, 15.0)
    d = (a - n) / n  # not a / n - 1, which loses the digits that a and n share
    v = d / (2.0 + d)
    v2 = v * v
    # d - log(1 + d) = d v - 2 (v^3/3 + v^5/5 + ...) without cancellation for small d
    series = v * v2 * (2 / 3 + v2 * (2 / 5 + v2 * (2 / 7 + v2 * (2 / 9 + v2 * (2 / 11 + v2 * (2 / 13 + v2 * 2 / 15))))))
    log_ratio = np.where(d < -0.5, np.log(a / n), np.log1p(d))  # each where it keeps its digits
    h = n * np.where(np.abs(d) < 0.1, d * v - series, d - log_ratio)
    m = 1.0 / (n * n)
    stirling = (1 / 12 - m * (1 / 360 - m * (1 / 1260 - m * (1 / 1680 - m / 1188)))) / n
    saddle = np.exp(-h - stirling) / np.sqrt(2.0 * np.pi * n)
    return np.where(c < 15.0, direct, saddle)
