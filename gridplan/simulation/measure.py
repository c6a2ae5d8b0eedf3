"""Runs long enough for their queues, in groups of cells that fit the working memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.cells import Cells
from gridplan.simulation.gaps import BINS
from gridplan.simulation.records import Records, run_group
from gridplan.simulation.result import Simulation
from gridplan.simulation.steady import BATCHES, growing, overloaded, pace_s, unloaded_ttft_s
from gridplan.simulation.streams import Requests, draw

__all__ = ["Run", "kept_cells", "measured", "replayed"]

Array: TypeAlias = npt.NDArray[Any]

_GROUP_BYTES = 256 * 2**20
"""Working memory of the lanes that run together. Class: policy."""

_KEPT_BYTES = 256 * 2**20
"""Records of the cells that are kept at a time where only figures are asked. Class: policy."""

_REQUEST_BYTES = 56
"""Of one request in a lane: arrival, class, entry of the first token, two log entries."""

_RECORD_BYTES = 64
"""Of one request in the records, with the figures that are made of them."""

_LONGEST = 4
"""Steps of the calendar to the longest mean output: random lengths reach further. Class: policy."""

_LONGER = 4
_RETRIES = 2
"""A run too short for its queue is tried again with a warm-up and a tail this many times longer, so often."""


_NEAR = 0.99
"""Share of the limit from which no run is long enough for a mean wait. Class: policy."""


@dataclass(frozen=True)
class Run:
    """How long to measure, how often, and which random numbers to take; `fixed` where the warm-up was asked for."""

    requests: int
    runs: int
    warm_up: int
    fixed: bool
    seed: int
    random_outputs: bool

    @classmethod
    def of(cls, requests: int, runs: int, warm_up: int | None, seed: int, random_outputs: bool) -> Run:
        """Checked, the warm-up a quarter of the requests unless it is given; ValueError for what cannot be."""
        if requests < BATCHES:
            raise ValueError(f"requests: at least {BATCHES} expected, found {requests}")
        if runs < 1:
            raise ValueError("runs: below 1")
        if seed < 0:
            raise ValueError("seed: negative")
        if warm_up is not None and warm_up < 0:
            raise ValueError("warm_up: negative")
        first = max(requests // 4, 100) if warm_up is None else warm_up
        return cls(requests, runs, first, warm_up is not None, seed, random_outputs)


def kept_cells(requests: int) -> int:
    """Cells whose records are kept at a time where only figures are asked, `requests` in each."""
    return max(1, int(_KEPT_BYTES / (requests * _RECORD_BYTES + 8 * BINS)))


def measured(cells: Cells, run: Run) -> Simulation:
    """Simulate until every measured request has finished while others went on arriving; then judge the queue."""
    ladder = [(run.warm_up, run.requests // 4 + 128)]
    for _ in range(_RETRIES):
        first, tail = ladder[-1]
        ladder.append((first if run.fixed else max(first, 100) * _LONGER, tail * _LONGER + run.requests))
    records = _drawn(cells, run, *ladder[0])
    over, grown = overloaded(cells), _growing(run, cells, records)
    short = ~over & ~grown & _short(run, records, run.warm_up)
    for first, tail in ladder[1:]:
        (again,) = np.nonzero(short)
        if again.size:
            some = cells.rows(again)
            longer = _drawn(some, run, first, tail)
            records.put(again, longer)
            grown[again] = _growing(run, some, longer)
            short[again] = ~grown[again] & _short(run, longer, first)
    beyond = over | short
    beyond[~beyond] = _saturated(cells.rows(~beyond), run, records.rows(~beyond), grown[~beyond])
    # A queue below the limit that grew wandered, or began too empty: once more after a longer warm-up.
    (again,) = np.nonzero(grown & ~beyond)
    if again.size:
        first, tail = ladder[1]
        longer = _drawn(cells.rows(again), run, first, tail)
        records.put(again, longer)
        beyond[again] = _short(run, longer, first)
    return Simulation(records, ~beyond)


def _growing(run: Run, cells: Cells, records: Records) -> Array:
    # In a closed loop the number in flight is given: no queue can grow.
    mean_run = records.ttft_s.reshape(cells.count, run.runs, -1).mean(axis=1)
    found: Array = (cells.concurrency == 0) & growing(mean_run)
    return found


def _short(run: Run, records: Records, warm_up: int) -> Array:
    """The run ended with measured requests in progress, or its warm-up saw fewer than two turnovers of the system."""
    short: Array = records.ended | ((warm_up < 2.0 * records.in_system) & (not run.fixed))
    return short


def _saturated(cells: Cells, run: Run, records: Records, grown: Array) -> Array:
    """Whether requests arrive faster than the replica serves them with twice as many in the system.

    A queue slightly above the limit grows no faster than the queue below it wanders, so the run itself cannot tell. A
    replica that is never short of requests shows its limit at once: what it then serves bounds the arrivals of any
    stable queue. Source: Baccelli and Foss 1995, "On the saturation rule for the stability of queues",
    doi:10.2307/3215303. Asked only where a queue is there to see: at the limit some 0.5 sqrt(requests) wait on average.
    """
    found, wait = np.zeros(cells.count, bool), records.ttft_s.mean(axis=1)
    enough = max(3.0, 0.15 * np.sqrt(run.requests))
    queue = (cells.arrival_rate * wait > enough) & (wait > 3.0 * unloaded_ttft_s(cells))
    asked = (cells.concurrency == 0) & (queue | grown)
    held = np.ceil(np.maximum(2.0 * records.in_system, 2.0))
    # The length of the test follows from the cell alone; cells of about one size are tested together.
    length = np.exp2(np.ceil(np.log2(held))).astype(np.int64)
    for first in np.unique(length[asked]).tolist():
        requests = max(run.requests, 2 * first)
        (alike,) = np.nonzero(asked & (length == first))
        for some in np.array_split(alike, -(-alike.size // kept_cells(requests * run.runs))):
            full = replace(cells.rows(some), concurrency=held[some])
            served = _drawn(full, replace(run, requests=requests), first, first + requests // 4)
            tokens = (served.arrival_s + served.ttft_s).reshape(some.size, run.runs, requests)
            found[some] = cells.arrival_rate[some] * pace_s(tokens.mean(axis=1)) >= _NEAR
    return found


def _drawn(cells: Cells, run: Run, first: int, tail: int) -> Records:
    total = first + run.requests + tail
    parts, lanes = [], cells.times(run.runs)
    for group in _groups(lanes, total):
        some = lanes.rows(group)
        drawn = draw(some, total, run.seed, run.random_outputs)
        parts.append(run_group(some, drawn, first, first + run.requests))
    return Records.joined(parts).merged(run.runs)


def replayed(cells: Cells, requests: Requests) -> Simulation:
    """Simulate given requests to their end."""
    groups = _groups(cells, requests.count)
    parts = [run_group(cells.rows(group), requests.rows(group), 0, requests.count) for group in groups]
    return Simulation(Records.joined(parts), np.ones(cells.count, bool))


def _groups(cells: Cells, count: int) -> list[slice]:
    """Cells that run together, within the working memory."""
    calendar = 16 * _LONGEST * max(64.0, float(cells.output.max()))
    size = max(1, int(_GROUP_BYTES / (count * _REQUEST_BYTES + calendar + 8 * BINS)))
    return [slice(at, at + size) for at in range(0, cells.count, size)]
