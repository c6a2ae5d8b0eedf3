"""What a month's bill pays for, in parts that sum to it, and the same bill over several denominators.

A fleet is bought for its peak, with spares, in whole nodes, and used at its average. In replicas, from what is used to
what is paid: average load <= peak <= active <= planned with spares <= all that the GPUs of the bill would make. Each
part of the bill is one of the steps between them. Rates are in req/s, money in USD. Source: "Capacity Planning: From
Traffic Profile to GPU Count", section 5 (paid for the peak, used at the average); "Inference system design chains",
quota units (a token is priced by the replica time it takes).
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "bill_split",
    "input_work_share",
    "quota_units",
    "replicas_loaded",
    "usd_of_replicas",
    "usd_per_mtok_of",
    "usd_per_replica_hour",
    "usd_stranded",
]

TOKENS_PER_MTOK = 1e6


@formula
def usd_per_replica_hour(usd_per_hour: Value, gpus_paid: Value, gpus_per_replica: Value) -> Value:
    """Price of a replica for an hour, its GPUs' share of the bill: usd_per_hour / gpus_paid * gpus_per_replica [USD/h].

    A bill of mixed prices (reserved, spot) is spread evenly over the GPUs it pays.

    >>> usd_per_replica_hour(2 * 40.96, 16, 1), usd_per_replica_hour(2 * 40.96, 16, 4)
    (5.12, 20.48)
    """
    return usd_per_hour / gpus_paid * gpus_per_replica


@formula
def replicas_loaded(rate: Value, rate_counted_on: Value, replicas: Value) -> Value:
    """Replicas that a load would fill: min(rate / rate_counted_on, replicas) [replicas].

    `rate_counted_on` [req/s] is what one replica carries at its limits, with the gain of the routing where one is
    credited: lambda_safe / rho_target. A load beyond all of them fills all of them.

    >>> replicas_loaded(20, 10, 9), replicas_loaded(60, 10, 9), replicas_loaded(120, 10, 9)
    (2.0, 6.0, 9.0)
    """
    return np.minimum(rate / rate_counted_on, replicas)


@formula
def usd_of_replicas(
    usd_per_replica_hour: Value, hours_per_month: Value, replicas: Value, of_these: Value = 0.0
) -> Value:
    """Bill of a month for the `replicas` that are not among `of_these`, at least 0 [USD/month].

    >>> round(usd_of_replicas(5.12, 732, 10, 9), 2)
    3747.84
    """
    return usd_per_replica_hour * hours_per_month * np.maximum(replicas - of_these, 0.0)


@formula
def usd_stranded(
    usd_per_replica_hour: Value, hours_per_month: Value, gpus_paid: Value, gpus_per_replica: Value, replicas: Value
) -> Value:
    """Bill of a month for GPUs beyond those of `replicas`, at least 0 [USD/month].

    >>> round(usd_stranded(5.12, 732, 16, 1, 10), 2)
    22487.04
    """
    beyond = np.maximum(gpus_paid - replicas * gpus_per_replica, 0.0)
    return usd_per_replica_hour * hours_per_month * (beyond / gpus_per_replica)


@formula
def bill_split(
    usd_per_replica_hour: Value,
    hours_per_month: Value,
    gpus_paid: Value,
    gpus_per_replica: Value,
    replicas: Value,
    replicas_active: Value,
    arrival_rate: Value,
    arrival_rate_average: Value,
    rate_counted_on: Value,
) -> tuple[Value, Value, Value, Value, Value]:
    """Bill of a month in five parts [USD/month]: used, idle, headroom, redundancy, stranded.

    used fills the average load, idle the way from there to the peak, headroom from the peak to the limits of the active
    replicas, redundancy is that of the spares, stranded of GPUs beyond the plan. `replicas` and `replicas_active` are
    those that there are: at most the replicas deployed. Two AWS nodes of 8 for 10 planned replicas, 9 of them active,
    60 req/s at the peak and 20 on average, 10 req/s each: 2, 4, 3, 1 and 6 of 16 GPUs.

    >>> parts = bill_split(5.12, 732, 16, 1, 10, 9, 60, 20, 10)
    >>> [round(part, 2) for part in parts], round(sum(parts), 2)
    ([7495.68, 14991.36, 11243.52, 3747.84, 22487.04], 59965.44)
    """
    price = (usd_per_replica_hour, hours_per_month)
    peak = replicas_loaded(arrival_rate, rate_counted_on, replicas_active)
    average = replicas_loaded(arrival_rate_average, rate_counted_on, replicas_active)
    return (
        usd_of_replicas(*price, average),
        usd_of_replicas(*price, peak, average),
        usd_of_replicas(*price, replicas_active, peak),
        usd_of_replicas(*price, replicas, replicas_active),
        usd_stranded(*price, gpus_paid, gpus_per_replica, replicas),
    )


@formula
def input_work_share(prefill_work_s: Value, decode_work_s: Value) -> Value:
    """Share of a request's replica time that its prompt takes: prefill / (prefill + decode) [1], both in s.

    Work that grows with traffic; the weight read of a step belongs to nobody and is shared in the same proportion.

    >>> round(input_work_share(2000 * 35.649e-6, 300 * 2150 * 32.605e-9), 4)
    0.7722
    """
    return np.divide(prefill_work_s, prefill_work_s + decode_work_s)


@formula
def usd_per_mtok_of(usd_per_request: Value, tokens: Value, share: Value = 1.0) -> Value:
    """Price of a million tokens of which a request has `tokens`, where they bear `share` of the bill [USD/Mtok].

    >>> round(usd_per_mtok_of(0.001, 2000, 0.75), 6), round(usd_per_mtok_of(0.001, 500, 0.25), 6)
    (0.375, 0.5)
    """
    return np.divide(usd_per_request * share * TOKENS_PER_MTOK, tokens)


@formula
def quota_units(prefill_work_s: Value, prompt_tokens: Value, decode_work_s: Value, output_tokens: Value) -> Value:
    """Prompt tokens that one output token is worth in replica time: (decode / output) / (prefill / prompt) [1].

    The work is that of the mean request [s]; of a single request in k c / p it is `quota_units_per_output_token`.
    1,550 prompt and 300 output tokens of Llama-3.3-70B on TP4 H100, 1,700 tokens of context on average:

    >>> round(quota_units(1550 * 35.649e-6, 1550, 300 * 1700 * 32.605e-9, 300), 3)
    1.555
    """
    return np.divide(decode_work_s / output_tokens, prefill_work_s / prompt_tokens)
