"""A replica with a fixed number of requests in flight, as most benchmarks run it."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import NULL, code
from gridplan.chain.graph import Array
from gridplan.chain.replica import Replica, beside, chunks_charged, lengths, reads_beside
from gridplan.formulas.replica.closed_loop import closed_loop_of, ended_per_step
from gridplan.formulas.replica.traffic import read_traffic

__all__ = ["closed_loop"]

_MISSED = ("tpot_unreachable", "ttft_unreachable", "e2e_unreachable", "not_measured")
"""Reasons of cells whose replica runs all the same."""

UNION_ROUNDS = 3
"""Rounds in which the mean batch and the experts that it touches come to agree (policy): they start next to it."""


def closed_loop(
    infeasible_reason_code: Array, closed_loop_concurrency: Array, *of_replica: Array
) -> tuple[Array, Array, Array]:
    """Mean TPOT and TTFT [s] and output tokens a second of one replica; null where no concurrency is stated.

    Prompts that share a step pay for its chunk once. The slots of the replica are those of paged engines, which hold
    what a sequence has so far, not what it will have.

    Null too where a replica cannot be run; one that misses its limits can.
    """
    replica = Replica(*of_replica)
    runs = np.isin(infeasible_reason_code, [NULL, *(code("infeasible_reason", name) for name in _MISSED)])
    if np.all(np.isnan(closed_loop_concurrency)):
        none = np.full(np.broadcast_shapes(runs.shape, closed_loop_concurrency.shape), np.nan)
        return none, none, none
    ranks = replica.data_parallel
    clients = np.maximum(closed_loop_concurrency / ranks, 1.0)
    batch = inside = np.minimum(clients, replica.slots)
    ended = None
    for _ in range(UNION_ROUNDS if replica.has_experts else 1):
        always, each = reads_beside(ranks * batch - 1.0, np.zeros(()), (ranks - 1.0) * batch, replica)
        load = read_traffic(
            replica.class_weight,
            *lengths(replica),
            step_weights_s=always,
            step_per_context_token_s=replica.kv_read_per_context_token_s * ranks,
            prefill_per_token_s=0.0,
            step_per_sequence_s=replica.step_per_sequence_s * ranks + each,
            prefill_s=np.moveaxis(beside(ranks * batch, replica), 0, -1),
            token_budget=replica.token_budget,
            slots=replica.slots,
            arrival_rate=clients,
            arrival_scv=1.0,
        )
        ended = ended_per_step(load, clients) if ended is None else ended
        found = closed_loop_of(chunks_charged(load, replica, inside, ended), clients, ended)
        batch = np.maximum(found.batch_mean, 1.0)
    shown = np.where(runs, 1.0, np.nan)
    return found.tpot_mean_s * shown, found.ttft_s * shown, found.output_tokens_per_s * ranks * shown
