"""What the latencies of one replica are made of, each part worked out when it is first asked for.

A percentile of TPOT needs no TTFT, and a search for a rate asks for one latency at a time, dozens of times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridplan.formulas.replica.batch_levels import LEVELS, batch_levels
from gridplan.formulas.replica.decode_spread import decode_variance
from gridplan.formulas.replica.first_token import FirstToken, first_token, first_token_variance
from gridplan.formulas.replica.first_token_law import FirstTokenLaw, first_token_law
from gridplan.formulas.replica.gaps import GapLaw, gap_law
from gridplan.formulas.replica.mixture import Mixture
from gridplan.formulas.replica.prompt_groups import PromptGroups, prompt_groups
from gridplan.formulas.replica.slot_wait import SlotWait, slot_wait
from gridplan.formulas.replica.steady import Steady, steady
from gridplan.formulas.replica.traffic import Array, Traffic

__all__ = ["Laws", "quiet"]

quiet = np.errstate(all="ignore")
"""Cells without an answer make NaN and infinity on the way to it."""


@dataclass(frozen=True, eq=False, repr=False)
class Laws:
    """The means and distributions behind the figures of a load, class axis first where there is one."""

    _load: Traffic

    @cached_property
    @quiet
    def _state(self) -> Steady:
        return steady(self._load)

    @cached_property
    @quiet
    def _levels(self) -> list[Steady]:
        return batch_levels(self._load, self._state)

    @cached_property
    def _groups(self) -> PromptGroups:
        return prompt_groups(self._load)

    @cached_property
    @quiet
    def _firsts(self) -> list[FirstToken]:
        """By level of the batch."""
        few = self._groups.load(self._load)
        return [self._groups.spread(first_token(few, level)) for level in self._levels]

    @cached_property
    @quiet
    def _wait(self) -> SlotWait:
        return slot_wait(self._load, self._state)

    @cached_property
    @quiet
    def _ttft_mean(self) -> Array:
        """By class, without a wait for a slot [s]."""
        return sum((share * first.mean for (share, _), first in zip(LEVELS, self._firsts, strict=True)), np.zeros(()))

    @cached_property
    @quiet
    def _ttft_variance(self) -> Array:
        """Over all levels of the batch, by class, without a wait for a slot [s^2]."""
        total: Array = np.zeros(())
        for (share, _), state, first in zip(LEVELS, self._levels, self._firsts, strict=True):
            total = total + share * (
                first_token_variance(self._load, state, first) + (first.mean - self._ttft_mean) ** 2
            )
        return total

    @cached_property
    @quiet
    def _ttft_law(self) -> FirstTokenLaw:
        return first_token_law(self._load, self._groups, self._levels, self._firsts, self._wait)

    @cached_property
    def _ttft_mixture(self) -> Mixture:
        return self._ttft_law.mixture()

    @cached_property
    @quiet
    def _decode_variance(self) -> Array:
        return decode_variance(self._load, self._state)

    @cached_property
    @quiet
    def _gap_law(self) -> GapLaw:
        return gap_law(self._load, self._state, self._firsts[0])
