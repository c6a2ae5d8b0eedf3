"""The rate one replica sustains, `lambda_instance`, under each limit, and which limit binds.

Replica-seconds: a request costs d = p P (1 - hit) + O (k c + t_seq) seconds of a replica that grow with traffic, and
every step pays the weight read t_w once for the whole batch. At rate x a step then takes t_w / (1 - x d), so a limit on
TPOT, on the number of sequences or on the whole latency each gives a largest rate. Means only: percentiles need a
margin. Source: "Inference system design chains" (demand and TPOT share); "Sizing a Serving Cluster End to End"
(Little's law, the binding ceiling); Little, Oper. Res. 9(3), 1961, doi:10.1287/opre.9.3.383.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "binding_constraint",
    "decode_work_s",
    "lambda_safe",
    "latency_at_concurrency",
    "little_in_flight",
    "lowest",
    "prefill_work_s",
    "rate_at_concurrency",
    "rate_at_e2e",
    "rate_at_tpot",
    "rate_littles_law",
    "request_work_s",
    "tpot_share",
    "users_to_rate",
]

TIE = 1e-9
"""Relative distance at which two limits bind together (policy)."""

_CEILINGS = np.array(["memory", "compute", "balanced", ""])


@formula
def binding_constraint(memory_ceiling: Value, compute_ceiling_value: Value) -> Value:
    """Which ceiling on concurrency is the smaller: 'memory', 'compute', or 'balanced' within a relative 1e-9.

    Both in sequences. Arrays give an array of labels; where a ceiling is NaN the label is empty.

    >>> binding_constraint(72, 300.0), binding_constraint(400, 300), binding_constraint(300, 300.0)
    ('memory', 'compute', 'balanced')
    """
    larger = np.maximum(np.abs(memory_ceiling), np.abs(compute_ceiling_value))
    close = np.isfinite(larger) & (np.abs(memory_ceiling - compute_ceiling_value) <= TIE * larger)
    code = np.where(memory_ceiling < compute_ceiling_value, 0, 1)
    code = np.where(close | (memory_ceiling == compute_ceiling_value), 2, code)
    return _CEILINGS[np.where(np.isnan(larger), 3, code)]


@formula
def prefill_work_s(prefill_per_token_s: Value, prompt_tokens_mean: Value, prefix_hit_ratio: Value) -> Value:
    """Replica time of a request's prefill: p P (1 - hit) [s].

    >>> round(prefill_work_s(35.649e-6, 2000, 0.0) * 1e3, 3)
    71.298
    """
    return prefill_per_token_s * prompt_tokens_mean * (1.0 - prefix_hit_ratio)


@formula
def decode_work_s(
    output_tokens_mean: Value,
    step_per_context_token_s: Value,
    step_context_tokens: Value,
    step_per_sequence_s: Value = 0.0,
) -> Value:
    """Replica time of a request's decoding that grows with the batch: O (k c + t_seq) [s], without the weight read.

    >>> round(decode_work_s(300, 32.605e-9, 2150) * 1e3, 2)
    21.03
    """
    return output_tokens_mean * (step_per_context_token_s * step_context_tokens + step_per_sequence_s)


@formula
def request_work_s(
    prefill_per_token_s: Value,
    prompt_tokens_mean: Value,
    prefix_hit_ratio: Value,
    output_tokens_mean: Value,
    step_per_context_token_s: Value,
    step_context_tokens: Value,
    step_per_sequence_s: Value = 0.0,
) -> Value:
    """Replica time of one request that grows with traffic: d = p P (1 - hit) + O (k c + t_seq) [s].

    200 requests a second of the 70B chat load cost 18.47 replica-seconds per second:

    >>> round(200 * request_work_s(35.649318e-6, 2000, 0.0, 300, 32.605e-9, 2150), 2)
    18.47
    """
    prefill = prefill_per_token_s * prompt_tokens_mean * (1.0 - prefix_hit_ratio)
    return prefill + output_tokens_mean * (step_per_context_token_s * step_context_tokens + step_per_sequence_s)


@formula
def tpot_share(step_weights_s: Value, tpot_slo_s: Value) -> Value:
    """Share of a replica left for work that grows with traffic at the TPOT limit: 1 - t_w / TPOT, at least 0 [1].

    >>> round(tpot_share(0.00702, 0.050), 4)
    0.8596
    """
    return np.maximum(1.0 - step_weights_s / tpot_slo_s, 0.0)


@formula
def rate_at_tpot(tpot_share: Value, request_work_s: Value) -> Value:
    """Rate at which the mean step takes as long as the TPOT limit: share / d [req/s].

    >>> rate_at_tpot(0.5, 0.25)
    2.0
    """
    return tpot_share / request_work_s


@formula
def rate_at_concurrency(
    concurrency: Value, output_tokens_mean: Value, step_weights_s: Value, request_work_s: Value
) -> Value:
    """Rate of a replica that always holds L sequences: L / (O t_w + L d) = 1 / (O t_w / L + d) [req/s].

    An infinite cap gives the rate 1 / d at which the replica is all busy; a cap of 0 gives 0.

    >>> rate_at_concurrency(10, 100, 0.01, 0.1), rate_at_concurrency(float("inf"), 100, 0.01, 0.1)
    (5.0, 10.0)
    """
    return 1.0 / (output_tokens_mean * step_weights_s / concurrency + request_work_s)


@formula
def latency_at_concurrency(
    concurrency: Value, output_tokens_mean: Value, step_weights_s: Value, request_work_s: Value
) -> Value:
    """Mean time of a request in a replica that always holds L sequences: W = O t_w + L d [s].

    >>> latency_at_concurrency(10, 100, 0.01, 0.1)
    2.0
    """
    return output_tokens_mean * step_weights_s + concurrency * request_work_s


@formula
def rate_at_e2e(
    e2e_slo_s: Value, prefill_work_s: Value, output_tokens_mean: Value, step_weights_s: Value, request_work_s: Value
) -> Value:
    """Largest rate x with pP(1 - hit) + O t_w / (1 - x d) <= E2E: (1 - O t_w / (E2E - pP(1 - hit))) / d [req/s].

    0 where even an idle replica is too slow, 1 / d without a limit (e2e_slo_s infinite).

    >>> rate_at_e2e(2.5, 0.5, 100, 0.01, 0.1), rate_at_e2e(1.0, 0.5, 100, 0.01, 0.1)
    (5.0, 0.0)
    """
    slack = e2e_slo_s - prefill_work_s
    idle = 1.0 - output_tokens_mean * step_weights_s / np.maximum(slack, np.finfo(np.float64).tiny)
    return np.maximum(idle, 0.0) * (slack > 0.0) / request_work_s


@formula
def rate_littles_law(concurrency: Value, e2e_latency_s: Value) -> Value:
    """Rate of a replica whose L slots each hold a request for W: L / W [req/s].

    >>> rate_littles_law(72, 4)
    18.0
    """
    return concurrency / e2e_latency_s


@formula
def little_in_flight(arrival_rate: Value, e2e_latency_s: Value) -> Value:
    """Requests in the system at once: rate times latency [requests].

    >>> little_in_flight(50, 2)
    100.0
    """
    return arrival_rate * e2e_latency_s


@formula
def users_to_rate(users: Value, think_s: Value, latency_s: Value) -> Value:
    """Rate of a closed loop of users who wait for the answer, then think: users / (think + latency) [req/s].

    >>> round(users_to_rate(500, 30, 4), 4)
    14.7059
    """
    return users / (think_s + latency_s)


@formula
def lambda_safe(lambda_instance: Value, rho_target: Value, routing_credit: Value = 1.0) -> Value:
    """Planned rate of one replica: rho_target routing_credit lambda_instance [req/s].

    rho_target [1] and routing_credit [1], the gain of the routing over a random split that a plan counts on.

    >>> lambda_safe(10, 0.7), lambda_safe(10, 0.5, 1.25)
    (7.0, 6.25)
    """
    return rho_target * lambda_instance * routing_credit


@formula
def lowest(*rates: Value) -> tuple[Value, Value, Value]:
    """Smallest of several limits, which one it is, and which ones tie with it within a relative 1e-9.

    `rates` broadcast; NaN is a limit that is absent, infinity one that does not bind. Returns the minimum (NaN where
    all are absent), the index of the first limit that ties with it (int64, -1 where all are absent) and the ties as
    bits (int64: bit i is set when limit i ties, so a sole binding limit i gives 2**i). At most 62 limits.

    >>> lowest(5.0, 3.0, float("nan")), lowest(4.0, 3.0, 3.0)
    ((3.0, 1, 2), (3.0, 1, 6))
    """
    minimum = rates[0]
    for rate in rates[1:]:
        minimum = np.fmin(minimum, rate)
    edge = minimum + TIE * np.abs(minimum)
    ties = np.zeros(np.shape(minimum), dtype=np.int64)
    index = np.full(np.shape(minimum), -1, dtype=np.int64)
    for position in range(len(rates) - 1, -1, -1):
        hit = rates[position] <= edge
        ties += hit * np.int64(1 << position)
        np.copyto(index, position, where=hit)
    return minimum, index, ties
