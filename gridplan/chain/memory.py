"""Memory of one GPU and of one replica: what is given wins over what is computed.

NaN means "not given" for an input and "unknown" for a result; it never limits anything.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels

__all__ = [
    "concurrency_memory",
    "first_given",
    "kv_bytes_per_sequence",
    "kv_bytes_per_sequence_per_gpu",
    "kv_bytes_per_token",
    "kv_bytes_per_token_per_gpu",
    "kv_pool_bytes_per_gpu",
    "kv_pool_bytes_raw",
    "kv_pool_tokens",
    "longest_tokens",
    "memory_magnitude_bytes",
]


def first_given(preferred: Array, fallback: Array) -> Array:
    """`preferred` where it is given, else `fallback`."""
    absent = np.isnan(preferred)
    # Mostly an input that nobody gave, on few dimensions: then there is nothing to choose in each cell.
    if np.all(absent):
        return spread(fallback, preferred)
    return np.where(absent, fallback, preferred)


def kv_bytes_per_token(
    kv_bytes_per_token_given: Array,
    kv_is_mla: Array,
    kv_layers: Array,
    kv_heads: Array,
    head_dim: Array,
    kv_lora_rank: Array,
    qk_rope_head_dim: Array,
    kv_bits: Array,
) -> Array:
    """KV bytes of one token over the whole model [bytes]."""
    plain = kernels.kv_bytes_per_token_attention(kv_layers, kv_heads, head_dim, kv_bits / 8)
    latent = kernels.kv_bytes_per_token_mla(kv_layers, kv_lora_rank, qk_rope_head_dim, kv_bits / 8)
    return first_given(kv_bytes_per_token_given, np.where(kv_is_mla == 1, latent, plain))


def kv_bytes_per_token_per_gpu(
    kv_bytes_per_token: Array,
    kv_is_mla: Array,
    kv_layers: Array,
    kv_heads: Array,
    head_dim: Array,
    kv_lora_rank: Array,
    qk_rope_head_dim: Array,
    kv_bits: Array,
    tensor_parallel: Array,
    pipeline_parallel: Array,
) -> Array:
    """KV bytes of one token on one rank [bytes].

    A given figure per token is sharded as the model's own heads are; without a known model it is split evenly.
    """
    plain = kernels.kv_bytes_per_token_per_gpu_attention(
        kv_layers, kv_heads, head_dim, kv_bits / 8, tensor_parallel, pipeline_parallel
    )
    latent = kernels.kv_bytes_per_token_per_gpu_mla(
        kv_layers, kv_lora_rank, qk_rope_head_dim, kv_bits / 8, pipeline_parallel
    )
    whole = np.where(
        kv_is_mla == 1,
        kernels.kv_bytes_per_token_mla(kv_layers, kv_lora_rank, qk_rope_head_dim, kv_bits / 8),
        kernels.kv_bytes_per_token_attention(kv_layers, kv_heads, head_dim, kv_bits / 8),
    )
    rank = np.where(kv_is_mla == 1, latent, plain)
    # A figure that was not overridden keeps the rank's exact bytes: no detour over a ratio.
    scaled = np.where(whole == kv_bytes_per_token, rank, rank * (kv_bytes_per_token / whole))
    return first_given(scaled, kv_bytes_per_token / (tensor_parallel * pipeline_parallel))


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


def kv_pool_tokens(
    kv_pool_tokens_given: Array,
    kv_pool_bytes_per_gpu: Array,
    kv_bytes_per_token_per_gpu: Array,
    kv_block_tokens: Array,
    memory_magnitude_bytes: Array,
    data_parallel: Array,
) -> Array:
    """Tokens that the KV pool of a replica holds [tokens], in whole blocks."""
    computed = kernels.kv_pool_tokens(
        kv_pool_bytes_per_gpu, kv_bytes_per_token_per_gpu, kv_block_tokens, memory_magnitude_bytes, data_parallel
    )
    return first_given(kv_pool_tokens_given, computed)


def kv_bytes_per_sequence(
    kv_bytes_per_sequence_given: Array, resident_tokens: Array, kv_bytes_per_token: Array
) -> Array:
    """KV bytes of one sequence over the whole model [bytes]."""
    return first_given(kv_bytes_per_sequence_given, kernels.kv_bytes_per_sequence(resident_tokens, kv_bytes_per_token))


def kv_bytes_per_sequence_per_gpu(
    kv_bytes_per_sequence_given: Array,
    resident_tokens: Array,
    kv_bytes_per_token_per_gpu: Array,
    tensor_parallel: Array,
    pipeline_parallel: Array,
) -> Array:
    """KV bytes of one sequence on one rank [bytes]; a given figure is split evenly over the ranks."""
    computed = kernels.kv_bytes_per_sequence(resident_tokens, kv_bytes_per_token_per_gpu)
    return first_given(kv_bytes_per_sequence_given / (tensor_parallel * pipeline_parallel), computed)


def concurrency_memory(
    kv_pool_bytes_per_gpu: Array,
    kv_bytes_per_sequence_per_gpu: Array,
    kv_efficiency: Array,
    memory_magnitude_bytes: Array,
    data_parallel: Array,
    kv_pool_tokens_given: Array,
    resident_tokens: Array,
    kv_bytes_per_sequence_given: Array,
) -> Array:
    """Sequences that the KV pool of a replica holds at the resident context [sequences]."""
    by_bytes = kernels.concurrency_memory(
        kv_pool_bytes_per_gpu, kv_bytes_per_sequence_per_gpu, kv_efficiency, memory_magnitude_bytes, data_parallel
    )
    by_tokens = kernels.concurrency_memory_tokens(kv_pool_tokens_given, resident_tokens, kv_efficiency, data_parallel)
    # Bytes given for a sequence count against the bytes of the pool, also where the pool was measured in tokens.
    return np.where(np.isnan(kv_bytes_per_sequence_given), first_given(by_tokens, by_bytes), by_bytes)


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
