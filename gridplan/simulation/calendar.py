"""When decoding sequences finish: per lane a ring of steps, each holding how many sequences end there.

A sequence of O output tokens that joins after step s finishes at step s + O - 1, known when it joins. A ring longer
than the longest output therefore holds all finishing steps of a lane without collisions, whatever the mix of lengths,
and one packed integer a step says how many sequences end there and how many tokens leave with them. Two levels of bit
masks (one bit a step, one bit a word of 64 steps) find the next step at which any ends.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["COUNT_BITS", "Calendar", "packed"]

Array: TypeAlias = npt.NDArray[Any]

COUNT_BITS = 24
"""Low bits of a packed entry that count sequences; the rest are tokens, up to 2^39."""

_ONE = np.uint64(1)
_SIX, _LOW = np.int64(6), np.int64(63)


def packed(tokens: Array) -> Array:
    """One sequence that leaves with this many tokens, as an entry of the calendar."""
    entry: Array = (tokens.astype(np.int64) << COUNT_BITS) + 1
    return entry


class Calendar:
    """Finishing steps of `lanes` lanes whose longest output is `horizon` tokens.

    Methods take arrays of lane numbers without repeats and steps (int64) beside them.
    """

    def __init__(self, lanes: int, horizon: int) -> None:
        self.ring = 1 << max(6, int(horizon + 1).bit_length())
        self._wrap = np.int64(self.ring - 1)
        self._words_a_lane = self.ring >> 6
        self._tops_a_lane = (self._words_a_lane + 63) >> 6
        self._load = np.zeros(lanes * self.ring, np.int64)
        self._words = np.zeros(lanes * self._words_a_lane, np.uint64)
        self._tops = np.zeros(lanes * self._tops_a_lane, np.uint64)

    def add(self, lane: Array, step: Array, entry: Array) -> None:
        """Let `entry` leave at the end of `step`."""
        slot = step & self._wrap
        self._load[lane * self.ring + slot] += entry
        word = slot >> _SIX
        self._words[lane * self._words_a_lane + word] |= _bit(slot)
        self._tops[lane * self._tops_a_lane + (word >> _SIX)] |= _bit(word)

    def pop(self, lane: Array, step: Array) -> Array:
        """All that leaves at the end of `step`, packed; the entry is cleared."""
        slot = step & self._wrap
        at = lane * self.ring + slot
        entry: Array = self._load[at]
        self._load[at] = 0
        word = slot >> _SIX
        at = lane * self._words_a_lane + word
        left = self._words[at] & ~_bit(slot)
        self._words[at] = left
        (empty,) = (left == 0).nonzero()
        at = lane[empty] * self._tops_a_lane + (word[empty] >> _SIX)
        self._tops[at] &= ~_bit(word[empty])
        return entry

    def following(self, lane: Array, step: Array) -> Array:
        """First step after `step` at which a sequence leaves; every lane must hold at least one."""
        first = step + 1
        slot = first & self._wrap
        word = slot >> _SIX
        rest = self._words[lane * self._words_a_lane + word] >> _shift(slot)
        found: Array = first + _trailing_zeros(rest)
        (open_,) = (rest == 0).nonzero()
        if open_.size:
            aligned = first[open_] - (slot[open_] & _LOW)
            found[open_] = self._later(lane[open_], word[open_], aligned)
        return found

    def _later(self, lane: Array, word: Array, aligned: Array) -> Array:
        """The same from the word after `word` on, whose first step is `aligned` + 64."""
        words, found = self._words_a_lane, np.zeros(lane.size, np.int64)
        pending = np.arange(lane.size)
        ahead = np.ones(lane.size, np.int64)  # words from `word`
        while pending.size:
            at = (word[pending] + ahead[pending]) & (words - 1)
            top = self._tops[lane[pending] * self._tops_a_lane + (at >> _SIX)] >> _shift(at)
            hit = top != 0
            done, zeros = pending[hit], _trailing_zeros(top[hit])
            if done.size:
                target = (at[hit] + zeros) & (words - 1)
                bits = self._words[lane[done] * words + target]
                found[done] = aligned[done] + ((ahead[done] + zeros) << _SIX) + _trailing_zeros(bits)
            pending = pending[~hit]
            # A lane of fewer than 64 words has a part of one top word: the search goes on at its start.
            ahead[pending] += np.minimum(64, words) - (at[~hit] & min(_LOW, np.int64(words - 1)))
        return found


def _shift(position: Array) -> Array:
    shift: Array = (position & _LOW).view(np.uint64)  # never negative, so the same bits
    return shift


def _bit(position: Array) -> Array:
    bit: Array = _ONE << _shift(position)
    return bit


def _trailing_zeros(word: Array) -> Array:
    zeros: Array = np.bitwise_count((word - _ONE) & ~word).astype(np.int64)
    return zeros
