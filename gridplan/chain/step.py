"""Times of one decode step and of prefill: a given time wins over the roofline."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given

__all__ = [
    "concurrency_compute",
    "decode_batch_quoted",
    "decode_context_quoted",
    "flop_params_count",
    "kv_read_per_context_token_s",
    "kv_read_per_sequence_s",
    "machine_intensity",
    "prefill_compute_per_token_s",
    "prefill_longest_s",
    "request_work_s",
    "step_weights_read_s",
]


def flop_params_count(
    params_active: Array, params_embedding: Array, params_lm_head: Array, flop_params_code: Array
) -> Array:
    """Parameters that a token multiplies [count]: all active ones, or without embedding and lm_head."""
    matmul = params_active - params_embedding - params_lm_head
    return np.where(flop_params_code == code("flop_params", "matmul"), matmul, params_active)


def machine_intensity(machine_intensity: Array, peak_flops: Array, memory_bandwidth_bytes_per_s: Array) -> Array:
    """Compute-to-bandwidth ratio [FLOP/byte]."""
    return first_given(machine_intensity, kernels.machine_intensity(peak_flops, memory_bandwidth_bytes_per_s))


def step_weights_read_s(
    step_weights_s: Array,
    weights_read_bytes: Array,
    tensor_parallel: Array,
    memory_bandwidth_bytes_per_s: Array,
    mbu: Array,
) -> Array:
    """Weight read of one decode step [s]."""
    computed = kernels.step_weights_s(weights_read_bytes, tensor_parallel, memory_bandwidth_bytes_per_s, mbu)
    return first_given(step_weights_s, computed)


def kv_read_per_context_token_s(
    step_per_context_token_s: Array,
    kv_read_bytes_per_token_per_gpu: Array,
    pipeline_parallel: Array,
    memory_bandwidth_bytes_per_s: Array,
    mbu: Array,
    data_parallel: Array,
) -> Array:
    """KV read of one resident token in a decode step [s]."""
    computed = kernels.step_per_context_token_s(
        kv_read_bytes_per_token_per_gpu, pipeline_parallel, memory_bandwidth_bytes_per_s, mbu, data_parallel
    )
    return first_given(step_per_context_token_s, computed)


def kv_read_per_sequence_s(kv_read_per_context_token_s: Array, step_context_tokens: Array) -> Array:
    """KV read of one sequence in a decode step [s]."""
    return kv_read_per_context_token_s * step_context_tokens


def prefill_compute_per_token_s(
    prefill_per_token_s: Array,
    flop_params_count: Array,
    tensor_parallel: Array,
    peak_flops: Array,
    mfu: Array,
    data_parallel: Array,
) -> Array:
    """Replica time of prefilling one prompt token [s]."""
    computed = kernels.prefill_per_token_s(flop_params_count, tensor_parallel, peak_flops, mfu, data_parallel)
    return first_given(prefill_per_token_s, computed)


def prefill_longest_s(
    prefill_compute_per_token_s: Array, data_parallel: Array, prompt_tokens_max: Array, prefix_hit_ratio: Array
) -> Array:
    """Unqueued prefill of the longest prompt [s]; one prompt runs on one attention rank."""
    return np.asarray(prefill_compute_per_token_s * data_parallel * prompt_tokens_max * (1 - prefix_hit_ratio))


def concurrency_compute(
    compute_ceiling_code: Array,
    machine_intensity_used: Array,
    weight_bits: Array,
    flop_params_count: Array,
    weights_read_bytes: Array,
    step_context_tokens: Array,
    kv_read_bytes_per_token: Array,
) -> Array:
    """Batch beyond which a decode step is bound by FLOPs [sequences]; inf where it never is, NaN where unknown."""
    weights_only = kernels.compute_ceiling(machine_intensity_used, weight_bits / 8)
    with_kv = kernels.concurrency_compute_with_kv(
        flop_params_count, weights_read_bytes, machine_intensity_used, step_context_tokens, kv_read_bytes_per_token
    )
    is_weights_only = compute_ceiling_code == code("compute_ceiling_model", "weights_only")
    return np.asarray(np.where(is_weights_only, weights_only, with_kv))


def decode_batch_quoted(decode_batch: Array, concurrency: Array) -> Array:
    """Batch of the quoted decode step [sequences]: as given, else the concurrency of the cell."""
    whole = np.where(concurrency == 0, np.nan, concurrency)
    return first_given(np.where(np.isnan(concurrency), np.nan, decode_batch), whole)


def decode_context_quoted(
    decode_context_tokens: Array, decode_batch: Array, resident_tokens: Array, step_context_tokens: Array
) -> Array:
    """Context of the quoted decode step [tokens].

    As given; else a stated batch is quoted at its resident context, and the cell's own concurrency at what a step
    reads.
    """
    by_convention = np.where(np.isnan(decode_batch), step_context_tokens, resident_tokens)
    return first_given(decode_context_tokens, by_convention)


def request_work_s(prefill_work_s: Array, decode_work_s: Array) -> Array:
    """Replica time one request takes [s]: its prefill and its share of decode steps, without the weight read."""
    return prefill_work_s + decode_work_s


def prefill_latency_s(prefill_work_s: Array, data_parallel: Array) -> Array:
    """Unqueued prefill of the mean prompt as its request sees it [s]; one prompt runs on one attention rank."""
    return prefill_work_s * data_parallel
