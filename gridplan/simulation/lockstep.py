"""Continuous batching of many replicas at once: every iteration takes each of them to its next event.

One replica, one lane. A step takes t = t_w + t_seq n + k ctx + prefill, n sequences decoding over ctx resident tokens.
Decoding sequences go first, one token each; what is left of the token budget goes to prompts in the order of arrival,
a prompt being cut where the budget ends. A request is admitted with its first chunk, while the sequences in progress
stay under their cap and prompt and output fit the rest of the KV pool (all of it is reserved then). The last chunk
emits token 1 at the end of its step; O - 1 decode steps follow.

An event is a step with prefill, or a run of steps without it up to the next finish or arrival: such steps grow by an
even k n, so a run of m lasts m A + k n m (m - 1) / 2, and the m that reaches an arrival solves a quadratic equation.
A step that takes in several prompts is built over several iterations, one prompt in each, while other lanes go on.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.calendar import COUNT_BITS, packed
from gridplan.simulation.gaps import spread
from gridplan.simulation.lanes import NEVER_STEP, LaneState
from gridplan.simulation.streams import NEVER

__all__ = ["Lanes"]

Array: TypeAlias = npt.NDArray[Any]

_COUNT = np.int64((1 << COUNT_BITS) - 1)
_ROUNDING = 1.0 - 1e-13
"""A run of steps that falls short of an arrival by rounding goes on; one that is a step too long cannot go back."""


class Lanes(LaneState):
    """Replicas that go from event to event side by side."""

    def settled(self) -> Array:
        """Lanes whose measured requests have all finished."""
        done: Array = (self.head >= self.last) & (self.step >= self.measured_finish)
        return done

    def advance(self) -> None:
        """One iteration: at most one prompt into the step being built, then the step or run of steps."""
        arrived = self.head_arrival <= self.clock
        wait = self._take(arrived)
        held = self._hold(wait)
        base = self.t_w + self.t_seq * self.decoding + self.k * self.context
        growth = self.k * self.decoding
        pure = self.left + self.decoding == self.budget
        count = self._steps(arrived, pure, base, growth)
        length = count * (base + growth * (0.5 * (count - 1.0))) + self.prefill_s
        busy = self._idle(pure, count, length)
        if held is not None:
            count[wait] = 0.0
            length[wait] = 0.0
        self._measure(count, length, busy, base, growth)
        self.clock += length
        self.step += count
        self.context += self.decoding * count
        finishing = self.step == self.next_finish
        self._log(finishing)
        self.decoding += self.joining
        self.context += self.joining_context
        (index,) = finishing.nonzero()
        if index.size:
            self._finish(index)
        np.subtract(self.budget, self.decoding, out=self.left)
        self.prefill_s.fill(0.0)
        self.joining.fill(0.0)
        self.joining_context.fill(0.0)
        if held is not None:
            self.left[wait], self.prefill_s[wait], self.joining[wait], self.joining_context[wait] = held

    def _take(self, arrived: Array) -> Array:
        """Put the next chunk into the step; returns the lanes whose step may take another prompt."""
        take = arrived & (self.left > 0)
        (some,) = take.nonzero()
        if not some.size:
            return some
        if self.capped:
            fits = (self.running < self.max_num_seqs) & (self.used + self.head_need <= self.pool)
            take &= fits | self.started
            new = take & ~self.started
            self.running += new
            self.used += self.head_need * new
            self.started |= take
        chunk = np.minimum(self.remaining, self.left) * take
        self.remaining -= chunk
        self.left -= chunk
        self.prefill_s += chunk * self.head_rate
        index: Array = (take & (self.remaining == 0)).nonzero()[0]
        if not index.size:
            return index
        self._join(index)
        waiting: Array = index[(self.left[index] > 0) & (self.head_arrival[index] <= self.clock[index])]
        return waiting

    def _join(self, index: Array) -> None:
        """The prompt at the head is complete with this step: it decodes from the next one on."""
        row, head, step = self.row[index], self.head[index], self.step[index]
        at = row * self.slots + head
        kind = self._kind[at]
        output = self._output[kind] if self._length is None else self._length[at]
        prompt = self._prompt[kind]
        finish = step + output
        self.calendar.add(row, finish.astype(np.int64), packed(prompt + output))
        self.next_finish[index] = np.minimum(self.next_finish[index], finish)
        counted = head < self.last
        self.measured_finish[index] = np.maximum(self.measured_finish[index], finish * counted)
        self.first_token.reshape(-1)[at] = self.logged[row]
        self.joining[index] += 1.0
        self.joining_context[index] += prompt + 1.0
        self.head[index] += 1
        self._load(index)

    def _hold(self, wait: Array) -> tuple[Array, Array, Array, Array] | None:
        """Set aside the step under construction of lanes that go on building it."""
        if not wait.size:
            return None
        held = self.left[wait], self.prefill_s[wait], self.joining[wait], self.joining_context[wait]
        self.prefill_s[wait] = self.joining[wait] = self.joining_context[wait] = 0.0
        return held

    def _steps(self, arrived: Array, pure: Array, base: Array, growth: Array) -> Array:
        """Steps up to the next event: 1 with prefill, else until a sequence finishes or a request arrives."""
        gap = self.head_arrival - self.clock
        half = base - 0.5 * growth
        count = (2.0 * _ROUNDING) * gap / (half + np.sqrt(half * half + 2.0 * growth * gap))
        np.ceil(count, out=count)
        # A request that waits for a sequence, for pool or for budget gets it at a finish only.
        np.copyto(count, np.inf, where=arrived)
        np.minimum(count, self.next_finish - self.step, out=count)
        np.copyto(count, 1.0, where=~pure)
        return count

    def _idle(self, pure: Array, count: Array, length: Array) -> Array:
        """An empty replica goes to the next arrival without a step; returns 1 where the replica is busy."""
        (empty,) = (pure & (self.decoding == 0)).nonzero()
        busy = np.ones(count.size)
        if not empty.size:
            return busy
        arrival = self.head_arrival[empty]
        count[empty] = 0.0
        length[empty] = np.where(arrival < NEVER, arrival - self.clock[empty], 0.0)
        busy[empty] = 0.0
        return busy

    def _measure(self, count: Array, length: Array, busy: Array, base: Array, growth: Array) -> None:
        span = length * self.inside
        steps = count * self.inside
        self.span_s += span
        self.busy_s += span * busy
        self.steps += steps
        self.sequence_s += span * self.decoding
        at = spread(self.step)
        at *= count
        np.floor(at, out=at)
        gap = base + self.prefill_s + growth * at
        self.gaps.add(self.row, gap, self.inverse_shortest, steps * self.decoding)

    def _log(self, finishing: Array) -> None:
        (index,) = (finishing | (self.joining > 0)).nonzero()
        row = self.row[index]
        entry = self.logged[row]
        self.log_step[row, entry] = self.step[index]
        self.log_time[row, entry] = self.clock[index]
        self.logged[row] = entry + 1

    def _finish(self, index: Array) -> None:
        """Sequences that emitted their last token leave with all their tokens."""
        row, step = self.row[index], self.step[index].astype(np.int64)
        entry = self.calendar.pop(row, step)
        count, tokens = entry & _COUNT, entry >> COUNT_BITS
        decoding = self.decoding[index] - count
        self.decoding[index] = decoding
        self.context[index] -= tokens
        if self.capped:
            self.running[index] -= count
            self.used[index] -= tokens
        if self.closed:
            self._replace(index, count)
        following = np.full(index.size, NEVER_STEP)
        (more,) = (decoding > 0).nonzero()
        following[more] = self.calendar.following(row[more], step[more])
        self.next_finish[index] = following

    def _replace(self, index: Array, count: Array) -> None:
        """In a closed loop every departure is an arrival at once."""
        self.departed[index] += count
        limit = self.in_flight[index]
        come = self.head[index] < np.minimum(limit + self.departed[index], self.slots - 1)
        due = (limit > 0) & (self.head_arrival[index] >= NEVER) & come
        ready = index[due]
        self.head_arrival[ready] = self.clock[ready]
