"""Whether a cell has a plan, and the first reason why not."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import LIMITS, NULL, TIE, choices
from gridplan.chain.graph import Array
from gridplan.rounding import floor_exact

__all__ = [
    "CANNOT_BE_BUILT",
    "cannot_be_built",
    "infeasible_reason_code",
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
_LITTLE, _MEASURED = _MODELS.index("littles_law"), _MODELS.index("measured")


def cannot_be_built(*supported: Array) -> dict[str, Array]:
    """Conditions of the reasons of `CANNOT_BE_BUILT`, from flags in their order: 1 where a format or split is legal."""
    return {name: flag == 0 for name, flag in zip(CANNOT_BE_BUILT, supported, strict=True)}


def infeasible_reason_code(
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
    capacity_model_code: Array,
    measured_here: Array,
    step_weights_least_s: Array,
    tpot_slo_s: Array,
    ttft_slo_s: Array,
    e2e_slo_s: Array,
    prefill_longest_raw_s: Array,
    prefill_latency_s: Array,
    output_tokens_mean: Array,
    decode_tokens_per_s: Array,
    concurrency_slo_raw: Array,
    concurrency_slo_which: Array,
    latency_given_s: Array,
    lambda_analytical: Array,
    lambda_anchor: Array,
    lambda_instance_given: Array,
    fallback_analytical: Array,
) -> Array:
    """Position of the first reason that applies among the labels of `infeasible_reason`, -1 where a plan exists.

    The latency gates hold in every cell whose rate is computed; a rate measured in this very setting has passed them.
    A batch below one sequence means that even a lone request breaks the limit.
    """
    measured = capacity_model_code == _MEASURED
    gated = ~(measured & (measured_here == 1))
    too_small = floor_exact(concurrency_slo_raw) < 1
    by_e2e = concurrency_slo_which == LIMITS.index("e2e")
    unloaded = prefill_latency_s + output_tokens_mean * step_weights_least_s
    no_scale = np.isnan(lambda_anchor) | np.isnan(lambda_analytical) | np.isnan(lambda_instance_given)
    unscaled = (fallback_analytical == 1) & ~np.isnan(lambda_analytical)
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
        "tpot_unreachable": gated & ((step_weights_least_s >= tpot_slo_s) | (too_small & ~by_e2e)),
        "ttft_unreachable": gated & (prefill_longest_raw_s > ttft_slo_s),
        "e2e_unreachable": gated
        & (
            (np.isnan(decode_tokens_per_s) & (unloaded >= e2e_slo_s))
            | (too_small & by_e2e)
            | ((capacity_model_code == _LITTLE) & (latency_given_s > e2e_slo_s * (1 + TIE)))
        ),
        "not_measured": measured & (measured_here == 0) & no_scale & ~unscaled,
    }
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
