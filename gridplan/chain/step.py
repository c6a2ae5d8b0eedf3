"""Times of one decode step and of prefill: a given time wins over the roofline."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import code
from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given
from gridplan.chain.reads import Reads

__all__ = [
    "all_reduce_token_s",
    "concurrency_compute",
    "decode_batch_quoted",
    "decode_context_quoted",
    "flop_params_count",
    "kv_read_per_context_token_s",
    "kv_read_per_sequence_s",
    "machine_intensity",
    "prefill_compute_per_token_s",
    "request_work_s",
    "step_experts_s",
    "step_fixed_s",
    "step_per_sequence_s",
    "step_weights_least_s",
    "step_weights_read_s",
    "tpot_share",
    "weights_moved_bytes",
]


def flop_params_count(
    params_active: Array, params_embedding: Array, params_lm_head: Array, flop_params_code: Array
) -> Array:
    """Parameters that a token multiplies [count]: all active ones, or without embedding and lm_head."""
    # A table that nobody counted is not taken off.
    matmul = params_active - np.nan_to_num(params_embedding) - np.nan_to_num(params_lm_head)
    return np.where(flop_params_code == code("flop_params", "matmul"), matmul, params_active)


def machine_intensity(machine_intensity: Array, peak_flops: Array, memory_bandwidth_bytes_per_s: Array) -> Array:
    """Compute-to-bandwidth ratio [FLOP/byte]."""
    return first_given(machine_intensity, kernels.machine_intensity(peak_flops, memory_bandwidth_bytes_per_s))


def step_fixed_s(
    step_weights_s: Array,
    weights_read_bytes: Array,
    experts_read_bytes: Array,
    tensor_parallel: Array,
    memory_bandwidth_bytes_per_s: Array,
    mbu: Array,
    num_layers: Array,
    step_overhead_s: Array,
    layer_overhead_s: Array,
    all_reduce_s: Array,
) -> Array:
    """What every decode step takes, whatever its batch [s]: weights outside the routed experts, and overheads."""
    always = weights_read_bytes - experts_read_bytes
    read = kernels.step_weights_s(always, tensor_parallel, memory_bandwidth_bytes_per_s, mbu)
    # Without a model there are no layers to charge.
    layers = np.nan_to_num(num_layers)
    overheads = kernels.step_overheads_s(step_overhead_s, layer_overhead_s, layers, tensor_parallel, all_reduce_s)
    return first_given(step_weights_s, read + overheads)


def step_experts_s(
    step_weights_s: Array,
    experts_read_bytes: Array,
    tensor_parallel: Array,
    moe_data_parallel: Array,
    memory_bandwidth_bytes_per_s: Array,
    mbu_experts: Array,
) -> Array:
    """Read of all routed experts [s], over all ranks that share them; 0 in a dense model and beside a given t_w."""
    ranks = tensor_parallel * moe_data_parallel
    read = kernels.step_experts_s(experts_read_bytes, ranks, memory_bandwidth_bytes_per_s, mbu_experts)
    none = (experts_read_bytes == 0) | ~np.isnan(step_weights_s)
    return np.where(none, 0.0, read)


def step_weights_read_s(
    step_fixed_s: Array, step_experts_s: Array, num_experts: Array, experts_per_token: Array, decode_batch_quoted: Array
) -> Array:
    """The part of a decode step that its context does not change, at the quoted batch, or at one sequence [s]."""
    batch = np.where(np.isnan(decode_batch_quoted), 1.0, decode_batch_quoted)
    return spread(Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token).at(batch), batch)


def weights_moved_bytes(
    weights_read_bytes: Array,
    experts_read_bytes: Array,
    num_experts: Array,
    experts_per_token: Array,
    decode_batch_quoted: Array,
) -> Array:
    """Weights that the quoted decode step moves in the whole model [bytes]: of routed experts those it touches."""
    share = kernels.experts_touched_share(num_experts, experts_per_token, decode_batch_quoted)
    idle = np.where(experts_read_bytes == 0, 0.0, experts_read_bytes * (1.0 - share))
    return spread(weights_read_bytes - idle, decode_batch_quoted)


def step_weights_least_s(
    step_fixed_s: Array, step_experts_s: Array, num_experts: Array, experts_per_token: Array
) -> Array:
    """The least of it, in a step of one sequence [s]."""
    return Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token).at(np.ones(()))


def tpot_share(
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    tpot_slo_s: Array,
    request_work_s: Array,
    output_tokens_mean: Array,
) -> Array:
    """Share of a replica left for work that grows with traffic at the TPOT limit [1].

    The batch there reads the experts it touches: n = x O TPOT sequences at the rate x of the limit.
    """
    reads = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token)
    per_sequence_s = request_work_s / output_tokens_mean
    return spread(kernels.tpot_share(reads.at_step_time(tpot_slo_s, per_sequence_s), tpot_slo_s), per_sequence_s)


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


def all_reduce_token_s(
    prefill_stated: Array,
    num_layers: Array,
    hidden_size: Array,
    tensor_parallel: Array,
    link_bandwidth_bytes_per_s: Array,
) -> Array:
    """All-reduce bytes of one token of a rank's step [s]; inside a stated prefill already."""
    bytes_s = kernels.all_reduce_per_token_s(num_layers, hidden_size, tensor_parallel, link_bandwidth_bytes_per_s)
    return np.where(prefill_stated == 1, 0.0, bytes_s)


def prefill_compute_per_token_s(
    prefill_per_token_s: Array,
    flop_params_count: Array,
    tensor_parallel: Array,
    peak_flops: Array,
    mfu: Array,
    data_parallel: Array,
    all_reduce_token_s: Array,
) -> Array:
    """Replica time of one prompt token outside attention [s]: its multiplications and all-reduces."""
    computed = kernels.prefill_per_token_s(flop_params_count, tensor_parallel, peak_flops, mfu, data_parallel)
    return first_given(prefill_per_token_s, computed + all_reduce_token_s / data_parallel)


def step_per_sequence_s(
    step_per_sequence_given_s: Array,
    decode_stated: Array,
    sequence_overhead_s: Array,
    prefill_compute_per_token_s: Array,
    data_parallel: Array,
) -> Array:
    """What a sequence adds to a step beside its cache [s]; nothing where the step is stated as a whole."""
    computed = kernels.step_per_sequence_total_s(sequence_overhead_s, prefill_compute_per_token_s, data_parallel)
    return first_given(step_per_sequence_given_s, np.where(decode_stated == 1, 0.0, computed))


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
