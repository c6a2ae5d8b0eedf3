"""What a fleet costs per hour and month, and per request and million tokens at the average load.

A fleet is paid for its peak and used at its average, so a price per token divides by the average (peak over
peak-to-average ratio). Prices are USD, a million tokens is 1e6 tokens. Source: "Capacity Planning: From Traffic Profile
to GPU Count", section 5; "Inference system design chains", price per phase.
"""

from __future__ import annotations

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "arrival_rate_average",
    "requests_per_month",
    "tokens_per_month",
    "usd_per_day",
    "usd_per_hour_gpus",
    "usd_per_hour_nodes",
    "usd_per_month",
    "usd_per_mtok",
    "usd_per_mtok_at_rate",
    "usd_per_mtok_full_rate",
    "usd_per_request",
]

SECONDS_PER_HOUR = 3600.0
HOURS_PER_DAY = 24.0
TOKENS_PER_MTOK = 1e6


@formula
def usd_per_hour_nodes(nodes: Value, usd_per_node_hour: Value) -> Value:
    """Bill of a fleet rented by the node: nodes times price [USD/h].

    >>> usd_per_hour_nodes(4, 40.96)
    163.84
    """
    return nodes * usd_per_node_hour


@formula
def usd_per_hour_gpus(gpus: Value, usd_per_gpu_hour: Value) -> Value:
    """Bill of a fleet rented by the GPU: GPUs times price [USD/h].

    >>> round(usd_per_hour_gpus(10, 2.49), 9)
    24.9
    """
    return gpus * usd_per_gpu_hour


@formula
def usd_per_day(usd_per_hour: Value) -> Value:
    """Bill of a day of 24 hours [USD/day].

    >>> round(usd_per_day(163.84), 9)
    3932.16
    """
    return usd_per_hour * HOURS_PER_DAY


@formula
def usd_per_month(usd_per_hour: Value, hours_per_month: Value) -> Value:
    """Bill of a month [USD/month]; hours_per_month [h] is 720, 730, 732 or 744 by convention, so it is an input.

    >>> round(usd_per_month(2 * 40.96, 732), 2)
    59965.44
    """
    return usd_per_hour * hours_per_month


@formula
def arrival_rate_average(arrival_rate: Value, peak_to_average: Value) -> Value:
    """Average load: peak over peak-to-average ratio [req/s].

    >>> arrival_rate_average(60, 3)
    20.0
    """
    return arrival_rate / peak_to_average


@formula
def requests_per_month(arrival_rate_average: Value, hours_per_month: Value) -> Value:
    """Requests of a month at the average load [count].

    >>> requests_per_month(20, 732)
    52704000.0
    """
    return arrival_rate_average * (hours_per_month * SECONDS_PER_HOUR)


@formula
def tokens_per_month(requests_per_month: Value, tokens_mean: Value) -> Value:
    """Tokens of a month [tokens]: output, prompt or both, as `tokens_mean` [tokens per request] says.

    >>> round(tokens_per_month(52704000, 121.6))
    6408806400
    """
    return requests_per_month * tokens_mean


@formula
def usd_per_mtok(usd_per_month: Value, tokens_per_month: Value) -> Value:
    """Price of a million tokens: bill over tokens [USD/Mtok].

    >>> round(usd_per_mtok(59965.44, 6408806400), 3)
    9.357
    """
    return usd_per_month / tokens_per_month * TOKENS_PER_MTOK


@formula
def usd_per_request(usd_per_month: Value, requests_per_month: Value) -> Value:
    """Price of a request: bill over requests [USD].

    >>> round(usd_per_request(59965.44, 52704000), 6)
    0.001138
    """
    return usd_per_month / requests_per_month


@formula
def usd_per_mtok_full_rate(usd_per_gpu_hour: Value, gpus_per_replica: Value, seconds_per_token: Value) -> Value:
    """Price of a million tokens of one phase on a replica that does nothing else [USD/Mtok].

    seconds_per_token [s] is the prefill time of a token, or a decode step over its batch. Llama-3.1-8B on an H100:

    >>> round(usd_per_mtok_full_rate(2.50, 1, 2 * 8.03e9 / (989e12 * 0.5)), 5)
    0.02255
    """
    return usd_per_gpu_hour * gpus_per_replica * (seconds_per_token * (TOKENS_PER_MTOK / SECONDS_PER_HOUR))


@formula
def usd_per_mtok_at_rate(usd_per_hour: Value, tokens_per_s: Value) -> Value:
    """Price of a million tokens at a token rate: hourly bill over hourly tokens [USD/Mtok].

    >>> round(usd_per_mtok_at_rate(2.5, 700), 3)
    0.992
    """
    return usd_per_hour / tokens_per_s * (TOKENS_PER_MTOK / SECONDS_PER_HOUR)
