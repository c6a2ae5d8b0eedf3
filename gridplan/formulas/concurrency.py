"""How many sequences a replica's KV cache holds at once: L_max, in the ways a plan asks for it.

Source: "Sizing a Serving Cluster End to End", L_max = floor(eta M / m); "Capacity Planning: From Traffic Profile to GPU
Count", section 2.1, for the average and the worst case. Data-parallel ranks inside a replica hold separate pools, and a
sequence never straddles two of them.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import count
from gridplan.formulas._types import Value
from gridplan.rounding import floor_exact, floor_ratio

__all__ = [
    "concurrency_ceiling",
    "concurrency_memory",
    "concurrency_memory_tokens",
    "concurrency_memory_worst",
]


@count
def concurrency_ceiling(kv_bytes: Value, per_seq_bytes: Value, efficiency: Value = 1.0) -> Value:
    """Sequences that fit a KV pool: L_max = floor(efficiency kv_bytes / per_seq_bytes), at least 0 [sequences].

    kv_bytes and per_seq_bytes in one unit, efficiency [1] the share of the pool that is usable after fragmentation.
    40 GB at 500 MB a sequence and 0.9; then 0.6 of 1 GB at 50 MB, where a plain floor gives 11:

    >>> concurrency_ceiling(40e9, 500e6, 0.9), concurrency_ceiling(1.0, 0.05, 0.6)
    (72, 12)
    """
    return np.maximum(floor_exact(efficiency * kv_bytes / per_seq_bytes), 0.0)


@count
def concurrency_memory(
    kv_pool_bytes_per_gpu: Value,
    kv_bytes_per_sequence_per_gpu: Value,
    kv_efficiency: Value,
    memory_magnitude_bytes: Value,
    data_parallel: Value = 1.0,
) -> Value:
    """Sequences that fit a replica, from bytes: floor(eta pool / m) dp [sequences].

    Pool and sequence in bytes of one GPU; `memory_magnitude_bytes` guards the floor where the pool is a difference (0
    when it was measured). The lesson's A100 at 220.8 tokens of 128 KiB and 3.6% of tail waste:

    >>> pool, terms = 55.035 * 2**30, (71.685 + 14.90 + 1.75) * 2**30
    >>> concurrency_memory(pool, 220.8 * 131072, 1 / 1.036, terms)
    1970
    """
    usable, terms = kv_efficiency * kv_pool_bytes_per_gpu, kv_efficiency * memory_magnitude_bytes
    return floor_ratio(usable, kv_bytes_per_sequence_per_gpu, terms) * data_parallel


@count
def concurrency_memory_tokens(
    kv_pool_tokens: Value, resident_tokens: Value, kv_efficiency: Value, data_parallel: Value = 1.0
) -> Value:
    """Sequences that fit a replica, from tokens: floor(eta tokens / (dp resident)) dp [sequences].

    kv_pool_tokens [tokens] is the whole replica's, shared evenly by its data_parallel ranks.

    >>> concurrency_memory_tokens(299584, 6000, 1.0), concurrency_memory_tokens(299584, 3500, 1.0)
    (49, 85)
    """
    return floor_exact(kv_efficiency * kv_pool_tokens / (resident_tokens * data_parallel)) * data_parallel


@count
def concurrency_memory_worst(kv_pool_tokens: Value, longest_tokens: Value, data_parallel: Value = 1.0) -> Value:
    """Sequences that fit when every one is the longest: floor(tokens / (dp longest)) dp, without eta [sequences].

    >>> concurrency_memory_worst(450846, 768)
    587
    """
    return floor_exact(kv_pool_tokens / (longest_tokens * data_parallel)) * data_parallel
