"""What makes a replica in the chain, and its operating point at a rate.

A replica of several data-parallel ranks is so many queues side by side: each rank takes its share of the requests,
prefills them alone, and holds its own cache; experts are read for the tokens of all. So the operating point is that of
one rank, and what the chain counts per replica is turned into rank time here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels
from gridplan.chain.prefill import read_or_multiplied_s
from gridplan.formulas.replica import OperatingPoint
from gridplan.formulas.replica.batch_levels import batch_variance
from gridplan.formulas.replica.shared_chunk import chunk_cost, last_pieces, last_pieces_at
from gridplan.formulas.replica.steady import ratio, steady
from gridplan.formulas.replica.traffic import UNLIMITED, Traffic, class_first, read_traffic, traffic_mean

__all__ = [
    "CLASS_FIRST",
    "GROUPS",
    "LIMITS",
    "PERCENTILES",
    "REPLICA",
    "Replica",
    "bare_load",
    "beside",
    "chunks_charged",
    "in_order",
    "lengths",
    "load_at",
    "point_at",
    "reads_beside",
    "taken",
    "with_steps",
]

UNION_ROUNDS = 8
"""Rounds in which a batch and the experts that it touches come to agree (measurement: 1e-4 after six)."""

CHUNK_EVERY = 2
"""Rounds of these after which prompts that share a step are counted anew (policy): what they pay hardly moves."""


MANY = 1e6
"""Sequences beside which a prompt reads no expert for itself: where rounds start, since a busy replica is never found
from an idle one, whose prompts read all experts alone and would take more than all the time."""


class Replica(NamedTuple):
    """Quantities behind a replica; those by class have the class axis last, prefill by class has it first."""

    class_weight: Array
    class_prompt_tokens: Array
    class_prefix_hit_ratio: Array
    class_output_tokens: Array
    class_output_tokens_scv: Array
    class_prefill_multiplied_s: Array
    class_prefill_chunks: Array
    chunk_overhead_total_s: Array
    prefill_experts_s: Array
    step_fixed_s: Array
    step_experts_s: Array
    num_experts: Array
    experts_per_token: Array
    kv_read_per_context_token_s: Array
    step_per_sequence_s: Array
    data_parallel: Array
    token_budget: Array
    arrival_scv: Array
    slots: Array

    @property
    def has_experts(self) -> bool:
        """Whether any of the replicas reads routed experts."""
        return bool(np.any(self.step_experts_s > 0.0))


REPLICA = Replica._fields
"""Names of the quantities behind a replica, in their order."""

LIMITS = ("class_ttft_slo_s", "class_tpot_slo_s", "class_e2e_slo_s", "class_itl_slo_s")
"""Limits of each class, NaN for none; the class axis last."""

PERCENTILES = tuple(f"{name.removesuffix('_s')}_percentile" for name in LIMITS)
"""Percentiles of those limits, NaN for a limit on the mean; the class axis last."""

GROUPS = tuple(f"{name.removesuffix('_s')}_group" for name in LIMITS)
"""Numbers of the sets of classes that each limit judges together; the class axis last."""

CLASS_FIRST = ("class_prefill_multiplied_s", "class_prefill_chunks")


def point_at(rate: Array, replica: Replica) -> OperatingPoint:
    """The operating point of one rank where the replica sees `rate` [req/s]."""
    return OperatingPoint(load_at(rate, replica))


def load_at(rate: Array, replica: Replica, held: Array | None = None) -> Traffic:
    """The load of one rank; a decode step reads the experts that its tokens and those of the other ranks touch.

    Prompts that share a step pay for its chunk once. `held` are the most sequences that it runs at once, where that is
    not its slots: they make requests wait all the same.
    """
    return with_steps(bare_load(rate, replica, held), replica)


def bare_load(rate: Array, replica: Replica, held: Array | None = None) -> Traffic:
    """The load of one rank before its steps know what runs beside them: everything that has no part in the rate."""
    prompt, uncached, output = lengths(replica)
    ranks = replica.data_parallel
    load = read_traffic(
        arrival_rate=rate / ranks,
        class_weights=replica.class_weight,
        prompt_tokens=prompt,
        uncached_tokens=uncached,
        output_tokens=output,
        step_weights_s=_finite(replica.step_fixed_s + np.nan_to_num(replica.step_experts_s)),
        step_per_context_token_s=_finite(replica.kv_read_per_context_token_s * ranks),
        prefill_per_token_s=0.0,
        step_per_sequence_s=_finite(replica.step_per_sequence_s * ranks),
        prefill_s=_finite(np.moveaxis(beside(np.asarray(MANY), replica), 0, -1)),
        token_budget=replica.token_budget,
        arrival_scv=replica.arrival_scv,
        slots=replica.slots,
    )
    return load if held is None else replace(load, held=np.minimum(held, UNLIMITED))


def with_steps(load: Traffic, replica: Replica) -> Traffic:
    """The same load with what its steps read of experts, and what they pay for prompts."""
    return _with_union(load, replica) if replica.has_experts else chunks_charged(load, replica)


def _finite(values: Array) -> Array:
    """A time that overflows is not known."""
    return np.where(np.isfinite(values), values, np.nan)


def lengths(replica: Replica) -> tuple[Array, Array, Array]:
    """Prompt, uncached and output tokens by class, the class axis last.

    Classes that a workload does not have have no weight and no lengths.
    """
    real = replica.class_weight != 0.0
    prompt = np.where(real, replica.class_prompt_tokens, 1.0)
    uncached = np.where(real, replica.class_prompt_tokens * (1.0 - replica.class_prefix_hit_ratio), 0.0)
    return prompt, uncached, np.where(real, replica.class_output_tokens, 1.0)


def beside(batch: Array, replica: Replica) -> Array:
    """Rank time of each class's prefill beside `batch` decoding sequences of all ranks [s], the class axis first.

    What a step with prompts costs once is not in it: `chunks_charged` has that.
    """

    def behind(by_class: Array) -> Array:
        """The class axis before all axes of the batch, which may have more than the quantities."""
        more = max(batch.ndim - (by_class.ndim - 1), 0)
        return by_class.reshape(by_class.shape[0], *(1,) * more, *by_class.shape[1:])

    chunks, taken = behind(replica.class_prefill_chunks), behind(replica.class_prefill_multiplied_s)
    if np.any(replica.prefill_experts_s > 0.0):
        uncached = behind(np.moveaxis(lengths(replica)[1], -1, 0))
        experts = (replica.prefill_experts_s, replica.num_experts, replica.experts_per_token)
        taken = read_or_multiplied_s(taken, chunks, uncached, batch, *experts)
    occurs = behind(np.moveaxis(replica.class_weight, -1, 0)) != 0.0
    return np.where(occurs, taken, 0.0)


def chunks_charged(
    load: Traffic, replica: Replica, requests: Array | None = None, ended: Array | None = None
) -> Traffic:
    """The same load with the cost of a step that carries prompts, which those that share the step pay once.

    Where `ended` of `requests` in flight end in a step, as many prompts start in one; else they come at the rate.
    """
    if not np.any(replica.chunk_overhead_total_s):
        return load
    with np.errstate(all="ignore"):
        return _charged(load, *_chunk_costs(load, replica, requests, ended))


def _charged(load: Traffic, step: Array, prefill: Array) -> Traffic:
    return replace(load, step=_finite(load.step + step), prefill=_finite(load.prefill + prefill))


def _chunk_costs(
    load: Traffic, replica: Replica, requests: Array | None = None, ended: Array | None = None
) -> tuple[Array, Array]:
    """What the chunks of prompts add to every step, and to the prefill of each class [s]."""
    once, w = replica.chunk_overhead_total_s, load.weights
    chunks = class_first(np.moveaxis(replica.class_prefill_chunks, 0, -1), len(load.lead))
    carried = (chunks > 0.0) & (w != 0.0)
    some, before = traffic_mean(w, 1.0 * carried), np.where(carried, chunks - 1.0, 0.0)
    fulls = ratio(traffic_mean(w, before), some)
    if ended is None:
        work = ratio(traffic_mean(w, load.prefill + load.steps * load.context), some)
        pieces = last_pieces(load.rate * some, fulls, load.step, once, work)
    else:
        pieces = last_pieces_at(ended * some, fulls)
    cost = chunk_cost(pieces, requests)
    return once * cost.every_step, np.where(carried, once * cost.last + before * (once * cost.full), 0.0)


def reads_beside(batch: Array, deviation: Array, others: Array, replica: Replica) -> tuple[Array, Array]:
    """What a decode step reads of weights, as a part that is always there and one of each sequence of the rank [s].

    t_w(n) is drawn as the chord over what a request sees, itself and `batch` sequences of all ranks give or take their
    standard `deviation`: a step that holds more sequences than the mean reads more experts, which is where the spread
    of TPOT comes from in a small batch. `others` are the sequences of the other ranks.
    """
    share = replica.experts_per_token / replica.num_experts
    low, high = np.maximum(batch + 1.0 - deviation, 1.0), batch + 1.0 + np.maximum(deviation, 1e-3)
    ends = [kernels.experts_touched_share(replica.num_experts, replica.experts_per_token, end) for end in (low, high)]
    slope = (ends[1] - ends[0]) / (high - low)
    always = ends[0] + slope * (others - low)
    none = (replica.step_experts_s == 0.0) | np.isnan(share)
    reads = np.where(none, 0.0, replica.step_experts_s)
    return replica.step_fixed_s + reads * np.where(none, 0.0, always), reads * np.where(none, 0.0, slope)


def _with_union(load: Traffic, replica: Replica) -> Traffic:
    """The same load with the reads of its mean batch, of decoding and of prompts."""
    ranks, decodes, once = replica.data_parallel, load.output > 1.0, np.any(replica.chunk_overhead_total_s)
    sequence, context = load.sequence, load.context
    costs: tuple[Array, Array] = np.zeros(()), np.zeros(())
    batch: Array = np.zeros(())
    with np.errstate(all="ignore"):
        for round_ in range(UNION_ROUNDS):
            state = steady(load)
            # A round that finds no stable replica had too few sequences beside its prompts: try with more.
            batch = np.where(np.isnan(state.batch), 2.0 * batch + 1.0, state.batch)
            spread = np.nan_to_num(batch_variance(load, state))
            always, each = reads_beside(ranks * batch, np.sqrt(ranks * spread), (ranks - 1.0) * batch, replica)
            load = replace(
                load,
                step=_finite(always),
                sequence=sequence + each,
                context=np.where(decodes, context + each, 0.0),
                prefill=_finite(beside(ranks * batch, replica)),
            )
            if once and round_ % CHUNK_EVERY == 0:
                costs = _chunk_costs(load, replica)
            load = _charged(load, *costs) if once else load
    return load


def taken(replica: Replica, rows: Array) -> Replica:
    """Some of the replicas, where there is one a row."""
    named = zip(REPLICA, replica, strict=True)
    return Replica(*(item[:, rows] if name in CLASS_FIRST else item[rows] for name, item in named))


def in_order(name: str, rows: Array) -> Array:
    """Rows of cells, their class axis last, with the class axis where the quantity has it."""
    return np.moveaxis(rows, -1, 0) if name in CLASS_FIRST else rows
