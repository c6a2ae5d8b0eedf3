"""Whether a replica starts and holds a wanted number of sequences, by memory alone, and the first reason why not."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.feasibility import cannot_be_built
from gridplan.chain.graph import Array

__all__ = ["fails_reason_code"]


def fails_reason_code(
    dtype_supported: Array,
    tensor_parallel_legal: Array,
    pipeline_parallel_legal: Array,
    data_parallel_legal: Array,
    expert_parallel_legal: Array,
    context_parallel_legal: Array,
    request_tokens: Array,
    max_position_embeddings: Array,
    max_model_len: Array,
    kv_pool_bytes_raw: Array,
    concurrency_memory_worst: Array,
    concurrency_planned: Array,
    concurrency_counted: Array,
    concurrency_scheduler: Array,
    concurrency_wanted: Array,
    scheduler_counts: Array,
) -> Array:
    """Position of the first reason that applies among the labels of `fails_reason`, -1 where the wanted number holds.

    `concurrency_memory_worst` counts sequences of the longest length the engine admits: without one it does not start.
    `concurrency_planned` is what a plan counts of the sequence asked for at its whole length, with its `kv_efficiency`.
    """
    reasons = {
        **cannot_be_built(
            dtype_supported,
            tensor_parallel_legal,
            pipeline_parallel_legal,
            data_parallel_legal,
            expert_parallel_legal,
            context_parallel_legal,
        ),
        "catalog_value_missing": np.isnan(kv_pool_bytes_raw) | np.isnan(concurrency_counted),
        "context_exceeds_model": (request_tokens > max_position_embeddings) | (max_model_len > max_position_embeddings),
        "context_exceeds_max_model_len": request_tokens > max_model_len,
        "weights_exceed_memory": kv_pool_bytes_raw <= 0,
        "sequence_exceeds_pool": (concurrency_counted < 1) | (concurrency_memory_worst < 1) | (concurrency_planned < 1),
        "concurrency_exceeds_pool": concurrency_counted < concurrency_wanted,
        "scheduler_cap": (scheduler_counts == 1) & (concurrency_scheduler < concurrency_wanted),
    }
    ordered = sorted(reasons, key=choices("fails_reason").index)
    conditions = [np.asarray(reasons[name]) for name in ordered]
    return np.select(conditions, [code("fails_reason", name) for name in ordered], default=NULL)
