"""Time between two tokens of an answer (ITL): steps with and without a piece of someone's prompt.

TPOT is the mean of an answer's gaps; most gaps are plain steps, and a few carry up to a whole chunk of prefill. The law
is a mixture: a plain step; a step with the last or only piece of one prompt, by class; a step with several prompts; a
step whose budget prompts fill. Its mean is the mean TPOT over tokens and its mean prefill is that of the traffic, both
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.batch_levels import batch_variance
from gridplan.formulas.replica.first_token import FirstToken
from gridplan.formulas.replica.gate import prompts_in_a_step
from gridplan.formulas.replica.mixture import Mixture, mixture_share
from gridplan.formulas.replica.steady import Steady, ratio
from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["GapLaw", "gap_law", "gap_met_share"]

BATCH_LEVELS = 8
"""Levels of the batch, of equal probability, over which a request's gaps are taken together (policy)."""


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Prompts as steps see them, by class: a full chunk [s], the share of steps that are one [1], and a last piece [s].

    rate [1/s] of last pieces; runs: whether the class needs several chunks.
    """

    chunk: Array
    share: Array
    last: Array
    rate: Array
    runs: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GapLaw:
    """Components of the gaps: plain, several prompts, full by several; one prompt by class; full chunks by class.

    plain [s] is a mean plain step, spread [s^2] its variance from the batch; clusters [1/s]: how often a run of full
    chunks starts, by class, and standing [1]: the share of time in one.
    """

    mixture: Mixture
    plain: Array
    spread: Array
    classes: int
    clusters: Array
    standing: Array


def gap_law(load: Traffic, state: Steady, first: FirstToken) -> GapLaw:
    """Distribution of gaps between tokens over all tokens but first ones."""
    cycle = ratio(traffic_mean(load.weights, state.decode), state.mean_steps)
    cycle = np.where(state.mean_steps > 0.0, cycle, np.nan)
    plain = cycle * (1.0 - state.busy_prefill)
    pieces = _pieces(load, first, cycle)
    rest = 1.0 - pieces.share.sum(axis=0)
    carried = prompts_in_a_step(pieces.rate, pieces.last, cycle / rest)
    full = ratio(traffic_mean(load.weights, pieces.chunk * load.uncached), traffic_mean(load.weights, load.uncached))
    over, excess, mean, square = _above(carried.mean, carried.square, full)
    extra = ratio(carried.several * excess, full)
    zero = np.zeros(())
    rows = [
        (rest * (carried.none - extra), zero, zero),
        (rest * carried.several * (1.0 - over), mean, np.maximum(square - mean * mean, 0.0)),
        (rest * (carried.several * over + extra), full, zero),
    ]
    one, share, last, chunk = (
        np.broadcast_to(part, (load.classes, *np.shape(part)[1:]))
        for part in (rest * carried.one, pieces.share, pieces.last, pieces.chunk)
    )
    rows += [(one[j], last[j], zero) for j in range(load.classes)]
    rows += [(share[j], chunk[j], zero) for j in range(load.classes)]
    weight, work, variance = (np.stack([np.broadcast_to(row[i], load.lead) for row in rows]) for i in range(3))
    weight = np.maximum(weight, 0.0)
    spread = state.mean_context**2 * batch_variance(load, state)
    # Every step has at least the weight read, and the prefill of its component on top.
    law = Mixture(
        weight / weight.sum(axis=0),
        plain + work,
        variance + spread,
        np.minimum(load.step, plain) + np.where(variance > 0.0, 0.0, work),
    )
    runs = np.broadcast_to(np.where(pieces.runs, pieces.rate, 0.0), one.shape)
    return GapLaw(law, plain, spread, load.classes, runs, np.where(pieces.runs, pieces.share, 0.0))


def gap_met_share(load: Traffic, state: Steady, law: GapLaw, limit: Array) -> Array:
    """Share of requests by class of which no gap exceeds a limit [1]; the limit has the class axis first.

    The batch hardly moves within one answer, so its level is that of all gaps of a request: levels of equal
    probability. At one level plain steps are all within the limit or none; steps with prompts come at random, and full
    chunks in runs, one after the other.
    """
    from scipy import special

    cut, weight = law.classes, law.mixture.weight[:, None]
    deviation = np.sqrt(law.spread)
    work, variance = (law.mixture.mean - law.plain)[:, None], (law.mixture.variance - law.spread)[:, None]
    total: Array = np.zeros(())
    for i in range(BATCH_LEVELS):
        plain = law.plain + deviation * special.ndtri((i + 0.5) / BATCH_LEVELS)
        room = limit - np.maximum(plain, load.step)
        late = 1.0 - mixture_share(work, variance, np.zeros(()), np.maximum(room, 0.0)[None])
        alone = (weight[1:-cut] * late[1:-cut]).sum(axis=0)
        runs = (law.clusters[:, None] * late[-cut:]).sum(axis=0)
        standing = np.minimum((law.standing[:, None] * late[-cut:]).sum(axis=0), 1.0)
        total = total + (room >= 0.0) * (1.0 - standing) * np.exp(-load.steps * alone - runs * state.decode)
    out: Array = np.where(load.steps > 0.0, total / BATCH_LEVELS, 1.0)
    return out


def _pieces(load: Traffic, first: FirstToken, cycle: Array) -> _Pieces:
    """Cut prompts by the room that running requests leave in the budget.

    Where another prompt waits, the share rt of the time, it fills up the last chunk of a long prompt.
    """
    tokens = np.where(load.uncached > 0.0, load.uncached, 1.0)
    chunks = np.maximum(np.ceil(load.uncached / first.chunk), 1.0)
    per_token = np.where(load.uncached > 0.0, load.prefill / tokens, 0.0)
    merged = np.where(chunks > 1.0, np.clip(first.budget_share, 0.0, 1.0), 0.0)
    count = (1.0 - merged) * (chunks - 1.0) + merged * load.uncached / first.chunk
    chunk = per_token * first.chunk
    last = np.where(chunks > 1.0, per_token * (load.uncached - (chunks - 1.0) * first.chunk), load.prefill)
    rate = load.rate * load.weights
    return _Pieces(chunk, rate * cycle * count, last, rate * (1.0 - merged), chunks > 1.0)


def _above(mean: Array, square: Array, limit: Array) -> tuple[Array, Array, Array, Array]:
    """Of a gamma: P(above), E[excess above], and mean and mean square of what lies below a limit."""
    from scipy import special

    variance = np.maximum(square - mean * mean, 1e-9 * mean * mean + 1e-300)
    shape, scale = np.maximum(mean * mean / variance, 1e-9), variance / np.maximum(mean, 1e-150)
    z = limit / scale
    below = special.gammainc(shape, z)
    part = mean * special.gammainc(shape + 1.0, z)
    part_square = square * special.gammainc(shape + 2.0, z)
    over = 1.0 - below
    excess = np.maximum(mean - part - limit * over, 0.0)
    return over, excess, ratio(part, below), ratio(part_square, below)
