"""From the log of a run to the times of each request, and the run of one group of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.cells import Cells
from gridplan.simulation.lockstep import Lanes
from gridplan.simulation.streams import Requests

__all__ = ["Records", "run_group"]

Array: TypeAlias = npt.NDArray[Any]

_ITERATIONS = 32
"""Iterations between two looks at which lanes have settled."""


_SUMMED = frozenset({"span_s", "busy_s", "steps", "sequence_s", "gap_weight"})


@dataclass(frozen=True)
class Records:
    """Measured requests of a group of cells, (cells, requests), and its sums, (cells,)."""

    arrival_s: Array
    ttft_s: Array
    e2e_s: Array
    decode_s: Array
    kind: Array
    output: Array
    span_s: Array
    busy_s: Array
    steps: Array
    sequence_s: Array
    gap_weight: Array
    gap_shortest_s: Array
    ended: npt.NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: list[Records]) -> Records:
        """The cells of several groups, in order."""
        names = vars(parts[0])
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def merged(self, runs: int) -> Records:
        """Runs of one cell that lie next to each other as one row: (cells * runs, ...) to (cells, ...)."""
        if runs == 1:
            return self
        cells = self.span_s.size // runs
        found: dict[str, Array] = {}
        for name, value in vars(self).items():
            apart = value.reshape(cells, runs, *value.shape[1:])
            if name in _SUMMED:
                found[name] = apart.sum(axis=1)
            elif name == "ended":
                found[name] = apart.any(axis=1)
            elif name == "gap_shortest_s":
                found[name] = apart[:, 0]
            else:
                found[name] = value.reshape(cells, -1)
        return Records(**found)

    @property
    def in_system(self) -> Array:
        """Requests in the system, mean over time by Little's law, (cells,)."""
        mean: Array = self.e2e_s.sum(axis=1) / self.span_s
        return mean

    def rows(self, which: Array) -> Records:
        """Some of the cells."""
        return Records(**{name: value[which] for name, value in vars(self).items()})

    def put(self, rows: Array, other: Records) -> None:
        """Replace the cells `rows` by those of another run."""
        for name, value in vars(self).items():
            value[rows] = getattr(other, name)


def run_group(cells: Cells, requests: Requests, first: int, last: int) -> Records:
    """Simulate some cells until the requests `first` to `last` (exclusive) have finished in all of them."""
    lanes = Lanes(cells, requests, first, last)
    with np.errstate(all="ignore"):  # lanes that wait for an event of their own pass through inf and 0/0
        while lanes.row.size:
            for _ in range(_ITERATIONS):
                lanes.advance()
            settled = lanes.settled()
            if settled.sum() * 8 > settled.size or settled.all():
                lanes.keep(~settled)
    return _records(cells, requests, lanes, first, last)


def _records(cells: Cells, requests: Requests, lanes: Lanes, first: int, last: int) -> Records:
    shape = (cells.count, last - first)
    arrival, ttft, e2e, decode = (np.empty(shape) for _ in range(4))
    length = requests.lengths(cells)
    for row in range(cells.count):
        logged = lanes.logged[row]
        steps, times = lanes.log_step[row, :logged], lanes.log_time[row, :logged]
        entry = lanes.first_token[row, first:last]
        token = times[entry]
        # Token 1 comes at the end of the logged step, the others one a step.
        done = times[np.searchsorted(steps, steps[entry] + length[row, first:last] - 1)]
        arrival[row] = requests.arrival_s[row, first:last]
        if cells.concurrency[row] > 0:
            arrival[row] = _replaced(lanes, row, int(cells.concurrency[row]), steps, times, length[row])[first:last]
        ttft[row], e2e[row], decode[row] = token - arrival[row], done - arrival[row], done - token
    return Records(
        arrival_s=arrival,
        ttft_s=ttft,
        e2e_s=e2e,
        decode_s=decode,
        kind=requests.kind[:, first:last].astype(np.int32),
        output=length[:, first:last].copy(),
        gap_weight=lanes.gaps.weight,
        gap_shortest_s=lanes.gaps.shortest_s,
        ended=lanes.ended,
        **lanes.totals,
    )


def _replaced(lanes: Lanes, row: int, start: int, steps: Array, times: Array, length: Array) -> Array:
    """Arrivals of a closed loop: `start` requests at once, then one for each departure, in their order."""
    seen = int(lanes.heads[row])
    entry = lanes.first_token[row, :seen]
    known = entry < steps.size  # the last may belong to a step that is still being built
    finish = np.sort(steps[entry[known]] + length[:seen][known] - 1)
    at = np.searchsorted(steps, finish)
    departures = times[at[at < steps.size]]
    arrival = np.zeros(length.size)
    arrival[start : start + departures.size] = departures[: arrival.size - start]
    return arrival
