"""The largest context at which a wanted number of sequences holds, for every cell of a grid at once."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import NULL
from gridplan.chain.graph import Array
from gridplan.chain.kv import rows_of
from gridplan.engine.inverse.following import JUMP_TOKENS
from gridplan.engine.inverse.forward import Forward
from gridplan.engine.inverse.search import largest_true
from gridplan.formulas import tokens_within_charge, tokens_within_charge_unrounded

__all__ = ["UNLIMITED", "max_context"]

UNLIMITED = -2
"""In place of a reason: no length is refused."""

MOST_TOKENS = 2.0**40
"""Length at which the search gives up where neither model nor engine has a limit (policy)."""


def max_context(forward: Forward) -> dict[str, Array]:
    """Answer, reason, what fails beyond it, and the gap below it where there is one."""
    low, high = _range(forward)
    first = forward.at(low)
    low, high = np.broadcast_arrays(low, high, first.reason)[:2]

    def holds(tokens: Array) -> Array:
        return np.asarray(forward.at(tokens).reason == NULL)

    gap = np.full(low.shape, np.nan)
    if forward.following is None:
        best = largest_true(holds, low, high, _guess(forward, low))
    else:
        # On either side of the jump what holds is monotone in the length; the longer side wins where it holds at all.
        short = largest_true(holds, low, np.minimum(high, float(JUMP_TOKENS)))
        start = np.maximum(low, JUMP_TOKENS + 1.0)
        long = largest_true(holds, start, high)
        best = np.where(long >= start, long, short)
        below = np.minimum(high, float(JUMP_TOKENS))
        gap = np.where((long >= start) & (low <= JUMP_TOKENS) & (short < below), short + 1.0, np.nan)
    none = best < low
    unlimited = ~none & (best >= MOST_TOKENS)
    here, beyond = forward.at(np.maximum(best, low)), forward.at(best + 1.0)
    nothing = none | unlimited
    return {
        "max_context_tokens": np.where(nothing, np.nan, best),
        "no_answer_reason": np.where(none, first.reason, np.where(unlimited, UNLIMITED, NULL)),
        "fails_at_tokens": np.where(unlimited, np.nan, np.where(none, low, best + 1.0)),
        "fails_reason": np.where(unlimited, NULL, np.where(none, first.reason, beyond.reason)),
        "concurrency_at_answer": np.where(nothing, np.nan, here.concurrency),
        "concurrency_at_failure": np.where(unlimited, np.nan, np.where(none, first.concurrency, beyond.concurrency)),
        "gap_from_tokens": gap,
        "gap_to_tokens": np.where(np.isnan(gap), np.nan, float(JUMP_TOKENS)),
    }


def _range(forward: Forward) -> tuple[Array, Array]:
    """Shortest and longest context that is tried [tokens]."""
    values = forward.inputs.values
    most = values["max_position_embeddings"].data
    worst = forward.question.measure == "concurrency_memory_worst"
    if forward.by_engine:
        least = np.array(1.0) if worst else np.ceil(np.fmax(forward.values["context_tokens_max"], 1.0))
    else:
        most = np.fmin(most, values["max_model_len"].data)
        # A request has one token of prompt at least.
        least = np.array(1.0) if worst else np.floor(values["class_output_tokens"].data[..., 0]) + 1.0
    low = np.asarray(least).reshape((1,) * (most.ndim - np.ndim(least)) + np.shape(least))
    return low, np.floor(np.where(np.isnan(most), MOST_TOKENS, most))


def _guess(forward: Forward, low: Array) -> Array | None:
    """The length whose charge is an equal share of the pool: the answer itself but for what rounds otherwise."""
    if forward.by_engine:
        return None
    values = forward.everything_at(low)
    groups = rows_of(values["kv_rows_rank"])
    each = np.ceil(forward.question.concurrency / values["data_parallel"])
    share = values["kv_pool_usable_bytes"] / each
    with np.errstate(all="ignore"):
        exact = np.asarray(tokens_within_charge(share, *groups))
        efficiency = values["kv_efficiency"]
        if forward.question.measure == "concurrency_memory_worst" or np.all(efficiency == 1):
            guess = exact
        else:
            smooth = np.floor(tokens_within_charge_unrounded(efficiency * share, *groups))
            guess = np.where(efficiency == 1, exact, smooth)
    return np.where(np.isfinite(guess), guess, MOST_TOKENS)
