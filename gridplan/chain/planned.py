"""The planned point: what each active replica sees, and the measures that two laws of latency share.

`queueing` takes every latency from the operating point of a replica; `mean_step` is the arithmetic of published texts,
t_w / (1 - busy), the mean over time of a step.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.graph import Array
from gridplan.chain.redundancy import left_of, stated_losses

__all__ = [
    "batch_mean",
    "batch_queueing",
    "e2e_s",
    "formula_source_code",
    "goodput_held",
    "latency_s",
    "nothing_simulated",
    "rate_after_loss",
    "rate_domain_lost",
    "rate_one_fewer",
    "ridge_share",
    "slots",
    "source_code",
    "token_budget",
    "tpot_s",
]

_MEAN_STEP = choices("latency_model").index("mean_step")


def rate_after_loss(arrival_rate: Array, replicas_after_loss: Array) -> Array:
    """Rate of each replica that the stated loss leaves [req/s]; null where nothing is left."""
    return arrival_rate / np.where(replicas_after_loss > 0.0, replicas_after_loss, np.nan)


def rate_domain_lost(
    arrival_rate: Array, replicas_deployed: Array, failure_domain_code: Array, node_replicas: Array, zones: Array
) -> Array:
    """Rate of each replica after the loss of one failure domain [req/s]; null where nothing is left."""
    outright, in_zones = stated_losses(np.ones((1,) * failure_domain_code.ndim), failure_domain_code, node_replicas)
    left = left_of(replicas_deployed, outright, in_zones, zones, node_replicas)
    return arrival_rate / np.where(left > 0.0, left, np.nan)


def rate_one_fewer(arrival_rate: Array, replicas_active: Array) -> Array:
    """Rate of each active replica if one were missing [req/s]; null where there was one only."""
    left = replicas_active - 1.0
    return arrival_rate / np.where(left > 0.0, left, np.nan)


def token_budget(max_num_batched_tokens: Array) -> Array:
    """Tokens of a step of one attention rank [tokens]; infinite where no budget is known."""
    return np.where(np.isnan(max_num_batched_tokens), np.inf, max_num_batched_tokens)


def slots(concurrency_memory: Array, concurrency_scheduler: Array, data_parallel: Array) -> Array:
    """Sequences that an attention rank runs at once [sequences], by pool or scheduler; infinite where neither is known.

    Never below one: a pool that holds no sequence has no plan.
    """
    cap = np.fmin(concurrency_memory, concurrency_scheduler) / data_parallel
    return np.where(np.isnan(cap), np.inf, np.maximum(cap, 1.0))


def tpot_s(tpot_mean_step_s: Array, tpot_queueing_s: Array, latency_model_code: Array) -> Array:
    """Mean time per output token at the planned point [s] by the law of each cell."""
    return np.where(latency_model_code == _MEAN_STEP, tpot_mean_step_s, tpot_queueing_s)


def batch_queueing(planned_rate_per_replica: Array, decode_s: Array) -> Array:
    """Mean decoding batch of an active replica by Little's law: rate times the time from first to last token."""
    return planned_rate_per_replica * decode_s


def batch_mean(
    planned_rate_per_replica: Array,
    output_tokens_per_s_replica: Array,
    tpot_s: Array,
    decode_s: Array,
    latency_model_code: Array,
) -> Array:
    """Mean decoding batch of an active replica by the law of each cell [sequences]."""
    by_step = output_tokens_per_s_replica * tpot_s
    return np.where(latency_model_code == _MEAN_STEP, by_step, batch_queueing(planned_rate_per_replica, decode_s))


def ridge_share(batch_mean: Array, concurrency_compute: Array) -> Array:
    """Mean batch over the batch at which a decode step's FLOPs take as long as its bytes [1]."""
    return batch_mean / concurrency_compute


def goodput_held(goodput: Array, goodput_target: Array) -> Array:
    """1 where goodput reaches its target, else 0; null without a target or a goodput."""
    unknown = np.isnan(goodput) | np.isnan(goodput_target)
    return np.where(unknown, np.nan, goodput >= goodput_target)


def e2e_s(ttft_s: Array, decode_s: Array) -> Array:
    """Mean time from arrival to last token [s]."""
    return ttft_s + decode_s


def latency_s(
    prefill_latency_s: Array, output_tokens_mean: Array, tpot_s: Array, e2e_s: Array, latency_model_code: Array
) -> Array:
    """Latency of a request at the planned point [s]; the mean step knows no wait: prefill and O steps."""
    by_step = prefill_latency_s + output_tokens_mean * tpot_s
    return np.where(latency_model_code == _MEAN_STEP, by_step, e2e_s)


def formula_source_code(ttft_s: Array) -> Array:
    """Where latencies come from, null where there are none."""
    return np.where(np.isnan(ttft_s), NULL, code("latency_source", "formula"))


def source_code(by_formula: Array, ttft_s: Array) -> Array:
    """The same in a cube whose gaps are filled by simulation."""
    of_cell = np.where(np.isnan(ttft_s), NULL, code("latency_source", "simulated"))
    return np.where(by_formula == ttft_s, code("latency_source", "formula"), of_cell)


def nothing_simulated(ttft_s: Array) -> Array:
    """The error of a simulation in a cube without any: null."""
    return np.full(np.shape(ttft_s), np.nan)
