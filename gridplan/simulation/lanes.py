"""State of every lane of a simulation: what a replica has in progress, and the log of its run."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.calendar import Calendar
from gridplan.simulation.cells import Cells
from gridplan.simulation.gaps import GapHistogram
from gridplan.simulation.streams import NEVER, Requests

__all__ = ["NEVER_STEP", "LaneState"]

Array: TypeAlias = npt.NDArray[Any]

NEVER_STEP = np.inf
"""Next finishing step of a replica without sequences."""

_SUMS = ("span_s", "busy_s", "steps", "sequence_s")
_STATE = (
    *("row", "t_w", "k", "t_seq", "budget", "max_num_seqs", "pool", "in_flight", "inverse_shortest"),
    *("clock", "step", "decoding", "context", "running", "used", "departed", "prefill_s", "joining", "joining_context"),
    *("left", "next_finish", "measured_finish", "head", "head_arrival", "remaining", "head_rate", "head_need"),
    *("started", "inside", *_SUMS),
)
"""Arrays of the lanes in progress, in step with `row`; all others are read by the row of the lane."""


class LaneState:
    """State of every replica (float64, so that whole numbers stay exact) and the log of its run.

    `first` and `last` bound the measured requests: sums over time run from the moment request `first` is the next to
    prefill until request `last` is. `ended` says that the last request was prefilled with measured ones in progress:
    they met fewer others than they should.
    """

    def __init__(self, cells: Cells, requests: Requests, first: int, last: int) -> None:
        lanes, slots = cells.count, requests.arrival_s.shape[1]
        self.first, self.last, self.slots = first, last, slots
        self._tables(cells)
        self._requests(requests)
        self.capped = bool(np.isfinite(cells.max_num_seqs).any() or np.isfinite(cells.pool_tokens).any())
        self.closed = bool((cells.concurrency > 0).any())
        longest = cells.output.max() if requests.output is None else requests.output.max()
        self.calendar = Calendar(lanes, int(longest))
        shortest = cells.weights_s + cells.per_sequence_s + cells.per_context_token_s * (cells.prompt.min(axis=1) + 1)
        self.gaps = GapHistogram(shortest)
        # The log: end times of all steps that finish a prompt or a sequence, and for every request the entry of its
        # first token. The end of a request is looked up there by its finishing step.
        self.log_step = np.zeros((lanes, 2 * slots), np.int64)
        self.log_time = np.zeros((lanes, 2 * slots))
        self.first_token = np.zeros((lanes, slots), np.int64)
        self.logged = np.zeros(lanes, np.int64)
        self.span_s, self.busy_s, self.steps, self.sequence_s = (np.zeros(lanes) for _ in range(4))
        self.ended = np.zeros(lanes, bool)
        self.heads = np.zeros(lanes, np.int64)
        self.totals = {name: np.zeros(lanes) for name in _SUMS}
        self._start(cells)

    def _tables(self, cells: Cells) -> None:
        self._uncached = cells.uncached.ravel()
        self._prompt = cells.prompt.ravel()
        self._output = cells.output.ravel()
        self._rate = cells.prefill_rate_s.ravel()
        self._classes = cells.classes

    def _requests(self, requests: Requests) -> None:
        self._arrival = requests.arrival_s.reshape(-1)
        rows = np.arange(requests.kind.shape[0])[:, None] * self._classes
        self._kind = (requests.kind + rows).reshape(-1)
        self._length = None if requests.output is None else requests.output.reshape(-1)

    def _start(self, cells: Cells) -> None:
        lanes = cells.count
        self.row = np.arange(lanes)
        self.t_w, self.k, self.t_seq = cells.weights_s, cells.per_context_token_s, cells.per_sequence_s
        self.budget, self.max_num_seqs, self.pool = cells.budget, cells.max_num_seqs, cells.pool_tokens
        self.in_flight = cells.concurrency
        self.inverse_shortest = 1.0 / self.gaps.shortest_s
        self.clock, self.step, self.decoding, self.context = (np.zeros(lanes) for _ in range(4))
        self.running, self.used, self.departed = (np.zeros(lanes) for _ in range(3))
        self.prefill_s, self.joining, self.joining_context = (np.zeros(lanes) for _ in range(3))
        self.left = self.budget.copy()
        self.next_finish = np.full(lanes, NEVER_STEP)
        self.measured_finish = np.zeros(lanes)
        self.head = np.zeros(lanes, np.int64)
        self.head_arrival, self.remaining, self.head_rate, self.head_need = (np.zeros(lanes) for _ in range(4))
        self.started = np.zeros(lanes, bool)
        self.inside = np.zeros(lanes)
        self._load(np.arange(lanes))

    def keep(self, which: Array) -> None:
        """Drop all lanes but these from the state; the log and the sums of all stay."""
        self.flush()
        for name in _STATE:
            setattr(self, name, getattr(self, name)[which])

    def flush(self) -> None:
        """Bring the sums of the lanes in progress to the rows of all."""
        for name, total in self.totals.items():
            total[self.row] = getattr(self, name)
        self.heads[self.row] = self.head

    def _load(self, index: Array) -> None:
        """Bring the request at the head of these lanes into the state."""
        head = self.head[index]
        at = self.row[index] * self.slots + head
        kind = self._kind[at]
        output = self._output[kind] if self._length is None else self._length[at]
        arrival = self._arrival[at]
        if self.closed:
            late = (self.in_flight[index] > 0) & (head >= self.in_flight[index] + self.departed[index])
            arrival = np.where(late, NEVER, arrival)
        self.head_arrival[index] = arrival
        self.remaining[index] = self._uncached[kind]
        self.head_rate[index] = self._rate[kind]
        self.head_need[index] = self._prompt[kind] + output
        self.started[index] = False
        self.inside[index] = (head >= self.first) & (head < self.last)
        (over,) = (head == self.slots - 1).nonzero()
        if over.size:
            self.ended[self.row[index[over]]] = self.step[index[over]] < self.measured_finish[index[over]]
