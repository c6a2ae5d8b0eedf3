"""What one replica sustains, by four models.

`littles_law` divides slots by a latency, `replica_seconds` prices a request in replica time, `queueing` (in a file of
its own) looks for the rate at which a percentile reaches its limit, `measured` takes a rate from a load sweep and
carries it to other settings in proportion to `replica_seconds`.
"""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import LIMITS, NULL, choices, code
from gridplan.chain.graph import Array, spread
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import first_given
from gridplan.chain.reads import Reads
from gridplan.rounding import floor_exact

__all__ = [
    "anchor_ratio",
    "concurrency_candidates",
    "concurrency_scheduler",
    "concurrency_slo",
    "concurrency_slo_given_rate",
    "e2e_latency_used_s",
    "lambda_analytical",
    "lambda_instance",
    "latency_given_s",
    "rate_at_e2e",
]

_MODELS = choices("capacity_model")
_LITTLE, _MEASURED, _QUEUEING = (_MODELS.index(name) for name in ("littles_law", "measured", "queueing"))


def _unlimited(limit: Array) -> Array:
    """An absent cap (NaN) as an infinite one."""
    return np.where(np.isnan(limit), np.inf, limit)


def concurrency_scheduler(max_num_seqs: Array, data_parallel: Array) -> Array:
    """Scheduler cap of a replica [sequences]: every attention rank has its own scheduler."""
    return max_num_seqs * data_parallel


def concurrency_slo(
    tpot_slo_s: Array,
    e2e_slo_s: Array,
    decode_tokens_per_s: Array,
    tensor_parallel: Array,
    pipeline_parallel: Array,
    data_parallel: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    kv_read_per_context_token_s: Array,
    step_context_tokens: Array,
    step_per_sequence_s: Array,
) -> tuple[Array, Array]:
    """Batch at which a latency limit is reached [sequences, unfloored; NaN without a limit], and which limit it is.

    A measured decode throughput of one GPU, where given, is shared by the batch: each sequence needs
    max(output / E2E, 1 / TPOT) tokens/s. Otherwise the step by bandwidth must stay within the TPOT limit.
    """
    gpus = tensor_parallel * pipeline_parallel * data_parallel
    from_rate = kernels.batch_from_decode_rate(
        decode_tokens_per_s, gpus, output_tokens_mean, _unlimited(e2e_slo_s), _unlimited(tpot_slo_s)
    )
    each = kv_read_per_context_token_s * step_context_tokens + step_per_sequence_s
    by_bandwidth = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token).batch_at_step_time(
        tpot_slo_s, each
    )
    batch = first_given(from_rate, by_bandwidth)
    by_e2e = ~np.isnan(from_rate) & (output_tokens_mean / _unlimited(e2e_slo_s) > 1 / _unlimited(tpot_slo_s))
    which = np.where(by_e2e, LIMITS.index("e2e"), LIMITS.index("tpot"))
    return np.where(np.isinf(batch), np.nan, batch), which


def concurrency_slo_given_rate(concurrency_slo_raw: Array, decode_tokens_per_s: Array) -> Array:
    """The batch that a measured decode throughput allows [sequences], NaN where none was given."""
    return np.where(np.isnan(decode_tokens_per_s), np.nan, concurrency_slo_raw)


def concurrency_candidates(
    concurrency_memory: Array, concurrency_compute_raw: Array, concurrency_slo_raw: Array, concurrency_scheduler: Array
) -> tuple[Array, Array, Array]:
    """`concurrency` (the lowest ceiling, whole), and the published compute and SLO ceilings (null if none)."""
    slo = floor_exact(concurrency_slo_raw)
    lowest = np.minimum(
        np.minimum(_unlimited(concurrency_memory), _unlimited(_whole_knee(concurrency_compute_raw))),
        np.minimum(_unlimited(slo), _unlimited(concurrency_scheduler)),
    )
    compute = np.where(np.isinf(concurrency_compute_raw), np.nan, concurrency_compute_raw)
    return np.where(np.isinf(lowest), np.nan, lowest), compute, slo


def lambda_analytical(
    concurrency_memory: Array,
    concurrency_compute_raw: Array,
    concurrency_scheduler: Array,
    concurrency_slo_given_rate: Array,
    tpot_share: Array,
    request_work_s: Array,
    prefill_latency_s: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    e2e_slo_s: Array,
) -> Array:
    """Rate by replica-seconds [req/s]: the lowest of the TPOT limit, the E2E limit and every concurrency cap.

    NaN where the machine or the lengths are unknown, or where nothing limits the rate.
    """
    reads = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token)
    rate = np.fmin(
        kernels.rate_at_tpot(tpot_share, request_work_s),
        rate_at_e2e(e2e_slo_s, prefill_latency_s, output_tokens_mean, reads, request_work_s),
    )
    for cap in (
        concurrency_memory,
        _whole_knee(concurrency_compute_raw),
        concurrency_scheduler,
        floor_exact(concurrency_slo_given_rate),
    ):
        finite = np.where(np.isinf(cap), np.nan, cap)
        at_cap = kernels.rate_at_concurrency(finite, output_tokens_mean, reads.at(finite), request_work_s)
        rate = np.fmin(rate, at_cap)
    return np.where((rate > 0) & np.isfinite(rate), rate, np.nan)


def rate_at_e2e(
    e2e_slo_s: Array, prefill_latency_s: Array, output_tokens_mean: Array, reads: Reads, request_work_s: Array
) -> Array:
    """Rate at which the mean latency is the E2E limit [req/s]; its step takes what the limit leaves a token."""
    weights = reads.step_fixed_s
    if reads.grow:
        left = np.maximum(e2e_slo_s - prefill_latency_s, 0.0) / output_tokens_mean
        weights = reads.at_step_time(left, request_work_s / output_tokens_mean)
    rate: Array = kernels.rate_at_e2e(e2e_slo_s, prefill_latency_s, output_tokens_mean, weights, request_work_s)
    return rate


def latency_given_s(e2e_latency_s: Array, e2e_slo_s: Array, e2e_latency_basis_code: Array) -> Array:
    """Latency that the contract states for Little's law [s]; the E2E limit where the basis is `slo`."""
    from_slo = np.where(e2e_latency_basis_code == code("e2e_latency_basis", "slo"), e2e_slo_s, np.nan)
    return first_given(e2e_latency_s, from_slo)


def lambda_instance(
    infeasible_reason_code: Array,
    capacity_model_code: Array,
    concurrency: Array,
    latency_given_s: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    request_work_s: Array,
    lambda_analytical: Array,
    lambda_instance_given: Array,
    measured_here: Array,
    lambda_anchor: Array,
    queueing_rate: Array,
) -> tuple[Array, Array]:
    """Rate one replica sustains [req/s], NaN where infeasible, and where it comes from."""
    weights = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token).at(concurrency)
    at_cap = kernels.rate_at_concurrency(concurrency, output_tokens_mean, weights, request_work_s)
    little = first_given(kernels.rate_littles_law(concurrency, latency_given_s), np.minimum(at_cap, lambda_analytical))
    scaled = lambda_instance_given * (lambda_analytical / lambda_anchor)
    sources = choices("capacity_source")
    measured = capacity_model_code == _MEASURED
    is_measured = measured & (measured_here == 1)
    is_scaled = measured & ~is_measured & ~np.isnan(scaled)
    rate = np.select(
        [is_measured, is_scaled, capacity_model_code == _LITTLE, capacity_model_code == _QUEUEING],
        [lambda_instance_given, scaled, little, queueing_rate],
        lambda_analytical,
    )
    source = np.select(
        [is_measured, is_scaled], [sources.index("measured"), sources.index("scaled")], sources.index("analytical")
    )
    feasible = (infeasible_reason_code == NULL) & (rate > 0)
    return np.where(feasible, rate, np.nan), np.where(feasible, source, NULL)


def anchor_ratio(capacity_source_code: Array, lambda_instance_given: Array, lambda_anchor: Array) -> Array:
    """Measured over analytical rate at the measured setting [1], null where nothing is scaled."""
    is_scaled = capacity_source_code == code("capacity_source", "scaled")
    return np.where(is_scaled, lambda_instance_given / lambda_anchor, np.nan)


def e2e_latency_used_s(
    lambda_instance: Array,
    capacity_model_code: Array,
    latency_given_s: Array,
    concurrency: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    request_work_s: Array,
    planned_latency_s: Array,
) -> Array:
    """Latency that Little's law uses [s]: given, predicted at the cap, or that of the planned point."""
    weights = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token).at(concurrency)
    at_cap = kernels.latency_at_concurrency(concurrency, output_tokens_mean, weights, request_work_s)
    of_slots = np.where(np.isnan(lambda_instance), np.nan, first_given(latency_given_s, at_cap))
    by_slots = capacity_model_code == _LITTLE
    if not np.any(by_slots):
        return spread(planned_latency_s, of_slots)
    return np.where(by_slots, of_slots, planned_latency_s)


def e2e_limit_s(e2e_slo_s: Array, decode_tokens_per_s: Array) -> Array:
    """E2E limit that holds by first principles [s]; a measured decode throughput takes its place."""
    return np.where(np.isnan(decode_tokens_per_s), e2e_slo_s, np.nan)


def _whole_knee(concurrency_compute_raw: Array) -> Array:
    """The compute ceiling in whole sequences; where FLOPs bind a lone sequence, one runs all the same."""
    return np.asarray(np.maximum(floor_exact(concurrency_compute_raw), 1.0))
