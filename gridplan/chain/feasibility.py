"""Whether a cell has a plan, and the first reason why not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import LIMITS, NULL, TIE, choices, code
from gridplan.chain.graph import Array
from gridplan.formulas.replica.held import LATENCIES
from gridplan.rounding import floor_exact

__all__ = [
    "CANNOT_BE_BUILT",
    "best_possible_s",
    "cannot_be_built",
    "infeasible_reason_code",
    "physical_reason_code",
    "unloaded_s",
    "where_feasible",
    "where_reachable",
]

CANNOT_BE_BUILT = (
    "dtype_unsupported_by_gpu",
    "tensor_parallel_illegal",
    "pipeline_parallel_illegal",
    "data_parallel_illegal",
    "expert_parallel_illegal",
    "context_parallel_illegal",
)
"""Reasons that no amount of memory helps against."""

_MODELS = choices("capacity_model")
_LITTLE, _MEASURED, _QUEUEING = (_MODELS.index(name) for name in ("littles_law", "measured", "queueing"))


def cannot_be_built(*supported: Array) -> dict[str, Array]:
    """Conditions of the reasons of `CANNOT_BE_BUILT`, from flags in their order: 1 where a format or split is legal."""
    return {name: flag == 0 for name, flag in zip(CANNOT_BE_BUILT, supported, strict=True)}


def physical_reason_code(
    dtype_supported: Array,
    tensor_parallel_legal: Array,
    pipeline_parallel_legal: Array,
    data_parallel_legal: Array,
    expert_parallel_legal: Array,
    context_parallel_legal: Array,
    longest_tokens: Array,
    context_tokens_max: Array,
    max_position_embeddings: Array,
    max_model_len: Array,
    catalog_complete: Array,
    kv_pool_bytes_raw: Array,
    concurrency_memory: Array,
    concurrency_memory_worst: Array,
) -> Array:
    """Position of the first reason why a replica cannot run at all among the labels of `infeasible_reason`, else -1."""
    reasons = {
        **cannot_be_built(
            dtype_supported,
            tensor_parallel_legal,
            pipeline_parallel_legal,
            data_parallel_legal,
            expert_parallel_legal,
            context_parallel_legal,
        ),
        "context_exceeds_model": (context_tokens_max > max_position_embeddings)
        | (context_tokens_max > max_model_len)
        | (max_model_len > max_position_embeddings),
        "catalog_value_missing": catalog_complete == 0,
        "weights_exceed_memory": kv_pool_bytes_raw <= 0,
        "sequence_exceeds_pool": (concurrency_memory < 1) | (concurrency_memory_worst < 1),
    }
    return _first_of(reasons)


def infeasible_reason_code(
    physical_reason_code: Array,
    capacity_model_code: Array,
    measured_here: Array,
    step_weights_least_s: Array,
    tpot_slo_s: Array,
    ttft_slo_s: Array,
    e2e_slo_s: Array,
    prefill_longest_raw_s: Array,
    unloaded_s: Array,
    decode_tokens_per_s: Array,
    concurrency_slo_raw: Array,
    concurrency_slo_which: Array,
    latency_given_s: Array,
    lambda_analytical: Array,
    lambda_anchor: Array,
    lambda_instance_given: Array,
    fallback_analytical: Array,
    queueing_missed: Array,
) -> Array:
    """Position of the first reason that applies among the labels of `infeasible_reason`, -1 where a plan exists.

    The latency gates hold in every cell whose rate is computed; a rate measured in this very setting has passed them.
    A batch below one sequence means that even a lone request breaks the limit. The queueing model knows by itself which
    limit a lone request misses at its percentile.
    """
    measured, queueing = capacity_model_code == _MEASURED, capacity_model_code == _QUEUEING
    gated = ~(measured & (measured_here == 1)) & ~queueing
    too_small = floor_exact(concurrency_slo_raw) < 1
    by_e2e = concurrency_slo_which == LIMITS.index("e2e")
    no_scale = np.isnan(lambda_anchor) | np.isnan(lambda_analytical) | np.isnan(lambda_instance_given)
    unscaled = (fallback_analytical == 1) & ~np.isnan(lambda_analytical)
    reasons = {
        "tpot_unreachable": gated & ((step_weights_least_s >= tpot_slo_s) | (too_small & ~by_e2e)),
        "ttft_unreachable": gated & (prefill_longest_raw_s > ttft_slo_s),
        "e2e_unreachable": gated
        & (
            (np.isnan(decode_tokens_per_s) & (unloaded_s >= e2e_slo_s))
            | (too_small & by_e2e)
            | ((capacity_model_code == _LITTLE) & (latency_given_s > e2e_slo_s * (1 + TIE)))
        ),
        "itl_unreachable": np.zeros((), dtype=bool),
        "not_measured": measured & (measured_here == 0) & no_scale & ~unscaled,
    }
    for latency in LATENCIES:
        name = f"{latency}_unreachable"
        reasons[name] = reasons[name] | (queueing & (queueing_missed == LIMITS.index(latency)))
    latencies = _first_of(reasons)
    return np.where(physical_reason_code == NULL, latencies, physical_reason_code)


def unloaded_s(prefill_latency_s: Array, output_tokens_mean: Array, step_weights_least_s: Array) -> Array:
    """Mean latency of a request alone in a replica [s]: its prefill, and a weight read for each output token."""
    return np.asarray(prefill_latency_s + output_tokens_mean * step_weights_least_s)


def best_possible_s(
    infeasible_reason_code: Array,
    step_weights_least_s: Array,
    kv_read_per_sequence_s: Array,
    step_per_sequence_s: Array,
    prefill_longest_raw_s: Array,
    unloaded_s: Array,
    decode_tokens_per_s: Array,
    output_tokens_mean: Array,
    gpus_per_replica: Array,
    capacity_model_code: Array,
    latency_given_s: Array,
    queueing_best_s: Array,
) -> Array:
    """Best value of a limit that no rate holds [s], null in other cells: that of a lone request.

    A measured decode throughput, and a latency stated for Little's law, take the place of first principles.
    """
    rate = decode_tokens_per_s * gpus_per_replica
    stated = np.where(capacity_model_code == _LITTLE, latency_given_s, np.nan)
    e2e = np.where(np.isnan(rate), unloaded_s, output_tokens_mean / rate)
    best = {
        "tpot_unreachable": np.where(
            np.isnan(rate), step_weights_least_s + kv_read_per_sequence_s + step_per_sequence_s, 1.0 / rate
        ),
        "ttft_unreachable": prefill_longest_raw_s,
        "e2e_unreachable": np.fmax(e2e, stated),
    }
    at = [infeasible_reason_code == code("infeasible_reason", name) for name in best]
    alone = np.select(at, list(best.values()), default=np.nan)
    return np.where(np.isnan(queueing_best_s), alone, queueing_best_s)


def _first_of(reasons: Mapping[str, Array]) -> Array:
    names = choices("infeasible_reason")
    ordered = sorted(reasons, key=names.index)
    return np.select(
        [np.asarray(reasons[name]) for name in ordered], [names.index(name) for name in ordered], default=NULL
    )


def where_feasible(infeasible_reason_code: Array, value: Array) -> Array:
    """`value` where a plan exists, else null."""
    return np.where(infeasible_reason_code == NULL, value, np.nan)


def where_reachable(value: Array) -> Array:
    """A share that is never negative: 0 where the weight read alone takes the whole limit."""
    return np.maximum(value, 0.0)
