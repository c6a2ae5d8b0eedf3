"""Arrivals, classes and random output lengths of each cell, from random streams of the cell's own.

The stream of a cell follows from the seed, the cell's key and the number of the run: the same cell has the same
requests whatever its neighbours, and a longer run begins with the requests of a shorter one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.cells import Cells

__all__ = ["NEVER", "Requests", "draw"]

Array: TypeAlias = npt.NDArray[Any]

NEVER = 1e200
"""Arrival time of the request after the last [s]: beyond every run, yet its square is a number."""


@dataclass(frozen=True)
class Requests:
    """Requests of all cells in the order of arrival: (cells, requests + 1), the last column a request that never comes.

    `kind` is the class index; `output` the tokens of each request where they are random, else None.
    """

    arrival_s: Array
    kind: npt.NDArray[np.int64]
    output: Array | None

    @property
    def count(self) -> int:
        """Requests of a cell."""
        return int(self.arrival_s.shape[1]) - 1

    def lengths(self, cells: Cells) -> npt.NDArray[np.int64]:
        """Output tokens of every request, (cells, requests + 1)."""
        output = np.take_along_axis(cells.output, self.kind, axis=1) if self.output is None else self.output
        return output.astype(np.int64)

    def rows(self, which: slice) -> Requests:
        """The requests of some of the cells."""
        return Requests(self.arrival_s[which], self.kind[which], None if self.output is None else self.output[which])


def draw(cells: Cells, count: int, seed: int, random_outputs: bool) -> Requests:
    """`count` requests of every cell. Arrivals of a closed loop are not known before; they stay 0 here.

    Gaps are gamma distributed with the cell's squared coefficient of variation (1 is Poisson, 0 a fixed beat); random
    outputs are geometric with the mean of their class. ValueError where one of those exceeds the KV pool.
    """
    arrival = np.full((cells.count, count + 1), NEVER)
    kind = np.zeros((cells.count, count + 1), np.int64)
    output = np.ones((cells.count, count + 1)) if random_outputs else None
    for row in range(cells.count):
        gaps, classes, lengths = _generators(seed, int(cells.keys[row]), int(cells.run[row]))
        if cells.concurrency[row] == 0:
            arrival[row, :count] = _arrivals(gaps, cells.arrival_rate[row], cells.arrival_scv[row], count)
        else:
            arrival[row, :count] = 0.0
        if cells.classes > 1:
            edges = np.cumsum(cells.weights[row])
            last = int(np.flatnonzero(cells.weights[row])[-1])
            kind[row, :count] = np.minimum(np.searchsorted(edges, classes.random(count), side="right"), last)
        if output is not None:
            mean = cells.output[row][kind[row, :count]]
            output[row, :count] = _geometric(lengths.random(count), mean)
            need = cells.prompt[row][kind[row, :count]] + output[row, :count]
            if need.max() > cells.pool_tokens[row]:
                raise ValueError("pool_tokens: smaller than a request that was drawn, which could never be admitted")
    return Requests(arrival, kind, output)


def _generators(seed: int, key: int, run: int) -> list[np.random.Generator]:
    family = np.random.SeedSequence(entropy=(seed, key, run))
    return [np.random.Generator(np.random.Philox(child)) for child in family.spawn(3)]


def _arrivals(generator: np.random.Generator, rate: float, scv: float, count: int) -> Array:
    if scv == 0.0:
        gaps = np.ones(count)
    elif scv == 1.0:
        gaps = generator.standard_exponential(count)
    else:
        gaps = generator.standard_gamma(1.0 / scv, count) * scv
    times: Array = np.cumsum(gaps) / rate
    return times


def _geometric(uniform: Array, mean: Array) -> Array:
    """Geometric from 1 on by inversion, so that a request takes exactly one number of its stream."""
    with np.errstate(divide="ignore"):  # mean 1: log1p(-1) is minus infinity and every length 1
        return np.floor(np.log1p(-uniform) / np.log1p(-1.0 / mean)) + 1.0
