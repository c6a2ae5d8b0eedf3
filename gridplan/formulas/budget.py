"""Named terms of the memory that an engine takes beside weights and KV cache, in bytes of one GPU.

kv_pool = total x fraction - weights - sum of the terms, where the fraction is of the total (`formulas.memory`). What a
term is worth depends on the engine and its version: those constants live in the catalog, the rules here. The activation
peak has its own file.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["budget_sum_bytes", "context_share_bytes", "draft_weights_bytes_per_gpu", "lora_bytes"]

BYTES_16BIT = 2.0


@formula
def budget_sum_bytes(
    non_torch_bytes: Value,
    activation_bytes: Value,
    cuda_graphs_bytes: Value,
    lora_bytes: Value = 0.0,
    draft_weights_bytes: Value = 0.0,
    multimodal_bytes: Value = 0.0,
    reserve_bytes: Value = 0.0,
) -> Value:
    """Bytes of all named terms of one GPU together: their plain sum [bytes].

    >>> budget_sum_bytes(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    28.0
    """
    engine = non_torch_bytes + activation_bytes + cuda_graphs_bytes
    return engine + lora_bytes + draft_weights_bytes + multimodal_bytes + reserve_bytes


@formula
def context_share_bytes(context_bytes: Value, gpu_memory_utilization: Value) -> Value:
    """Bytes that a device context costs the pool of an engine that measures free memory: f C [bytes].

    SGLang keeps (1 - f) of what was free before loading. With F = T - C free of a total T, its pool F - W - (1 - f) F
    is f T - W - f C: the context counts by the fraction alone.

    >>> context_share_bytes(800e6, 0.875)
    700000000.0
    """
    return context_bytes * gpu_memory_utilization


@formula
def lora_bytes(
    max_loras: Value,
    max_lora_rank: Value,
    num_layers: Value,
    hidden_size: Value,
    query_width: Value,
    kv_width: Value,
    intermediate_size: Value,
    tensor_parallel: Value,
    kv_shards: Value,
) -> Value:
    """Bytes of the adapter slots on one GPU, allocated at start whether used or not [bytes].

    Slots times rank times 2 B times the widths of all target modules. Each module holds A (rank x inputs) and B
    (outputs x rank). q, k, v, gate and up are column-parallel: A is whole on every rank, B is sharded. o and down are
    row-parallel: A is sharded, B is whole. kv_shards = min(tp, KV heads). Source: `create_lora_weights` of vLLM's LoRA
    layers with fully_sharded_loras off (the default). Adapters of embeddings and of experts are not counted.

    >>> round(lora_bytes(1, 16, 32, 4096, 4096, 1024, 14336, 1, 1) / 2**20, 1)  # Llama-3-8B: 41.9e6 parameters
    80.0
    """
    column = 5.0 * hidden_size + (query_width + 2.0 * intermediate_size) / tensor_parallel + 2.0 * kv_width / kv_shards
    row = (query_width + intermediate_size) / tensor_parallel + 2.0 * hidden_size
    return max_loras * max_lora_rank * num_layers * (column + row) * BYTES_16BIT


@formula
def draft_weights_bytes_per_gpu(draft_weights_bytes: Value, draft_tensor_parallel: Value) -> Value:
    """Bytes of a draft model's weights on one GPU: W / tp; its KV cache is charged to the pool [bytes].

    >>> draft_weights_bytes_per_gpu(2e9, 2)
    1000000000.0
    """
    return np.divide(draft_weights_bytes, draft_tensor_parallel)
