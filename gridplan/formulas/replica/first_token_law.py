"""The distribution of TTFT: few overlaps keep their shape, many are a gamma.

A prompt that arrives in a plain step waits for the rest of it, evenly spread; one that arrives during the step of one
other prompt waits for the rest of a longer one. These few cases have known probabilities and shapes and make most of
the requests; what remains gets the mean and the variance that are left. One law by level of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.batch_levels import LEVELS
from gridplan.formulas.replica.first_token import FirstToken, chunks_alone, first_token_variance, same_step
from gridplan.formulas.replica.gate import prompts_in_a_step
from gridplan.formulas.replica.mixture import Mixture, mixture_share
from gridplan.formulas.replica.prompt_groups import PromptGroups
from gridplan.formulas.replica.slot_wait import SlotWait
from gridplan.formulas.replica.steady import Steady
from gridplan.formulas.replica.traffic import Array, Traffic

__all__ = ["FirstTokenLaw", "first_token_law"]


COMPARABLE = 0.5
"""Prompts at least this share as long as another count beside it as prompts, shorter ones as noise (policy)."""


@dataclass(frozen=True, eq=False)
class FirstTokenLaw:
    """Components by group of classes on axes (component, group, ...), the first `gammas` gamma, the others uniform.

    weight [1] sums to 1 over components; mean [s], variance [s^2], shift [s]. group_weights [1], share of requests.
    """

    groups: PromptGroups
    group_weights: Array
    gammas: int
    weight: Array
    mean: Array
    variance: Array
    shift: Array

    def mixture(self) -> Mixture:
        """The law over all requests."""
        parts = (self.weight * self.group_weights, self.mean, self.variance, self.shift)
        groups = self.mean.shape[1]
        flat = [part.reshape(part.shape[0] * groups, *part.shape[2:]) for part in parts]
        return Mixture(flat[0], flat[1], flat[2], flat[3], uniforms=(self.mean.shape[0] - self.gammas) * groups)

    def share(self, limit: Array) -> Array:
        """Share of each class's requests at or below a limit [1], class axis first."""
        of = self.groups.of
        if limit.ndim == 0 or limit.shape[0] == 1:
            return self._share(limit, slice(None))[of]
        return self._share(limit, of)

    def _share(self, limit: Array, groups: slice | npt.NDArray[np.intp]) -> Array:
        weight, mean, variance, shift = (
            part[:, groups] for part in (self.weight, self.mean, self.variance, self.shift)
        )
        cut = self.gammas
        gamma = mixture_share(mean[:cut], variance[:cut], shift[:cut], limit)
        half = np.sqrt(3.0 * variance[cut:])
        even = np.clip((limit - mean[cut:] + half) / np.maximum(2.0 * half, 1e-300), 0.0, 1.0)
        out: Array = (weight[:cut] * gamma).sum(axis=0) + (weight[cut:] * even).sum(axis=0)
        return out


def first_token_law(
    load: Traffic, groups: PromptGroups, levels: list[Steady], firsts: list[FirstToken], wait: SlotWait
) -> FirstTokenLaw:
    """All levels together; requests that wait for a slot are gammas of their own."""
    load = groups.load(load)
    gamma: list[tuple[Array, ...]] = []
    even: list[tuple[Array, ...]] = []
    on_time = 1.0 - wait.probability
    for (share, _), state, first in zip(LEVELS, levels, map(groups.tokens, firsts), strict=True):
        variance = first_token_variance(load, state, first)
        rest, cases = _level(load, state, first, variance)
        gamma.append((share * on_time * rest[0], *rest[1:]))
        even += [(share * on_time * case[0], case[1], case[2], case[1]) for case in cases]
        if load.slots is not None:
            late = (first.mean + wait.time_s, variance + wait.time_s**2, first.own)
            gamma.append((share * wait.probability, *late))
    weight, mean, square, shift = np.empty((4, len(gamma) + len(even), load.classes, *load.lead))
    for row, part in enumerate((*gamma, *even)):
        weight[row], mean[row], square[row], shift[row] = part
    return FirstTokenLaw(groups, load.weights, len(gamma), weight, mean, square, shift)


def _level(
    load: Traffic, state: Steady, first: FirstToken, variance: Array
) -> tuple[tuple[Array, ...], list[tuple[Array, Array, Array]]]:
    """One level: the gamma (weight, mean, variance, shift), and the even cases (weight, mean, variance), by class."""
    chunked, empty = first.chunked, state.empty
    own = np.where(chunked, first.own, first.step + load.prefill)
    idle = load.step * np.where(chunked, chunks_alone(load), 1.0) + load.prefill
    # An empty replica starts at once; prompts in chunks may still stand in the way of one that finds no decoding.
    alone = empty * np.where(chunked, 1.0 - first.budget_share, 1.0)
    cases = [(alone, idle, np.zeros(()))]
    for gate, chunk in zip(_gate_cases(load, state, first), _chunk_cases(load, state, first), strict=True):
        weight, mean, spread = (np.where(chunked, b, a) for a, b in zip(gate, chunk, strict=True))
        cases.append((weight, own + mean, spread))
    weight, mean, square = np.ones(()), first.mean, variance + first.mean**2
    for share, centre, spread in cases:
        weight, mean, square = weight - share, mean - share * centre, square - share * (spread + centre**2)
    weight = np.where(weight > 1e-9, weight, 0.0)
    some = np.where(weight > 0.0, weight, 1.0)
    mean = mean / some
    spread = square / some - mean**2
    # Where rounding or the mix of two branches leaves no room, at least half a step and a fifth of it.
    mean = np.where(mean > own, mean, own + 0.5 * first.step)
    spread = np.where(spread > 0.0, spread, (0.2 * (mean - own)) ** 2)
    return (weight, mean, spread, own), cases


def _gate_cases(load: Traffic, state: Steady, first: FirstToken) -> list[tuple[Array, Array, Array]]:
    """No other prompt; one of class j in the running step; one of class j that arrived in the same step.

    Beside one of class j there is none of a class at least `COMPARABLE` as long; shorter ones only add their mean and
    variance, or a rare long prompt among many short ones would never be a case of its own.
    """
    rate = load.rate * np.broadcast_to(load.weights, (load.classes, *load.weights.shape[1:]))
    work = np.broadcast_to(load.prefill, (load.classes, *load.prefill.shape[1:]))
    occupied, plain, lam, cycle = 1.0 - state.empty, first.step, load.rate, first.cycle
    of_all = prompts_in_a_step(rate, work, cycle)
    quiet = occupied * of_all.none * np.exp(-lam * plain) * plain / cycle
    cases = [(quiet, plain / 2.0, plain**2 / 12.0)]
    for j in range(load.classes):
        like = rate * (work >= COMPARABLE * work[j])
        short = rate - like
        # Often no class is much shorter: the prompts to look at are then all of them again.
        carried = of_all if np.array_equal(like, rate) else prompts_in_a_step(like, work, cycle)
        others, busy, square = like.sum(axis=0), (short * work).sum(axis=0), (short * work * work).sum(axis=0)
        without = cycle * (1.0 - (like * work).sum(axis=0))
        long = without + work[j]
        running = occupied * carried.one[j] * np.exp(-others * long) * long / cycle
        cases.append((running, long * (0.5 + busy), long**2 / 12.0 + long * square))
        ahead, behind = same_step(load, plain, first.chunk, j)
        beside = occupied * carried.none * np.exp(-others * without) * without / cycle * rate[j] * without
        spread = without**2 / 12.0 + without * square + 0.25 * (ahead - behind) ** 2
        cases.append((beside, without * (0.5 + busy) + 0.5 * (ahead + behind), spread))
    return cases


def _chunk_cases(load: Traffic, state: Steady, first: FirstToken) -> list[tuple[Array, Array, Array]]:
    """The same cases where prompts are served one by one: none ahead; one of class j, partly done; none twice."""
    occupied, plain = 1.0 - state.empty, first.step
    free = 1.0 - first.budget_share
    work = np.broadcast_to(first.chunk_work, (load.classes, *first.chunk_work.shape[1:]))
    weights = np.broadcast_to(load.weights, (load.classes, *load.weights.shape[1:]))
    cases = [(occupied * free, plain / 2.0, plain**2 / 12.0)]
    for j in range(load.classes):
        ahead = free * load.rate * weights[j] * work[j]
        cases.append((ahead, (occupied * plain + work[j]) / 2.0, (occupied * plain**2 + work[j] ** 2) / 12.0))
        cases.append((np.zeros(()), plain, plain**2))
    return cases
