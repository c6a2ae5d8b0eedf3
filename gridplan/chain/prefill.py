"""Prefill by class of requests: results have the class axis first, before the dimensions of the cube.

A rank is one attention rank (a tensor-parallel group); a prompt runs on one, so what its request waits is rank time,
and what it takes of the replica is that over the number of ranks.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels

__all__ = [
    "batch_at_limit",
    "chunk_overhead_total_s",
    "class_attention_s",
    "class_prefill_alone_s",
    "class_prefill_chunks",
    "class_prefill_multiplied_s",
    "class_prefill_s",
    "class_uncached_tokens",
    "longest",
    "mean_over_classes",
    "one_sequence",
    "prefill_experts_s",
    "read_or_multiplied_s",
]

ROUNDS = 2
"""Passes between the batch of the limit and the prompts' reads beside it (policy): the second changes little."""


def class_uncached_tokens(class_prompt_tokens: Array, class_prefix_hit_ratio: Array) -> Array:
    """Prompt tokens of each class that are not cached [tokens]."""
    return np.moveaxis(class_prompt_tokens * (1.0 - class_prefix_hit_ratio), -1, 0)


def class_attention_s(
    class_prompt_tokens: Array,
    class_uncached_tokens: Array,
    flop_params_code: Array,
    prefill_per_token_s: Array,
    attention_full_flop: Array,
    attention_window_flop: Array,
    attention_window_tokens: Array,
    attention_peak_flops: Array,
    tensor_parallel: Array,
    mfu: Array,
) -> Array:
    """Causal attention of each class's prompt on one rank [s]; none by the texts' rule of thumb, or in a given p."""
    prompt = np.moveaxis(class_prompt_tokens, -1, 0)
    pairs = kernels.attended_pairs(prompt, class_uncached_tokens)
    near = kernels.attended_pairs(prompt, class_uncached_tokens, attention_window_tokens)
    flop = attention_full_flop * pairs + attention_window_flop * near
    none = (flop_params_code == code("flop_params", "total")) | ~np.isnan(prefill_per_token_s)
    none = none | np.isnan(attention_full_flop)  # no model is named
    return np.where(none, 0.0, flop / (tensor_parallel * attention_peak_flops * mfu))


def chunk_overhead_total_s(chunk_layer_overhead_s: Array, num_layers: Array) -> Array:
    """What a chunk of a prompt adds to a step beside its work [s]; without a model there are no layers to charge."""
    result: Array = kernels.chunk_overhead_s(chunk_layer_overhead_s, np.nan_to_num(num_layers))
    return np.where(chunk_layer_overhead_s == 0, 0.0, result)


def class_prefill_alone_s(
    class_uncached_tokens: Array,
    class_attention_s: Array,
    prefill_compute_per_token_s: Array,
    data_parallel: Array,
    chunk_overhead_total_s: Array,
    max_num_batched_tokens: Array,
    prefill_per_token_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
) -> Array:
    """Unqueued prefill of each class in an idle replica, as its request sees it [s]: its chunks read their experts."""
    return _beside(
        np.zeros(()),
        *(class_uncached_tokens, class_attention_s, prefill_compute_per_token_s * data_parallel),
        *(chunk_overhead_total_s, max_num_batched_tokens, prefill_per_token_s),
        *(step_experts_s, num_experts, experts_per_token),
    )


def class_prefill_s(
    class_uncached_tokens: Array,
    class_attention_s: Array,
    prefill_compute_per_token_s: Array,
    data_parallel: Array,
    chunk_overhead_total_s: Array,
    max_num_batched_tokens: Array,
    prefill_per_token_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    batch_at_limit: Array,
) -> Array:
    """Replica time of each class's prefill beside the batch of the limit [s].

    Every prompt pays alone for the steps it rides in: prompts that share a step share that cost, so it is an upper
    figure where several arrive within one.
    """
    return (
        _beside(
            batch_at_limit,
            *(class_uncached_tokens, class_attention_s, prefill_compute_per_token_s * data_parallel),
            *(chunk_overhead_total_s, max_num_batched_tokens, prefill_per_token_s),
            *(step_experts_s, num_experts, experts_per_token),
        )
        / data_parallel
    )


def class_prefill_multiplied_s(
    class_uncached_tokens: Array, class_attention_s: Array, prefill_compute_per_token_s: Array, data_parallel: Array
) -> Array:
    """Rank time of each class's prefill by its multiplications alone [s]."""
    return prefill_compute_per_token_s * data_parallel * class_uncached_tokens + class_attention_s


def class_prefill_chunks(class_uncached_tokens: Array, max_num_batched_tokens: Array) -> Array:
    """Steps into which each class's prompt is cut, at least [count]."""
    result: Array = kernels.prefill_chunks(class_uncached_tokens, max_num_batched_tokens)
    return result


def prefill_experts_s(step_experts_s: Array, prefill_per_token_s: Array) -> Array:
    """Read of all experts by a prompt [s]; none beside a given time of a token, which is all that a prompt takes."""
    return np.where(np.isnan(prefill_per_token_s), step_experts_s, 0.0)


def _beside(
    batch: Array,
    uncached: Array,
    attention_s: Array,
    per_token_s: Array,
    overhead_s: Array,
    budget_tokens: Array,
    given: Array,
    experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
) -> Array:
    """Rank time of a prompt whose chunks ride beside `batch` decoding sequences [s]."""
    chunks = kernels.prefill_chunks(uncached, budget_tokens)
    multiplied = per_token_s * uncached + attention_s
    # A given time of a prompt token is all that a prompt takes.
    if np.any(experts_s):
        experts = (experts_s, num_experts, experts_per_token)
        multiplied = np.where(
            np.isnan(given), read_or_multiplied_s(multiplied, chunks, uncached, batch, *experts), multiplied
        )
    return multiplied + np.where(overhead_s == 0, 0.0, chunks * overhead_s)


def read_or_multiplied_s(multiplied_s: Array, chunks: Array, uncached: Array, batch: Array, *experts: Array) -> Array:
    """Time of a prompt's chunks beside `batch` sequences [s]: to multiply, or to read the experts if that is longer.

    `experts` are the time to read all of them [s], their number and those of a token.
    """
    tokens = np.where(chunks > 0, uncached / np.maximum(chunks, 1.0), 0.0)
    result: Array = np.maximum(multiplied_s, chunks * kernels.chunk_experts_s(*experts, tokens, batch))
    return result


def mean_over_classes(class_weight: Array, by_class: Array) -> Array:
    """Mean of a figure of the classes over requests; `by_class` has the class axis first."""
    return np.asarray((np.moveaxis(class_weight, -1, 0) * by_class).sum(axis=0))


def longest(class_weight: Array, by_class: Array) -> Array:
    """The largest figure among the classes that occur."""
    occurs = np.moveaxis(class_weight, -1, 0) != 0
    return np.asarray(np.where(occurs, by_class, -np.inf).max(axis=0))


def one_sequence(step_experts_s: Array) -> Array:
    """The batch of the limit in a cube without experts: it decides their reads alone, so any will do [sequences]."""
    return np.ones_like(step_experts_s)


def batch_at_limit(
    class_weight: Array,
    class_uncached_tokens: Array,
    class_attention_s: Array,
    prefill_compute_per_token_s: Array,
    data_parallel: Array,
    chunk_overhead_total_s: Array,
    max_num_batched_tokens: Array,
    prefill_per_token_s: Array,
    decode_work_s: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    tpot_slo_s: Array,
    concurrency_memory: Array,
    concurrency_scheduler: Array,
) -> Array:
    """Batch of a replica at its limit [sequences]: where the TPOT limit ends it, or what memory and scheduler hold.

    At rate x the step takes t_w(n) / (1 - x d) and n = x O TPOT, so t_w(n) + n d / O = TPOT; d counts the prompts'
    expert reads beside n itself, found in a fixed number of passes from d without them.
    """
    caps = np.fmin(concurrency_memory, concurrency_scheduler)
    caps = np.where(np.isnan(caps), np.inf, np.maximum(caps, 1.0))
    limit = np.where(np.isnan(tpot_slo_s), np.inf, tpot_slo_s)
    experts = (step_experts_s, num_experts, experts_per_token)
    prompt = (class_uncached_tokens, class_attention_s, prefill_compute_per_token_s * data_parallel)
    rest = (chunk_overhead_total_s, max_num_batched_tokens, prefill_per_token_s)
    batch = caps
    for _ in range(ROUNDS + 1):
        prefill = mean_over_classes(class_weight, _beside(batch, *prompt, *rest, *experts)) / data_parallel
        each = (prefill + decode_work_s) / output_tokens_mean
        reached = kernels.batch_at_step_time(limit, step_fixed_s, *experts, each)
        batch = np.maximum(np.fmin(reached, caps), 1.0)
    return batch
