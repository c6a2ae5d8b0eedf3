"""Memory of one GPU and of one replica: what is given wins over what is computed.

NaN means "not given" for an input and "unknown" for a result; it never limits anything.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels

__all__ = [
    "as_it_is",
    "first_given",
    "kv_pool_bytes_per_gpu",
    "kv_pool_bytes_raw",
    "longest_tokens",
    "memory_magnitude_bytes",
    "weights_rank_ratio",
]


def first_given(preferred: Array, fallback: Array) -> Array:
    """`preferred` where it is given, else `fallback`."""
    absent = np.isnan(preferred)
    # Mostly an input that nobody gave, on few dimensions: then there is nothing to choose in each cell.
    if np.all(absent):
        return spread(fallback, preferred)
    return np.where(absent, fallback, preferred)


def weights_rank_ratio(
    num_layers: Array,
    num_moe_layers: Array,
    num_experts: Array,
    kv_heads: Array,
    weights_share_experts: Array,
    weights_share_embedding: Array,
    weights_share_lm_head: Array,
    weights_share_replicated: Array,
    weights_share_kv_projection: Array,
    expert_padding: Array,
    tensor_parallel: Array,
    pipeline_parallel: Array,
    moe_data_parallel: Array,
    moe_expert_parallel: Array,
) -> Array:
    """Weights on the fullest rank over an even split [1]; 1 without a model."""
    dense = kernels.dense_rank_ratio(num_layers, pipeline_parallel)
    moe = kernels.moe_stage_ratio(num_layers, num_moe_layers, pipeline_parallel)
    ratio: Array = kernels.weights_rank_ratio(
        dense,
        weights_share_experts,
        kernels.experts_rank_ratio(num_experts, moe_expert_parallel, moe_data_parallel, moe, expert_padding),
        weights_share_embedding + weights_share_lm_head,
        kernels.vocabulary_rank_ratio(weights_share_embedding, weights_share_lm_head, pipeline_parallel),
        weights_share_replicated,
        # Routers lie in the layers with experts, down projections in all: the fuller of the two stages bounds both.
        kernels.replicated_rank_ratio(tensor_parallel, np.maximum(dense, moe)),
        weights_share_kv_projection,
        kernels.kv_projection_rank_ratio(kv_heads, tensor_parallel, dense),
    )
    return ratio


def as_it_is(value: Array) -> Array:
    """A figure that is an output under another name: a term of the budget, or one figure for what else has two."""
    return value


def kv_pool_bytes_raw(
    gpu_memory_bytes: Array,
    gpu_memory_utilization: Array,
    weights_bytes_per_gpu: Array,
    workspace_bytes: Array,
    fraction_of_free: Array,
    kv_pool_bytes_given: Array,
    kv_pool_tokens_given: Array,
    kv_bytes_per_token_per_gpu: Array,
    data_parallel: Array,
) -> Array:
    """KV pool of one GPU before clipping [bytes]; negative where weights and workspace do not fit.

    A measured pool wins: in bytes as given, in tokens times the bytes of a token.
    """
    of_total = kernels.kv_pool_bytes_raw(
        gpu_memory_bytes, gpu_memory_utilization, weights_bytes_per_gpu, workspace_bytes, False
    )
    of_free = kernels.kv_pool_bytes_raw(
        gpu_memory_bytes, gpu_memory_utilization, weights_bytes_per_gpu, workspace_bytes, True
    )
    computed = np.where(fraction_of_free == 1, of_free, of_total)
    from_tokens = kv_pool_tokens_given / data_parallel * kv_bytes_per_token_per_gpu
    return first_given(kv_pool_bytes_given, first_given(from_tokens, computed))


def kv_pool_bytes_per_gpu(kv_pool_bytes_raw: Array) -> Array:
    """KV pool of one GPU [bytes], 0 where weights and workspace do not fit."""
    return np.maximum(kv_pool_bytes_raw, 0.0)


def longest_tokens(max_model_len: Array, context_tokens_max: Array) -> Array:
    """Length the pool must hold once [tokens]: the engine's limit if stated, else the longest request."""
    return first_given(max_model_len, context_tokens_max)


def memory_magnitude_bytes(
    gpu_memory_bytes: Array,
    gpu_memory_utilization: Array,
    weights_bytes_per_gpu: Array,
    workspace_bytes: Array,
    kv_pool_bytes_per_gpu: Array,
) -> Array:
    """Size of the terms behind the pool [bytes], which bounds its rounding error; the pool itself where given."""
    computed = kernels.memory_magnitude_bytes(
        gpu_memory_bytes, gpu_memory_utilization, weights_bytes_per_gpu, workspace_bytes
    )
    return first_given(computed, kv_pool_bytes_per_gpu)
