"""A fleet of one's own against an API: what the requests would cost there, and the load at which both bills are equal.

Two fleets are compared. One that is always on has a bill that no load changes: it breaks even at a number of requests.
One that is released when idle is paid only while it serves: each of its replicas breaks even at a share of its rate,
whatever the load. Prices are USD for a million tokens. The arithmetic is plain; what may be counted on in it (average
load, the planned rate of a replica) is that of "Capacity Planning: From Traffic Profile to GPU Count", section 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.formulas.fleet import carries

__all__ = [
    "API_VERDICTS",
    "API_VERDICTS_RELEASED",
    "api_break_even_rate",
    "api_break_even_utilization_released",
    "api_usd_per_request",
    "api_verdict_code",
    "api_verdict_released_code",
]

API_VERDICTS = ("self_host", "api", "never")
API_VERDICTS_RELEASED = ("self_host", "never")
"""Where the requests are cheaper, with a fleet that is always on and with one that is released when idle.

A code is the position in its tuple.
"""

SECONDS_PER_HOUR = 3600.0
TOKENS_PER_MTOK = 1e6

_SELF_HOST, _API, _NEVER = (float(position) for position in range(len(API_VERDICTS)))


@formula
def api_usd_per_request(
    uncached_tokens: Value,
    cached_tokens: Value,
    output_tokens: Value,
    api_usd_per_mtok_input: Value,
    api_usd_per_mtok_cached: Value,
    api_usd_per_mtok_output: Value,
) -> Value:
    """Price of a mean request at an API [USD]: its tokens of each kind times their price.

    1,500 uncached and 500 cached prompt tokens and 300 of output at 3.00, 0.30 and 15.00 USD per million:

    >>> round(api_usd_per_request(1500, 500, 300, 3.0, 0.3, 15.0), 6)
    0.00915
    """
    priced = (
        uncached_tokens * api_usd_per_mtok_input
        + cached_tokens * api_usd_per_mtok_cached
        + output_tokens * api_usd_per_mtok_output
    )
    return priced / TOKENS_PER_MTOK


@formula
def api_break_even_rate(usd_per_month: Value, hours_per_month: Value, api_usd_per_request: Value) -> Value:
    """Average rate at which a fixed bill equals that of the API: bill / (hours 3600 price of a request) [req/s].

    59,965.44 USD a month of 732 hours, 0.002 USD a request:

    >>> round(api_break_even_rate(59965.44, 732, 0.002), 6)
    11.377778
    """
    return np.divide(usd_per_month, hours_per_month * SECONDS_PER_HOUR * api_usd_per_request)


@formula
def api_break_even_utilization_released(
    usd_per_replica_hour: Value, lambda_instance: Value, api_usd_per_request: Value
) -> Value:
    """Share of its rate at which a running replica costs what the API does: price / (3600 rate price of a request) [1].

    A replica at 5.12 USD an hour that sustains 10 req/s, 0.002 USD a request:

    >>> round(api_break_even_utilization_released(5.12, 10, 0.002), 6)
    0.071111
    """
    return np.divide(usd_per_replica_hour, SECONDS_PER_HOUR * lambda_instance * api_usd_per_request)


@formula
def api_verdict_code(
    usd_per_month: Value,
    api_usd_per_month: Value,
    arrival_rate: Value,
    arrival_rate_safe_deployed: Value,
) -> Value:
    """Code of API_VERDICTS for a fleet that is always on, as float64; NaN where a value is NaN.

    self_host: the bill is at most that of the API at the planned average, and the fleet carries the peak [req/s]. api:
    the API is cheaper there, and the fleet could carry the load at which it would not be, peaks in proportion. never:
    it could not. NaN too where the bill is lower and the fleet does not carry the peak: it does not serve what the API
    would be paid for. A fleet at 60,000 USD a month that carries 112 req/s, planned for a peak of 60:

    >>> [api_verdict_code(60e3, api, 60, 112) for api in (105e3, 35e3, 30e3)]
    [0.0, 1.0, 2.0]
    """
    cheaper = carries(usd_per_month, api_usd_per_month)
    carried = carries(arrival_rate, arrival_rate_safe_deployed)
    # bill / API bill is the factor from the planned load to the one at break-even; multiplied out, a price of 0 has one
    within = carries(usd_per_month * arrival_rate, arrival_rate_safe_deployed * api_usd_per_month)
    own: Any = np.where(carried == 1.0, _SELF_HOST, np.nan)
    other: Any = np.where(within == 1.0, _API, _NEVER)
    known = ~np.isnan(cheaper + carried)
    return np.where(known, np.where(cheaper == 1.0, own, other), np.nan)


@formula
def api_verdict_released_code(usd_per_replica_hour: Value, lambda_safe: Value, api_usd_per_request: Value) -> Value:
    """Code of API_VERDICTS_RELEASED for replicas paid only while they serve, as float64; NaN where a value is NaN.

    self_host: a replica at its planned rate [req/s] costs at most what the API takes for the same requests.

    >>> api_verdict_released_code(5.12, 7, 0.002), api_verdict_released_code(5.12, 7, 0.0002)
    (0.0, 1.0)
    """
    return 1.0 - carries(usd_per_replica_hour, SECONDS_PER_HOUR * lambda_safe * api_usd_per_request)
