"""A fleet of one's own against an API's prices: bills at the average load, break-even, and the verdict."""

from __future__ import annotations

import numpy as np

from gridplan.chain.bill import finite
from gridplan.chain.codes import NULL, code
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given
from gridplan.formulas.fleet import carries

__all__ = ["API"]


def api_usd_per_request(
    uncached_tokens_mean: Array,
    cached_tokens_mean: Array,
    output_tokens_mean: Array,
    api_usd_per_mtok_input: Array,
    api_usd_per_mtok_cached: Array,
    api_usd_per_mtok_output: Array,
) -> Array:
    """Price of a mean request at the API [USD]; cached tokens cost as much as others where no price says otherwise."""
    cached = first_given(api_usd_per_mtok_cached, api_usd_per_mtok_input)
    result: Array = kernels.api_usd_per_request(
        *(uncached_tokens_mean, cached_tokens_mean, output_tokens_mean),
        *(api_usd_per_mtok_input, cached, api_usd_per_mtok_output),
    )
    return result


def api_usd_per_month(requests_per_month: Array, api_usd_per_request: Array) -> Array:
    """Bill of a month at the API [USD/month]."""
    return finite(requests_per_month * api_usd_per_request)


def api_saving_usd_per_month(
    usd_per_month: Array, api_usd_per_month: Array, arrival_rate: Array, arrival_rate_safe_deployed: Array
) -> Array:
    """What the fleet saves [USD/month], negative where the API is cheaper; null where it does not carry the peak."""
    carried = carries(arrival_rate, arrival_rate_safe_deployed) == 1.0
    return np.where(carried, api_usd_per_month - usd_per_month, np.nan)


def usd_per_month_fixed(usd_per_month: Array, purchase_code: Array) -> Array:
    """The bill of a fleet that no load changes [USD/month]; null for a portfolio, whose bill follows the load."""
    return np.where(purchase_code == code("purchase", "portfolio"), np.nan, usd_per_month)


def usd_per_replica_hour_released(
    purchase_code: Array,
    on_demand_usd_per_node_hour: Array,
    spot_usd_per_node_hour: Array,
    usd_per_gpu_hour: Array,
    gpus_per_node: Array,
    gpus_per_replica: Array,
) -> Array:
    """Price of an hour of a replica that is paid only while it serves [USD/h]: on demand, or on spot.

    Reserved and owned nodes are paid whether they serve or not, so the list price stands in their place.
    """
    of_spot = purchase_code == code("purchase", "spot")
    node = np.where(of_spot, spot_usd_per_node_hour, on_demand_usd_per_node_hour)
    return np.where(np.isnan(node), usd_per_gpu_hour, node / gpus_per_node) * gpus_per_replica


def api_break_even_rate(usd_per_month_fixed: Array, hours_per_month: Array, api_usd_per_request: Array) -> Array:
    """Average rate at which both bills are equal [req/s]; null where the API is free: no rate is high enough."""
    return finite(kernels.api_break_even_rate(usd_per_month_fixed, hours_per_month, api_usd_per_request))


def api_break_even_requests_per_month(usd_per_month_fixed: Array, api_usd_per_request: Array) -> Array:
    """Requests of a month at which both bills are equal [count]."""
    return finite(np.divide(usd_per_month_fixed, api_usd_per_request))


def api_break_even_tokens_per_month(api_break_even_requests_per_month: Array, context_tokens_mean: Array) -> Array:
    """Prompt and output tokens of a month at which both bills are equal [tokens]."""
    return finite(api_break_even_requests_per_month * context_tokens_mean)


def api_break_even_utilization(api_break_even_rate: Array, capacity_deployed: Array) -> Array:
    """The same rate as a share of what the deployed replicas sustain [1]; null where there is none."""
    return finite(np.divide(api_break_even_rate, capacity_deployed))


def api_break_even_utilization_released(
    usd_per_replica_hour_released: Array, lambda_instance: Array, api_usd_per_request: Array
) -> Array:
    """Share of lambda_instance at which a running replica costs what the API does [1]."""
    return finite(
        kernels.api_break_even_utilization_released(usd_per_replica_hour_released, lambda_instance, api_usd_per_request)
    )


def api_verdict_code(
    usd_per_month: Array,
    usd_per_month_fixed: Array,
    api_usd_per_month: Array,
    arrival_rate: Array,
    arrival_rate_safe_deployed: Array,
) -> Array:
    """Where the requests are cheaper, with a fleet that is always on.

    A portfolio may be found to be cheaper; where it is not, its bill at another load is not known here.
    """
    found = kernels.api_verdict_code(usd_per_month, api_usd_per_month, arrival_rate, arrival_rate_safe_deployed)
    follows = np.isnan(usd_per_month_fixed) & (found > 0.0)
    return _as_code(np.where(follows, np.nan, found))


def api_verdict_released_code(
    usd_per_replica_hour_released: Array, lambda_safe: Array, api_usd_per_request: Array
) -> Array:
    """The same with replicas that are paid only while they serve."""
    return _as_code(kernels.api_verdict_released_code(usd_per_replica_hour_released, lambda_safe, api_usd_per_request))


def _as_code(found: Array) -> Array:
    return np.where(np.isnan(found), NULL, found).astype(np.int64)


API: tuple[Step, ...] = (
    step("api_usd_per_request", api_usd_per_request),
    step("api_usd_per_month", api_usd_per_month),
    step("api_saving_usd_per_month", api_saving_usd_per_month),
    step("usd_per_month_fixed", usd_per_month_fixed),
    step("usd_per_replica_hour_released", usd_per_replica_hour_released),
    step("api_break_even_rate", api_break_even_rate),
    step("api_break_even_requests_per_month", api_break_even_requests_per_month),
    step("api_break_even_tokens_per_month", api_break_even_tokens_per_month),
    step("api_break_even_utilization", api_break_even_utilization),
    step("api_verdict_code", api_verdict_code),
    step("api_break_even_utilization_released", api_break_even_utilization_released),
    step("api_verdict_released_code", api_verdict_released_code),
)
"""Steps of the comparison with an API, all on request."""
