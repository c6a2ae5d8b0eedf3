"""Replicas that a load needs, and how busy, fast and full they are at the planned point.

Source: "Sizing a Serving Cluster End to End" for R = ceil(lam W / (rho L)); "Inference system design chains" for
replica-seconds, busy share, burst and cold-start headroom; "Capacity Planning: From Traffic Profile to GPU Count",
section 4. Spares are in `redundancy`, nodes in `nodes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import count, formula
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact

__all__ = [
    "batch_mean",
    "burst_to_slo",
    "busy",
    "carries",
    "cold_start_headroom",
    "demand",
    "holds",
    "implied_tpot_s",
    "replicas_active",
    "replicas_cold_start",
    "replicas_fractional",
    "replicas_needed",
    "utilization",
]

HOLDS_TOLERANCE = 1e-12
"""Relative rounding error that does not break a comparison of a load with a capacity (policy)."""


@count
def replicas_needed(lam: Value, W: Value, rho_target: Value, concurrency: Value) -> Value:
    """Replicas for a load at a mean latency: R = ceil(lam W / (rho L)) [count], L taken as given.

    lam [req/s], W [s], rho_target [1], concurrency L [sequences].

    >>> replicas_needed(500, 4, 0.7, 72), replicas_needed(900, 5, 0.65, 66)
    (40, 105)
    """
    return ceil_exact(lam * W / (rho_target * concurrency))


@count
def replicas_active(arrival_rate: Value, lambda_safe: Value) -> Value:
    """Replicas that carry the load: ceil(arrival_rate / lambda_safe) [count], both in req/s.

    Exact on decimal inputs: 21 req/s at 0.7 of 1 req/s is 30, where a plain ceil gives 31.

    >>> replicas_active(60, 10 * 0.7), replicas_active(21, 1 * 0.7)
    (9, 30)
    """
    return ceil_exact(arrival_rate / lambda_safe)


@formula
def utilization(arrival_rate: Value, replicas_count: Value, lambda_rate: Value) -> Value:
    """Share of a fleet's rate that the load takes: arrival_rate / (n lambda) [1]; name which lambda is meant.

    The same surge on 16 GPUs is 80% of the safe rate (7.0) and 56% of the rate at the SLO edge (10.0):

    >>> round(utilization(90, 16, 7.0), 3), round(utilization(90, 16, 10.0), 4)
    (0.804, 0.5625)
    """
    return arrival_rate / (replicas_count * lambda_rate)


@formula
def burst_to_slo(arrival_rate: Value, replicas_active: Value, lambda_instance: Value) -> Value:
    """Factor by which the load may rise before a limit breaks: n lambda_instance / arrival_rate [1].

    >>> round(burst_to_slo(200, 34, 9.3097), 3)
    1.583
    """
    return replicas_active * lambda_instance / arrival_rate


@formula
def busy(arrival_rate: Value, replicas_active: Value, request_work_s: Value) -> Value:
    """Share of a replica's time spent on work that grows with traffic: arrival_rate d / n [1].

    >>> round(busy(200, 34, 0.0923288), 4)
    0.5431
    """
    return arrival_rate * request_work_s / replicas_active


@formula
def implied_tpot_s(step_weights_s: Value, busy: Value) -> Value:
    """Mean time per output token of a replica that is busy so much: t_w / (1 - busy) [s]; infinite from 1 on.

    >>> round(implied_tpot_s(0.00702, 0.5431) * 1e3, 2)
    15.36
    """
    return step_weights_s / np.maximum(1.0 - busy, 0.0)


@formula
def batch_mean(arrival_rate: Value, replicas_active: Value, output_tokens_mean: Value, tpot_s: Value) -> Value:
    """Sequences that decode together in one replica, by Little's law: arrival_rate / n O TPOT [sequences].

    >>> round(batch_mean(200, 34, 300, 0.015364), 1)
    27.1
    """
    return arrival_rate / replicas_active * output_tokens_mean * tpot_s


@formula
def demand(arrival_rate: Value, work_s: Value) -> Value:
    """Replica time asked for per second: arrival_rate times the work of a request [replica-s/s].

    >>> round(demand(200, 2000 * 35.649318e-6), 2)
    14.26
    """
    return arrival_rate * work_s


@formula
def replicas_fractional(demand: Value, share: Value, rho_target: Value) -> Value:
    """Replicas before rounding up: demand / (share rho) [replicas].

    share [1] is what the TPOT limit leaves of a replica, rho_target [1] the planned part of that.

    >>> round(replicas_fractional(18.46577, 0.8595977, 0.65), 2)
    33.05
    """
    return demand / (share * rho_target)


@formula
def cold_start_headroom(ramp_per_s: Value, lead_s: Value) -> Value:
    """Load that arrives while a replica starts: ramp times lead time [req/s].

    ramp_per_s [req/s per s] is the steepest rise, lead_s [s] detection, scheduling and loading together.

    >>> round(cold_start_headroom(1 / 60, 6 * 60), 9)
    6.0
    """
    return ramp_per_s * lead_s


@count
def replicas_cold_start(load: Value, headroom: Value, rate_per_replica: Value) -> Value:
    """Replicas to keep running at a load: ceil((load + headroom) / rate) [count], all in req/s.

    `rate_per_replica` is the planned rate; when it is lambda_safe already, rho_target must not be applied again.

    >>> replicas_cold_start(200, 6, 7.386)
    28
    """
    return ceil_exact((load + headroom) / rate_per_replica)


@formula
def holds(arrival_rate: Value, replicas_left: Value, lambda_rate: Value) -> Value:
    """1.0 where the replicas left carry the load at that rate each, 0.0 where not, NaN where a value is NaN.

    With lambda_safe it asks for the headroom, with lambda_instance for the limits. Equality within a relative 1e-12
    holds. Eight GPUs that a lost node leaves of sixteen, at 60 req/s:

    >>> holds(60, 8, 7.0), holds(60, 8, 10.0)
    (0.0, 1.0)
    """
    return carries(arrival_rate, replicas_left * lambda_rate)


def carries(arrival_rate: Any, capacity: Any) -> Any:
    """The kernel of `holds` for a capacity that is known already [req/s].

    >>> carries(np.array([60.0, 60.0]), np.array([56.0, 80.0])).tolist()
    [0.0, 1.0]
    """
    carried = arrival_rate <= capacity * (1.0 + HOLDS_TOLERANCE)
    known = ~(np.isnan(capacity) | np.isnan(arrival_rate))
    # Of booleans: 0 and 1 over 1 are themselves, 0 over 0 is NaN. Cheaper than a choice in each cell.
    return np.divide(carried, known)
