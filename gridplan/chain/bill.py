"""The month's bill in parts, over several denominators, and between prompt and output.

Parts that the average load does not change (headroom, spares, what nodes strand) need no peak-to-average ratio.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given

__all__ = ["BILL", "finite"]

_OF_NODES = ("spot", "owned")
"""Ways to buy that have a price of a node alone."""


def finite(value: Array) -> Array:
    """Null where a quotient has no value: nothing divides by no tokens, or by a price of 0."""
    return np.where(np.isfinite(value), value, np.nan)


def gpus_paid(
    gpus: Array, gpus_deployed: Array, usd_per_gpu_hour: Array, nodes_given: Array, purchase_code: Array
) -> Array:
    """GPUs that the bill pays [GPUs]: all in the nodes; those of the replicas where GPUs are rented one by one."""
    of_nodes = np.isin(purchase_code, [code("purchase", name) for name in _OF_NODES])
    one_by_one = ~np.isnan(usd_per_gpu_hour) & np.isnan(nodes_given) & ~of_nodes
    return np.where(one_by_one, gpus, first_given(gpus_deployed, gpus))


def rate_counted_on(lambda_safe: Array, rho_target: Array) -> Array:
    """What one replica carries at its limits, with the credit of the routing [req/s]."""
    return lambda_safe / rho_target


def held(replicas: Array, replicas_deployed: Array) -> Array:
    """Replicas of the plan that there are [replicas]: nodes already bought may hold fewer."""
    return np.minimum(replicas, replicas_deployed)


def usd_per_mtok_of(usd_per_request: Array, tokens: Array) -> Array:
    """Price of a million tokens [USD/Mtok] of which a request has `tokens`; null where it has none."""
    return finite(kernels.usd_per_mtok_of(usd_per_request, tokens, 1.0))


def usd_per_mtok_uncached(usd_per_request: Array, uncached_tokens_mean: Array, output_tokens_mean: Array) -> Array:
    """Price of a million tokens that are computed [USD/Mtok]: prompt tokens to prefill, and output."""
    return usd_per_mtok_of(usd_per_request, uncached_tokens_mean + output_tokens_mean)


def cached_tokens_mean(prompt_tokens_mean: Array, prefix_hit_ratio_mean: Array) -> Array:
    """Prompt tokens of a mean request that the prefix cache holds [tokens]."""
    return prompt_tokens_mean * prefix_hit_ratio_mean


def usd_per_user_month(usd_per_month: Array, users: Array) -> Array:
    """Bill of a month for each user [USD/month]."""
    return usd_per_month / users


def usd_per_mtok_input_allocated(usd_per_request: Array, tokens: Array, input_work_share: Array) -> Array:
    """Price of a million prompt tokens that bear their share of the replica time [USD/Mtok]."""
    return finite(kernels.usd_per_mtok_of(usd_per_request, tokens, input_work_share))


def usd_per_mtok_output_allocated(usd_per_request: Array, output_tokens_mean: Array, input_work_share: Array) -> Array:
    """Price of a million output tokens that bear theirs [USD/Mtok]."""
    return finite(kernels.usd_per_mtok_of(usd_per_request, output_tokens_mean, 1.0 - input_work_share))


def quota_units(prefill_work_s: Array, prompt_tokens: Array, decode_work_s: Array, output_tokens: Array) -> Array:
    """Prompt tokens that one output token is worth in replica time [1]."""
    return finite(kernels.quota_units(prefill_work_s, prompt_tokens, decode_work_s, output_tokens))


def usd_per_mtok_output_goodput(usd_per_mtok_output: Array, goodput: Array) -> Array:
    """Price of a million output tokens of requests within every limit [USD/Mtok]; null where none is."""
    return finite(np.divide(usd_per_mtok_output, goodput))


BILL: tuple[Step, ...] = (
    step("gpus_paid", gpus_paid),
    step("usd_per_replica_hour", kernels.usd_per_replica_hour),
    step("rate_counted_on", rate_counted_on),
    step("replicas_held", held),
    step("replicas_active_held", held, replicas="replicas_active"),
    step("replicas_at_average", kernels.replicas_loaded, rate="arrival_rate_average", replicas="replicas_active_held"),
    step("replicas_at_peak", kernels.replicas_loaded, rate="arrival_rate", replicas="replicas_active_held"),
    step("usd_per_month_used", kernels.usd_of_replicas, replicas="replicas_at_average"),
    step(
        "usd_per_month_idle",
        kernels.usd_of_replicas,
        replicas="replicas_at_peak",
        of_these="replicas_at_average",
    ),
    step(
        "usd_per_month_headroom",
        kernels.usd_of_replicas,
        replicas="replicas_active_held",
        of_these="replicas_at_peak",
    ),
    step(
        "usd_per_month_redundancy",
        kernels.usd_of_replicas,
        replicas="replicas_held",
        of_these="replicas_active_held",
    ),
    step("usd_per_month_stranded", kernels.usd_stranded, replicas="replicas_held"),
    step("cached_tokens_mean", cached_tokens_mean),
    step("usd_per_mtok_uncached", usd_per_mtok_uncached),
    step("usd_per_mtok_cached", usd_per_mtok_of, tokens="cached_tokens_mean"),
    step("usd_per_user_month", usd_per_user_month),
    step("input_work_share", kernels.input_work_share),
    step("usd_per_mtok_input_allocated", usd_per_mtok_input_allocated, tokens="prompt_tokens_mean"),
    step("usd_per_mtok_uncached_input_allocated", usd_per_mtok_input_allocated, tokens="uncached_tokens_mean"),
    step("usd_per_mtok_output_allocated", usd_per_mtok_output_allocated),
    step(
        "quota_units_per_output_token",
        quota_units,
        prompt_tokens="prompt_tokens_mean",
        output_tokens="output_tokens_mean",
    ),
    step("usd_per_mtok_output_goodput", usd_per_mtok_output_goodput),
)
"""Steps behind the bill's parts and denominators, all on request."""
