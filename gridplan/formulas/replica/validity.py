"""Where the figures of one replica may be shown: stability first, then the range in which errors were measured.

All bounds are measurements: errors against a step-by-step simulation of the same step times, on configurations drawn
as in tests/bench/latency_random.py (November 2026). Mean absolute errors within all bounds: TPOT 0.4%, TTFT 0.8%, E2E
0.4%, TTFT p95 2.4%, TPOT p95 1.3%, E2E p99 1.2%. Just outside, for the means of TPOT, TTFT and E2E, and for TTFT p95
and TPOT p95:

    busy 0.85 to 0.90            2%   2%   2%    5%   4%    means shown
    busy 0.90 to 0.95            4%   3%   4%   10%   9%    nothing shown
    budget share 0.75 to 0.80    2%   5%   2%   10%   8%    TPOT shown
    budget share 0.80 to 0.90    2%  12%   3%   23%  11%    TPOT shown
    h 0.05 to 0.25               7%   2%   4%    3%  17%    nothing shown (single classes up to 100% off)
    arrival scv 0.5 or 1.5       1%   4%   1%   10%   2%    means shown
    arrival scv 4                3%  15%   3%   35%   6%    TPOT shown
    slot share 0.75 to 0.85      1%  11%   1%   17%   3%    TPOT shown (TTFT p95 up to 14 times where 5% wait)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.first_token import FirstToken
from gridplan.formulas.replica.slot_wait import SlotWait
from gridplan.formulas.replica.steady import Steady, ratio
from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["LIMITS", "REASONS", "Validity", "validity"]

LIMITS = np.array(["", "time", "token_budget", "slots"])
"""What is at or over its limit; empty in a stable replica."""
REASONS = np.array(["", "unstable", "unknown", "short_output", "busy", "token_budget", "slots", "arrival_scv"])
"""Why percentiles are not shown, the first that holds; empty where they are. 'unknown': an input is NaN."""
UNSTABLE, UNKNOWN, SHORT_OUTPUT, BUSY, TOKEN_BUDGET, SLOTS, ARRIVAL_SCV = range(1, 8)

BUSY_MAX, BUSY_MAX_MEANS = 0.85, 0.90
"""Largest busy share with percentiles, and with means (measurement)."""
BUDGET_SHARE_MAX, BUDGET_SHARE_MAX_TPOT = 0.75, 0.90
"""Largest token budget share with percentiles and the mean TTFT, with the mean TPOT (measurement)."""
SHORT_OUTPUT_MAX = 0.05
"""Largest h = rp E[s] / ((1 - rp) E[T]) with any figure: prefill work that meets too few decode steps (measurement)."""
SHORT_CLASS_MAX = 0.10
"""Largest h of a single class, its own T in place of E[T], with percentiles (measurement: TPOT p95 8% short at 0.1)."""
SLOT_WAIT_MAX, SLOT_SHARE_MAX = 0.01, 0.85
"""Largest probability of a wait for a slot with TTFT and percentiles; largest slot share with any (measurement)."""
SCV_RANGE, SCV_RANGE_TTFT, SCV_RANGE_TPOT = (0.95, 1.05), (0.5, 1.5), (0.25, 4.0)
"""Arrival SCV with percentiles, with the mean TTFT, with the mean TPOT (measurement)."""


@dataclass(frozen=True, eq=False)
class Validity:
    """limit and reason are codes into LIMITS and REASONS; the rest says which figures may be shown.

    percentiles; tpot, ttft: means; rough: percentiles fit for a search, if only slots or arrivals speak against them.
    """

    limit: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    percentiles: npt.NDArray[np.bool_]
    rough: npt.NDArray[np.bool_]
    tpot: npt.NDArray[np.bool_]
    ttft: npt.NDArray[np.bool_]
    prefill_ratio: Array


def validity(load: Traffic, state: Steady, firsts: list[FirstToken], wait: SlotWait) -> Validity:
    """The shares against 1, then against the bounds above."""
    share = firsts[0].budget_share
    # At busy 1 the batch has no mean; whether the budget or the slots hold it too is then no question.
    over_budget = (share >= 1.0) | (state.batch >= load.budget)
    limit = np.select(
        [state.busy >= 1.0, over_budget, wait.share >= 1.0], [np.int8(1), np.int8(2), np.int8(3)], np.int8(0)
    )
    decode = traffic_mean(load.weights, state.decode)
    prefill = ratio(state.busy_prefill * state.mean_prefill, 1.0 - state.busy_prefill)
    h = np.where(decode > 0.0, ratio(prefill, decode), np.where(np.isnan(decode), np.nan, np.inf))
    known = ~np.isnan(state.busy + share + h + wait.share)
    short = h > SHORT_OUTPUT_MAX
    decodes = (load.weights > 0.0) & (load.steps > 0.0)
    short_class = (decodes & (prefill > SHORT_CLASS_MAX * state.decode)).any(axis=0)
    # The batch swings: at its upper level the budget must hold the prompts too.
    swing = ~(firsts[2].budget_share < 1.0) | np.isnan(sum(first.mean.sum(axis=0) for first in firsts))
    late = (wait.probability > SLOT_WAIT_MAX) | (wait.share > SLOT_SHARE_MAX)
    burst = ~_inside(load.arrival_scv, SCV_RANGE)
    reason = np.select(
        [
            limit > 0,
            ~known,
            short | short_class,
            state.busy > BUSY_MAX,
            (share > BUDGET_SHARE_MAX) | swing,
            late,
            burst,
        ],
        [np.int8(code) for code in range(1, 8)],
        np.int8(0),
    )
    numbers = (limit == 0) & known & ~short & (state.busy <= BUSY_MAX_MEANS)
    tpot = numbers & (share <= BUDGET_SHARE_MAX_TPOT) & (wait.share <= SLOT_SHARE_MAX)
    ttft = numbers & (share <= BUDGET_SHARE_MAX) & ~swing & ~late & _inside(load.arrival_scv, SCV_RANGE_TTFT)
    return Validity(
        limit,
        reason,
        reason == 0,
        (reason == 0) | (reason >= SLOTS),
        tpot & _inside(load.arrival_scv, SCV_RANGE_TPOT),
        ttft,
        h,
    )


def _inside(values: Array, bounds: tuple[float, float]) -> npt.NDArray[np.bool_]:
    return (values >= bounds[0]) & (values <= bounds[1])
