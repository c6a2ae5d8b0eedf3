"""What weights and workspace leave of a GPU's memory: the pool that is left for KV cache.

Source: "Capacity Planning: From Traffic Profile to GPU Count", section 2.1, and the memory accounting of vLLM (a
fraction of the total) and TensorRT-LLM (a fraction of what is free after loading). Marketed sizes are GB = 1e9 bytes,
what a driver or an engine reports is GiB = 2**30 bytes; here everything is bytes.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import count, formula
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact, floor_exact, floor_ratio

__all__ = [
    "blocks_for_tokens",
    "kv_pool_bytes_per_gpu",
    "kv_pool_bytes_raw",
    "kv_pool_tokens",
    "memory_magnitude_bytes",
    "memory_shortfall_bytes_per_gpu",
    "pool_share",
    "requests_filling_pool",
    "usable_memory_bytes",
]


@formula
def usable_memory_bytes(gpu_memory_bytes: Value, gpu_memory_utilization: Value) -> Value:
    """Bytes an engine allows itself when its fraction is of the total: T f [bytes].

    >>> round(usable_memory_bytes(79.65 * 2**30, 0.90) / 2**30, 3)
    71.685
    """
    return gpu_memory_bytes * gpu_memory_utilization


@formula
def kv_pool_bytes_raw(
    gpu_memory_bytes: Value,
    gpu_memory_utilization: Value,
    weights_bytes_per_gpu: Value,
    workspace_bytes: Value,
    fraction_of_free: Value = False,
) -> Value:
    """Bytes left for KV cache on one GPU, negative when the weights do not fit [bytes].

    T f - W - ws where the fraction f is of the total T; (T - W - ws) f where it is of what is free after loading
    (`fraction_of_free`, a flag that broadcasts too). All in bytes per GPU.

    >>> round(kv_pool_bytes_raw(79.65 * 2**30, 0.90, 14.90 * 2**30, 1.75 * 2**30) / 2**30, 6)
    55.035
    >>> kv_pool_bytes_raw(80e9, 0.9, 20e9, 10e9, fraction_of_free=True)
    45000000000.0
    """
    if np.ndim(fraction_of_free) == 0:
        if fraction_of_free:
            return (gpu_memory_bytes - weights_bytes_per_gpu - workspace_bytes) * gpu_memory_utilization
        return gpu_memory_bytes * gpu_memory_utilization - weights_bytes_per_gpu - workspace_bytes
    of_free = (gpu_memory_bytes - weights_bytes_per_gpu - workspace_bytes) * gpu_memory_utilization
    of_total = gpu_memory_bytes * gpu_memory_utilization - weights_bytes_per_gpu - workspace_bytes
    return np.where(fraction_of_free != 0.0, of_free, of_total)


@formula
def kv_pool_bytes_per_gpu(kv_pool_bytes_raw: Value) -> Value:
    """Bytes of KV pool on one GPU, 0 when nothing is left [bytes].

    >>> kv_pool_bytes_per_gpu(-3.0), kv_pool_bytes_per_gpu(5.0)
    (0.0, 5.0)
    """
    return np.maximum(kv_pool_bytes_raw, 0.0)


@formula
def memory_shortfall_bytes_per_gpu(kv_pool_bytes_raw: Value) -> Value:
    """Bytes that are missing on one GPU before anything can be cached, 0 when weights and workspace fit [bytes].

    >>> memory_shortfall_bytes_per_gpu(-3.0), memory_shortfall_bytes_per_gpu(5.0)
    (3.0, 0.0)
    """
    return np.maximum(-kv_pool_bytes_raw, 0.0) + 0.0


@formula
def memory_magnitude_bytes(
    gpu_memory_bytes: Value, gpu_memory_utilization: Value, weights_bytes_per_gpu: Value, workspace_bytes: Value
) -> Value:
    """Absolute sum of the terms of the pool, which sets the float64 error of their difference: |T f| + |W| + |ws|.

    >>> memory_magnitude_bytes(80e9, 0.5, 10e9, 5e9)
    55000000000.0
    """
    return np.abs(gpu_memory_bytes * gpu_memory_utilization) + np.abs(weights_bytes_per_gpu) + np.abs(workspace_bytes)


@count
def kv_pool_tokens(
    kv_pool_bytes_per_gpu: Value,
    kv_bytes_per_token_per_gpu: Value,
    kv_block_tokens: Value,
    memory_magnitude_bytes: Value,
    data_parallel: Value = 1.0,
) -> Value:
    """Tokens of KV cache that one replica holds, in whole blocks: floor(pool / (block kappa)) block dp [tokens].

    kv_bytes_per_token_per_gpu [bytes] is one rank's; data_parallel ranks keep separate pools. `memory_magnitude_bytes`
    guards the floor where the pool is a difference (0 when it was measured). The lesson's A100, blocks of 1 and 16:

    >>> pool, terms = 55.035 * 2**30, (71.685 + 14.90 + 1.75) * 2**30
    >>> kv_pool_tokens(pool, 131072, 1, terms), kv_pool_tokens(pool, 131072, 16, terms)
    (450846, 450832)
    """
    blocks = floor_ratio(kv_pool_bytes_per_gpu, kv_bytes_per_token_per_gpu * kv_block_tokens, memory_magnitude_bytes)
    return blocks * (kv_block_tokens * data_parallel)


@count
def blocks_for_tokens(tokens: Value, kv_block_tokens: Value) -> Value:
    """Blocks that a sequence of so many tokens occupies: ceil(tokens / block) [count].

    >>> blocks_for_tokens(221, 16)
    14
    """
    return ceil_exact(tokens / kv_block_tokens)


@formula
def pool_share(request_tokens: Value, kv_pool_tokens: Value) -> Value:
    """Share of a replica's pool that one request holds: tokens / pool [1].

    >>> round(pool_share(131072, 702879), 4)
    0.1865
    """
    return request_tokens / kv_pool_tokens


@count
def requests_filling_pool(request_tokens: Value, kv_pool_tokens: Value) -> Value:
    """Requests of one size that a pool holds, so that one more does not fit: floor(pool / tokens) [count].

    >>> requests_filling_pool(131072, 702879)
    5
    """
    return floor_exact(kv_pool_tokens / request_tokens)
