"""Waiting at one server: the utilisation wall of M/M/1 and Kingman's wait for general arrivals and service.

Replicas that batch are not servers of these queues (a step slows down instead of a request waiting), so plans use them
as measures of headroom, not as latencies. Source: "Sizing a Serving Cluster End to End" (the wall); Kingman 1961,
doi:10.1017/S0305004100036094. Many servers are in `erlang`.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "burst_ratio",
    "kingman_wait_s",
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
def kingman_wait_s(rho: Value, arrival_scv: Value, service_scv: Value, service_s: Value) -> Value:
    """Mean wait of G/G/1, an upper figure in heavy traffic: rho / (1 - rho) (ca2 + cs2) / 2 s [s].

    arrival_scv, service_scv [1] are squared coefficients of variation. Both 1 is M/M/1:

    >>> round(kingman_wait_s(0.9, 1.0, 1.0, 2.0), 6), round(kingman_wait_s(0.9, 1.0, 0.0, 2.0), 6)
    (18.0, 9.0)
    """
    return rho / np.maximum(1.0 - rho, 0.0) * ((arrival_scv + service_scv) * 0.5) * service_s
