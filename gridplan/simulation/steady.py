"""Whether a run had settled, and how sure its numbers are: batch means over consecutive requests.

Requests near each other share the same queue, so their times are no independent sample. Means of long consecutive
batches nearly are; their spread gives the standard error. Source: Law, "Simulation Modeling and Analysis", 9.5.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gridplan.simulation.cells import Cells

__all__ = ["BATCHES", "batches", "growing", "overloaded", "pace_s", "standard_error", "unloaded_ttft_s"]

Array: TypeAlias = npt.NDArray[Any]

BATCHES = 20
"""Batches of a run: enough for a spread, few enough to be long. Class: policy."""


def batches(values: Array) -> Array:
    """(cells, requests) as (cells, BATCHES, requests of a batch); a remainder at the end is left out."""
    length = values.shape[1] // BATCHES
    return values[:, : BATCHES * length].reshape(values.shape[0], BATCHES, length)


def standard_error(of_batches: Array) -> Array:
    """Standard error of a mean from its values in each batch: (cells, BATCHES) to (cells,).

    Where one batch still tells of the next, by a correlation r > 0, the variance is larger by 1 + 2 r.
    """
    count = of_batches.shape[1]
    away = of_batches - of_batches.mean(axis=1, keepdims=True)
    square = (away * away).sum(axis=1)
    with np.errstate(invalid="ignore"):
        alike = np.where(square > 0, (away[:, 1:] * away[:, :-1]).sum(axis=1) / square, 0.0)
    error: Array = np.sqrt(square * (1.0 + 2.0 * np.maximum(alike, 0.0)) / ((count - 1) * count))
    return error


def overloaded(cells: Cells) -> Array:
    """Work offered at or above what a replica can do, whatever its scheduler: prefill and KV reads per second >= 1.

    lam (E[prefill] + E[(O - 1) (k (P + O / 2) + t_seq)]), the share of time that is left for reading the weights
    being the rest. With random outputs O is their mean, which understates the reads: the rest is left to `growing`.
    """
    per_token = cells.per_context_token_s[:, None] * (cells.prompt + cells.output / 2) + cells.per_sequence_s[:, None]
    work = cells.prefill_rate_s * cells.uncached + (cells.output - 1.0) * per_token
    busy: Array = cells.arrival_rate * (cells.weights * work).sum(axis=1)
    return np.asarray((cells.concurrency == 0) & (busy >= 1.0))


def unloaded_ttft_s(cells: Cells) -> Array:
    """Mean TTFT of a request alone: its prefill and as many steps as the budget cuts it into [s], (cells,)."""
    steps = np.ceil(cells.uncached / cells.budget[:, None])
    alone = cells.prefill_rate_s * cells.uncached + steps * cells.weights_s[:, None]
    mean: Array = (cells.weights * alone).sum(axis=1)
    return mean


def pace_s(times_s: Array) -> Array:
    """Seconds from one event to the next, the slope through all of them: (cells, events) to (cells,).

    Equal requests in a full replica come and go in waves; the slope minds a part of a wave less than the two ends do.
    """
    away = np.arange(times_s.shape[1]) - (times_s.shape[1] - 1) / 2
    slope: Array = (times_s * away).sum(axis=1) / (away * away).sum()
    return slope


def growing(ttft_s: Array) -> Array:
    """The wait rose from quarter to quarter and doubled over the run: (cells, requests) to (cells,).

    So does a queue that diverges, and at times one below its limit whose correlation is as long as the run.
    """
    length = ttft_s.shape[1] // 4
    quarter = ttft_s[:, : 4 * length].reshape(ttft_s.shape[0], 4, length).mean(axis=2)
    rising: Array = (np.diff(quarter, axis=1) > 0).all(axis=1) & (quarter[:, 3] > 2.0 * quarter[:, 0])
    return rising
