"""Time of a decode step and of prefill from bandwidth and FLOP/s, and the batches at which one or the other binds.

A decode step reads the weights once and every running sequence's cache: t = t_w + B (k c + t_seq), for a batch of B
sequences with c tokens of context. Prefill multiplies: p seconds per prompt token. Peak rates are dense; `mbu` and
`mfu` are the achieved shares. Tensor parallelism divides both times, pipeline stages work in turn and do not.
Source: "Capacity Planning: From Traffic Profile to GPU Count", sections 2.2 and 2.3; "Inference system design chains";
"Sizing a Serving Cluster End to End" for the compute ceiling; Pope et al. 2022, arXiv:2211.05102, for the step model.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "batch_from_decode_rate",
    "compute_ceiling",
    "concurrency_compute_with_kv",
    "decode_bytes",
    "decode_step_s",
    "machine_intensity",
    "prefill_flop",
    "prefill_per_token_s",
    "prefill_s",
    "step_per_context_token_s",
    "step_weights_s",
    "tpot_batch_bandwidth",
    "tpot_batch_compute",
]

FLOP_PER_PARAM = 2.0
"""One multiplication and one addition per parameter and token (fact)."""


@formula
def machine_intensity(peak_flops: Value, memory_bandwidth_bytes_per_s: Value) -> Value:
    """Compute-to-bandwidth ratio I = F / BW [FLOP/byte].

    >>> machine_intensity(600e12, 2e12)
    300.0
    """
    return peak_flops / memory_bandwidth_bytes_per_s


@formula
def step_weights_s(
    weights_read_bytes: Value, tensor_parallel: Value, memory_bandwidth_bytes_per_s: Value, mbu: Value
) -> Value:
    """Weight read of a decode step, whatever the batch: t_w = W / (tp BW mbu) [s].

    weights_read_bytes [bytes] of the whole model, memory_bandwidth_bytes_per_s [bytes/s] of one GPU, mbu [1].

    >>> round(step_weights_s(70.55e9, 4, 3.35e12, 0.75) * 1e3, 3)
    7.02
    """
    return weights_read_bytes / (tensor_parallel * memory_bandwidth_bytes_per_s * mbu)


@formula
def step_per_context_token_s(
    kv_bytes_per_token_per_gpu: Value,
    pipeline_parallel: Value,
    memory_bandwidth_bytes_per_s: Value,
    mbu: Value,
    data_parallel: Value = 1.0,
) -> Value:
    """Cache read per sequence and token of context in a decode step: k = kappa pp / (BW mbu dp) [s].

    Every stage reads its share of the layers in turn, so the stages add up; data-parallel ranks read at the same time.

    >>> round(step_per_context_token_s(81920, 1, 3.35e12, 0.75) * 1e9, 2)
    32.6
    """
    return kv_bytes_per_token_per_gpu * pipeline_parallel / (memory_bandwidth_bytes_per_s * mbu * data_parallel)


@formula
def prefill_per_token_s(
    flop_params: Value, tensor_parallel: Value, peak_flops: Value, mfu: Value, data_parallel: Value = 1.0
) -> Value:
    """Prefill of one prompt token: p = 2 N / (tp F mfu dp) [s].

    flop_params [count] are the parameters that multiply, peak_flops [FLOP/s] of one GPU, mfu [1].

    >>> round(prefill_per_token_s(70.55e9, 4, 1979e12, 0.5) * 1e6, 3)
    35.649
    """
    return FLOP_PER_PARAM * flop_params / (tensor_parallel * peak_flops * mfu * data_parallel)


@formula
def decode_bytes(
    weights_read_bytes: Value, decode_batch: Value, decode_context_tokens: Value, kv_bytes_per_token: Value
) -> Value:
    """Bytes that one decode step moves in the whole model: W + B c kappa [bytes].

    >>> round(decode_bytes(16.06e9, 32, 220.8, 131072) / 1e9, 3)
    16.986
    """
    return weights_read_bytes + decode_batch * decode_context_tokens * kv_bytes_per_token


@formula
def decode_step_s(
    step_weights_s: Value,
    step_per_context_token_s: Value,
    decode_batch: Value,
    decode_context_tokens: Value,
    step_per_sequence_s: Value = 0.0,
) -> Value:
    """Time of a decode step: t_w + B (k c + t_seq) [s].

    >>> round(decode_step_s(16.06e9 / 1550e9, 131072 / 1550e9, 32, 220.8) * 1e3, 3)
    10.959
    """
    return step_weights_s + decode_batch * (step_per_context_token_s * decode_context_tokens + step_per_sequence_s)


@formula
def prefill_flop(flop_params: Value, prompt_tokens: Value) -> Value:
    """Work of a prefill, without attention's quadratic part: 2 N P [FLOP].

    >>> round(prefill_flop(8.03e9, 512) / 1e12, 3)
    8.223
    """
    return FLOP_PER_PARAM * flop_params * prompt_tokens


@formula
def prefill_s(prefill_per_token_s: Value, prompt_tokens: Value) -> Value:
    """Time of a prefill: p P [s].

    >>> round(prefill_s(2 * 8.03e9 / 140e12, 512) * 1e3, 2)
    58.73
    """
    return prefill_per_token_s * prompt_tokens


@formula
def compute_ceiling(machine_intensity: Value, bytes_per_param: Value) -> Value:
    """Batch at which weight-bound decoding meets the machine's ratio: B = I b / 2 [sequences], from 2 B / b = I.

    machine_intensity [FLOP/byte], bytes_per_param [bytes].

    >>> compute_ceiling(300, 2)
    300.0
    """
    return machine_intensity * bytes_per_param / FLOP_PER_PARAM


@formula
def concurrency_compute_with_kv(
    flop_params: Value,
    weights_read_bytes: Value,
    machine_intensity: Value,
    step_context_tokens: Value,
    kv_bytes_per_token: Value,
) -> Value:
    """Batch at which a decode step's FLOPs take as long as its bytes, cache included [sequences].

    B* = W / (2 N / I - S kappa); beyond it throughput is flat. Each sequence adds 2 N FLOP and S kappa bytes, so it is
    infinite where the bytes outweigh the FLOPs. Without cache it is the compute ceiling:

    >>> concurrency_compute_with_kv(8e9, 16e9, 300, 0, 131072)
    300.0
    >>> concurrency_compute_with_kv(8e9, 16e9, 300, 1000, 131072)
    inf
    """
    gain = FLOP_PER_PARAM * flop_params / machine_intensity - step_context_tokens * kv_bytes_per_token
    return weights_read_bytes / np.maximum(gain, 0.0)


@formula
def tpot_batch_bandwidth(
    step_weights_s: Value,
    step_per_context_token_s: Value,
    step_context_tokens: Value,
    tpot_slo_s: Value,
    step_per_sequence_s: Value = 0.0,
) -> Value:
    """Batch at which a decode step takes as long as the TPOT limit: (TPOT - t_w) / (k c + t_seq), not rounded.

    0 where the weight read alone takes that long, infinite without a limit (tpot_slo_s infinite).

    >>> round(tpot_batch_bandwidth(16.06e9 / 1550e9, 131072 / 1550e9, 220.8, 0.025), 2)
    784.02
    """
    per_sequence_s = step_per_context_token_s * step_context_tokens + step_per_sequence_s
    return np.maximum(tpot_slo_s - step_weights_s, 0.0) / per_sequence_s


@formula
def tpot_batch_compute(flop_params: Value, achieved_flops: Value, tpot_slo_s: Value) -> Value:
    """Batch whose FLOPs take as long as the TPOT limit: TPOT F / (2 N) [sequences], not rounded.

    achieved_flops [FLOP/s] is peak times mfu of the whole replica.

    >>> round(tpot_batch_compute(8.03e9, 140e12, 0.025), 2)
    217.93
    """
    return tpot_slo_s * achieved_flops / (FLOP_PER_PARAM * flop_params)


@formula
def batch_from_decode_rate(
    decode_tokens_per_s: Value,
    tensor_parallel: Value,
    output_tokens_mean: Value,
    e2e_slo_s: Value,
    tpot_slo_s: Value,
) -> Value:
    """Sequences that a measured decode rate serves within the limits: D tp / max(O / E2E, 1 / TPOT) [sequences].

    decode_tokens_per_s [tok/s] of one GPU; each sequence needs the larger of the two token rates. A limit that is not
    set is infinite; with none set the result is infinite. 1,000 tok/s, 500 tokens in 2 s:

    >>> batch_from_decode_rate(1000, 1, 500, 2.0, float("inf"))
    4.0
    """
    needed = np.maximum(output_tokens_mean / e2e_slo_s, 1.0 / tpot_slo_s)
    return decode_tokens_per_s * tensor_parallel / needed
