"""Time to first token: prompts wait for the step that runs, then share the steps that follow.

Two limits of the same scheduler. While the token budget has room, all prompts that arrive during one step are
prefilled in the next: a gate that opens once a cycle. Where the budget binds, prompts are served in chunks, one after
the other: M/G/1 with the step as a vacation. Both are too short outside their range, so the longer one is taken.
Sources: Pollaczek-Khinchine, and Fuhrmann and Cooper 1985, doi:10.1287/opre.33.5.1117 (vacations); the gate's cycles
are a branching process whose first three cumulants are linear recursions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.steady import Steady
from gridplan.formulas.replica.traffic import Array, Traffic, traffic_mean

__all__ = ["FirstToken", "by_index", "chunks_alone", "first_token", "first_token_variance", "same_step"]


@dataclass(frozen=True, eq=False)
class FirstToken:
    """Mean TTFT [s by class] in two parts: `own` is what the request takes in an idle moment, `queue` the rest.

    chunked: where the token budget decides; budget_share [1]: time share of prompts and of the steps they are cut
    into, at least 1 where the budget cannot hold the load.
    """

    own: Array
    queue: Array
    mean: Array
    chunked: npt.NDArray[np.bool_]
    budget_share: Array
    chunk: Array
    step: Array
    cycle: Array
    cycle_variance: Array
    chunk_work: Array


def first_token(load: Traffic, state: Steady) -> FirstToken:
    """Mean TTFT by class, without a wait for a slot."""
    lam, w, s = load.rate, load.weights, load.prefill
    occupied = 1.0 - state.empty
    step = load.step + state.shared
    left = 1.0 - state.busy_prefill

    chunk = np.where(load.budget > state.batch, load.budget - state.batch, np.nan)
    cycle = step / left
    cycle_variance = lam * cycle * _pulse(load, state, 2) / (1.0 - state.busy_prefill**2)
    biased = cycle + cycle_variance / cycle
    gate_own = occupied * step + state.empty * load.step + s
    others = np.zeros(())
    for j in range(load.classes):
        ahead, behind = same_step(load, step, chunk, j)
        others = others + by_index(w, j) * 0.5 * (ahead + behind)
    # Of arrivals that are not Poisson, one meets (scv - 1)/2 more neighbours on each side than a random moment does
    # (renewal theory), as far as they fall into the same cycle.
    extra = (load.arrival_scv - 1.0) * -np.expm1(-lam * biased)
    gate = occupied * 0.5 * biased + np.maximum(occupied * lam * biased + extra, 0.0) * others

    chunk_work = s + step * load.uncached / chunk
    share = lam * traffic_mean(w, chunk_work)
    room = np.where(share < 1.0, 1.0 - share, np.nan)
    count = np.maximum(np.ceil(load.uncached / chunk), 1.0)
    # A prompt that finds the replica empty has the whole budget: it may need a chunk fewer.
    steps = occupied * count + state.empty * chunks_alone(load)
    chunk_own = step * steps + s + _tail_of_chunk(load, step, chunk, count, share)
    second = traffic_mean(w, chunk_work**2) + (load.arrival_scv - 1.0) * traffic_mean(w, chunk_work) ** 2
    chunk_queue = lam * np.maximum(second, 0.0) / (2.0 * room) + occupied * step / 2.0

    chunked = chunk_own + chunk_queue > gate_own + gate
    known = np.where(np.isnan(room), np.nan, 1.0)
    own, queue = np.where(chunked, chunk_own, gate_own), np.where(chunked, chunk_queue, gate * known)
    return FirstToken(
        own=own,
        queue=queue,
        mean=own + queue,
        chunked=chunked,
        budget_share=share,
        chunk=chunk,
        step=step,
        cycle=cycle,
        cycle_variance=cycle_variance,
        chunk_work=chunk_work,
    )


def chunks_alone(load: Traffic) -> Array:
    """Steps that each class's prompt takes in an empty replica [steps]."""
    return np.maximum(np.ceil(load.uncached / load.budget), 1.0)


def first_token_variance(load: Traffic, state: Steady, first: FirstToken) -> Array:
    """Variance of TTFT by class [s^2], on the branch that `first_token` took."""
    lam, w, rp = load.rate, load.weights, state.busy_prefill
    occupied = 1.0 - state.empty
    cycle, variance = first.cycle, first.cycle_variance
    second = _pulse(load, state, 2)
    third = lam * cycle * _pulse(load, state, 3) + 3.0 * rp * lam * second * variance
    cube = third / (1.0 - rp**3) + 3.0 * cycle * variance + cycle**3
    biased = cycle + variance / cycle
    mean = (0.5 + rp) * biased
    square = cube / (12.0 * cycle) + lam * biased * second + (0.5 + rp) ** 2 * (cube / cycle - biased**2) + mean**2
    gate = occupied * square - (occupied * mean) ** 2

    room = np.where(first.budget_share < 1.0, 1.0 - first.budget_share, np.nan)
    wait = lam * traffic_mean(w, first.chunk_work**2) / (2.0 * room)
    chunk = wait**2 + lam * traffic_mean(w, first.chunk_work**3) / (3.0 * room) + first.step**2 / 12.0
    out: Array = np.where(first.chunked, chunk, gate)
    return out


def by_index(values: Array, j: int) -> Array:
    """What class j has, of an array that may hold one value for all classes."""
    out: Array = values[j if values.shape[0] > 1 else 0]
    return out


def same_step(load: Traffic, step: Array, chunk: Array, j: int) -> tuple[Array, Array]:
    """What a prompt of class j adds to the TTFT of each class if both wait for one step [s]: ahead of it, and behind.

    Where both fit in the budget they share the step. Else the one ahead takes a step of its own, and one behind only
    fills what is left.
    """
    tokens, work = by_index(load.uncached, j), by_index(load.prefill, j)
    room = chunk - load.uncached
    apart = room < tokens
    fill = work * np.clip(room / np.where(tokens > 0.0, tokens, 1.0), 0.0, 1.0)
    return work + apart * step, np.where(apart, fill, work)


def _pulse(load: Traffic, state: Steady, order: int) -> Array:
    """E[s^order], the second moment corrected for renewal arrivals that are not Poisson."""
    moment = traffic_mean(load.weights, load.prefill**order)
    if order != 2:
        return moment
    return np.maximum(moment + (load.arrival_scv - 1.0) * state.mean_prefill**2, 0.0)


def _tail_of_chunk(load: Traffic, step: Array, chunk: Array, count: Array, share: Array) -> Array:
    """What followers add to the last chunk of a prompt that needs several [s].

    A prompt that starts a chunk leaves room at the end of its last one; the next prompt takes it with the probability
    that one waits. A prompt that starts within a chunk ends, on average, half a full chunk later.
    """
    per_token = np.where(load.uncached > 0.0, load.prefill / np.where(load.uncached > 0.0, load.uncached, 1.0), 0.0)
    unused = per_token * (count * chunk - load.uncached)
    full = step + per_token * chunk
    waiting = np.minimum(share, 1.0)
    out: Array = np.where(count > 1.0, waiting * ((1.0 - waiting) * unused + waiting * 0.5 * full), 0.0)
    return out
