"""Which limit sets the rate of a replica, how far the next one is, and what kind of number the rate is."""

from __future__ import annotations

import numpy as np

from gridplan.chain.capacity import rate_at_e2e
from gridplan.chain.codes import LIMITS, NULL, TIE, choices, code
from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels
from gridplan.chain.reads import Reads

__all__ = [
    "binding",
    "is_slots",
    "lambda_basis_code",
    "limit_rates",
    "slo_basis_code",
]

_MODELS = choices("capacity_model")
_LITTLE, _QUEUEING = _MODELS.index("littles_law"), _MODELS.index("queueing")


def limit_rates(
    capacity_model_code: Array,
    concurrency_memory: Array,
    concurrency_compute_raw: Array,
    concurrency_scheduler: Array,
    concurrency_slo_raw: Array,
    concurrency_slo_given_rate: Array,
    concurrency_slo_which: Array,
    latency_given_s: Array,
    tpot_share: Array,
    request_work_s: Array,
    prefill_latency_s: Array,
    output_tokens_mean: Array,
    step_fixed_s: Array,
    step_experts_s: Array,
    num_experts: Array,
    experts_per_token: Array,
    e2e_slo_s: Array,
    lambda_instance: Array,
    capacity_source_code: Array,
) -> Array:
    """Rates at which each of `LIMITS` would bind alone [req/s], limit axis first; NaN where a limit is absent.

    Ceilings are compared unfloored except the memory ceiling, so that rounding never decides what binds. The queueing
    model finds by itself what binds: none of its cells has a rate here.
    """
    stated = (capacity_model_code == _LITTLE) & ~np.isnan(latency_given_s)
    reads = Reads(step_fixed_s, step_experts_s, num_experts, experts_per_token)

    def at(cap: Array) -> Array:
        finite = np.where(np.isinf(cap), np.nan, cap)
        predicted = kernels.rate_at_concurrency(finite, output_tokens_mean, reads.at(finite), request_work_s)
        return np.where(stated, finite / latency_given_s, predicted)

    # Replica-seconds have their own TPOT law; only a batch from a measured throughput is a cap there too.
    batch = at(np.where(capacity_model_code == _LITTLE, concurrency_slo_raw, concurrency_slo_given_rate))
    is_e2e = concurrency_slo_which == LIMITS.index("e2e")
    tpot_alone = kernels.rate_at_tpot(tpot_share, request_work_s)
    e2e_alone = rate_at_e2e(e2e_slo_s, prefill_latency_s, output_tokens_mean, reads, request_work_s)
    tpot = np.fmin(np.where(stated, np.nan, tpot_alone), np.where(is_e2e, np.nan, batch))
    e2e = np.fmin(np.where(stated, np.nan, e2e_alone), np.where(is_e2e, batch, np.nan))
    measured = np.where(capacity_source_code == code("capacity_source", "analytical"), np.nan, lambda_instance)
    elsewhere = ~np.isnan(measured) | (capacity_model_code == _QUEUEING)
    rates = {
        "memory": at(concurrency_memory),
        "compute": at(concurrency_compute_raw),
        "scheduler": at(concurrency_scheduler),
        "tpot": tpot,
        "e2e": e2e,
    }
    known = {**{name: np.where(elsewhere, np.nan, rate) for name, rate in rates.items()}, "measured": measured}
    return np.stack(np.broadcast_arrays(*(known.get(name, np.array(np.nan)) for name in LIMITS)))


def binding(
    limit_rates: Array,
    lambda_instance: Array,
    capacity_model_code: Array,
    queueing_binding: Array,
    queueing_ties: Array,
    queueing_next: Array,
    queueing_next_rate: Array,
) -> tuple[Array, Array, Array, Array]:
    """What binds: label code, bit mask of ties, code of the next limit, and how far away that is.

    Codes index `LIMITS` with one more, `balanced`, for a tie of memory and compute.
    """
    by_rates = _binding_of(limit_rates, lambda_instance)
    queueing = capacity_model_code == _QUEUEING
    if not np.any(queueing):
        return by_rates
    unknown = np.isnan(lambda_instance)
    codes = (np.where(unknown, NULL, found) for found in (queueing_binding, queueing_ties, queueing_next))
    found = (*codes, queueing_next_rate / lambda_instance - 1)
    binds, ties, after, margin = (np.where(queueing, a, b) for a, b in zip(found, by_rates, strict=True))
    return binds, ties, after, margin


def _binding_of(limit_rates: Array, lambda_instance: Array) -> tuple[Array, Array, Array, Array]:
    """The same by the rates at which each limit would bind alone."""
    known = np.where(np.isnan(limit_rates), np.inf, limit_rates)
    lowest = known.min(axis=0)
    ties = (known <= lowest * (1 + TIE)) & np.isfinite(known)
    bits = (ties * (1 << np.arange(len(LIMITS))).reshape((-1,) + (1,) * (known.ndim - 1))).sum(axis=0)
    first = np.argmax(ties, axis=0)
    balanced = ties[LIMITS.index("memory")] & ties[LIMITS.index("compute")]
    nothing = ~np.isfinite(lowest) | np.isnan(lambda_instance)
    which = np.where(nothing, NULL, np.where(balanced, len(LIMITS), first))
    beyond = np.where(ties, np.inf, known)
    following = beyond.min(axis=0)
    no_next = nothing | ~np.isfinite(following)
    after = np.where(no_next, NULL, np.argmin(beyond, axis=0))
    # Against the rate itself, which whole sequences may hold a little below the limit that sets it.
    margin = np.where(no_next, np.nan, following / np.where(no_next, 1.0, lambda_instance) - 1)
    return which, np.where(nothing, NULL, bits), after, margin


def lambda_basis_code(
    lambda_instance: Array,
    capacity_model_code: Array,
    capacity_source_code: Array,
    decode_tokens_per_s: Array,
    any_slo: Array,
    any_limit: Array,
    any_percentile: Array,
) -> Array:
    """What the rate of the cell is, as a position among the labels of `lambda_basis`."""
    label = {name: code("lambda_basis", name) for name in choices("lambda_basis")}
    of_little = np.where(np.isnan(decode_tokens_per_s), label["slots"], label["throughput_measured"])
    of_sweep = np.where(any_slo == 1, label["percentile_measured"], label["throughput_measured"])
    of_queueing = np.where(any_percentile == 1, label["percentile_model"], label["mean_model"])
    of_queueing = np.where(any_limit == 1, of_queueing, label["saturation"])
    analytical = capacity_source_code == code("capacity_source", "analytical")
    basis = np.select(
        [capacity_model_code == _LITTLE, ~analytical, capacity_model_code == _QUEUEING],
        [of_little, of_sweep, of_queueing],
        label["mean_tpot"],
    )
    return np.where(np.isnan(lambda_instance), NULL, basis)


def slo_basis_code(lambda_instance: Array, lambda_basis_code: Array, any_slo: Array, any_limit: Array) -> Array:
    """What the limits were applied to: 0 mean, 1 percentile, null without a limit."""
    percentile = np.isin(
        lambda_basis_code, [code("lambda_basis", name) for name in ("percentile_model", "percentile_measured")]
    )
    by_class = np.isin(lambda_basis_code, [code("lambda_basis", name) for name in ("percentile_model", "mean_model")])
    none = np.where(by_class, any_limit, any_slo) == 0
    return np.where(np.isnan(lambda_instance) | none, NULL, np.where(percentile, 1, 0))


def is_slots(lambda_basis_code: Array) -> Array:
    """1 where the rate counts slots, or is that of a replica without limits, and says nothing about them; else 0."""
    silent = [code("lambda_basis", name) for name in ("slots", "saturation")]
    return np.where(np.isin(lambda_basis_code, silent), 1.0, 0.0)
