"""Curves over load: the figures of a replica at some loads, between which cells read theirs.

A percentile costs microseconds and a cube has up to billions of cells, but few of them differ in anything but the rate
that a replica sees. So each combination that makes a replica (machine, model, lengths) gets one curve: its figures at
`LOADS` loads, between which a cell reads its own. The loads lie close where figures bend: near 0, where the first
sequences meet, and near the end, where latency runs to infinity. Cells between loads that are far apart all the same
are computed directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridplan.chain.codes import NULL
from gridplan.chain.graph import Array
from gridplan.chain.pieces import at_cells, in_pieces
from gridplan.chain.replica import Replica, load_at, point_at
from gridplan.formulas.replica.traffic import traffic_mean

__all__ = ["LOADS", "curve", "curve_top_rate", "place", "read"]

TOP_LOADS = 128
"""Loads up to the highest at which means are shown (policy)."""

NEAR_LOADS, NEAR = 64, 1.6
"""Loads beyond it, up to `NEAR` times as much, where some figures are still shown (policy)."""

FAR_LOADS, FAR = 128, 16.0
"""Loads beyond those, up to `FAR` times as much, where TPOT may still be shown and flags change (policy).

With 16 of them every thirteenth cell of a large cube had to be computed directly, with 128 every eightieth.
"""

LOADS = TOP_LOADS + NEAR_LOADS + FAR_LOADS
"""Loads of a curve."""

BENT = 0.01
"""Second difference of neighbouring loads, relative, up to which a curve is read between them (policy).

A parabola with that bend leaves its chord by an eighth of it, 0.13%.
"""

_END_ROUNDS = 12
"""Halvings that find the highest load at which means are shown, to a part in 4,000."""


def curve_top_rate(*replica: Array) -> Array:
    """The largest rate at which means are shown [req/s], by halving; where they never are, that of a full replica."""
    # The more prompts share a step, the less of its chunk each of them pays: in the end nothing.
    made = Replica(*replica)
    load = load_at(np.zeros(()), made._replace(chunk_overhead_total_s=np.zeros(())))
    work = traffic_mean(load.weights, load.prefill + load.steps * load.context)
    full = np.asarray(made.data_parallel / work)
    low, high = np.zeros_like(full), full
    for _ in range(_END_ROUNDS):
        middle = 0.5 * (low + high)
        shown = ~np.isnan(point_at(middle, made).ttft_s)
        low, high = np.where(shown, middle, low), np.where(shown, high, middle)
    return np.where(low > 0.0, low, full)


def _rates(curve_top_rate: Array) -> Array:
    """Rates of the loads, which come first: (2 - u) u of the top at even roots of u, then in even ratios."""
    spot = np.linspace(0.0, 1.0, TOP_LOADS)
    near = NEAR ** (np.arange(1, NEAR_LOADS + 1) / NEAR_LOADS)
    far = NEAR * (FAR / NEAR) ** (np.arange(1, FAR_LOADS + 1) / FAR_LOADS)
    loads = np.concatenate([(2.0 - spot * spot) * spot * spot, near, far])
    return np.asarray(loads.reshape((-1,) + (1,) * curve_top_rate.ndim) * curve_top_rate)


def curve(
    function: Callable[..., Any], names: Sequence[str], curve_top_rate: Array, *inputs: Array
) -> tuple[Array, ...]:
    """Results of `function(rate, *inputs)` at every load, loads first; last, between which loads none may be read.

    There a figure bends or jumps, or what is shown or flagged changes: whole numbers are codes, with nothing between.
    """
    found = in_pieces(function, names, _rates(curve_top_rate), *inputs)
    results = found if isinstance(found, tuple) else (found,)
    apart = np.zeros((), dtype=bool)
    for values in results:
        apart = apart | (_bent(values) if values.dtype.kind == "f" else values[1:] != values[:-1])
    return (*results, apart)


def _bent(values: Array) -> Array:
    """Between which loads a figure may leave its chord: it bends at an end, or nothing shows that it does not."""
    bend = np.abs(values[2:] - 2.0 * values[1:-1] + values[:-2])
    end = np.zeros_like(values[:1])
    around = np.fmax(np.concatenate([end, bend]), np.concatenate([bend, end]))
    shown = ~np.isnan(values)
    straight = around <= BENT * np.abs(values[:-1])
    bent: Array = ~straight & (shown[1:] | shown[:-1])
    return bent


def place(rate: Array, curve_top_rate: Array) -> tuple[Array, Array]:
    """Where on its curve a rate lies: the load below, and the part of the way to the next.

    The part is infinite beyond the last load and NaN where there is no rate.
    """
    load = rate / curve_top_rate
    spot = np.sqrt(1.0 - np.sqrt(np.maximum(1.0 - load, 0.0))) * (TOP_LOADS - 1)
    if np.any(beyond := load > 1.0):
        spot[beyond] = TOP_LOADS - 1 + _beyond(load[beyond])
    inside = spot < LOADS - 1
    below = np.where(inside, spot, 0.0).astype(np.int64)
    return below, np.where(inside | np.isnan(spot), spot - below, np.inf)


def _beyond(load: Array) -> Array:
    """Position of a load above the top, in loads from it."""
    near = np.log(load) * (NEAR_LOADS / np.log(NEAR))
    far = NEAR_LOADS + np.log(load / NEAR) * (FAR_LOADS / np.log(FAR / NEAR))
    return np.asarray(np.where(load <= NEAR, near, far))


def read(function: Callable[..., Any], results: int, names: Sequence[str], *arrays: Array) -> Any:
    """Figures between two loads of their curves: `results` of `function(rate, *inputs)`, inputs by `names`.

    `arrays` are the place and part of each cell, the curves as `curve` made them, the rate and the inputs. Where a
    curve may not be read the function is asked itself, as it is beyond the last load.
    """
    below, part, *rest = arrays
    curves, apart, rate, inputs = rest[:results], rest[results], rest[results + 1], rest[results + 2 :]
    cells = apart[0].size
    at = below * cells + np.arange(cells).reshape(apart.shape[1:])
    found = [_between(values, at, cells, part) for values in curves]
    asked = np.ravel(apart).take(at)
    asked = np.where(np.isnan(part), False, asked | np.isinf(part))
    if asked.any():
        exact = at_cells(function, names, np.nonzero(asked), asked.shape, rate, *inputs)
        for values, item in zip(found, exact, strict=True):
            values[asked] = item
    return tuple(found) if results > 1 else found[0]


def _between(values: Array, at: Array, cells: int, part: Array) -> Array:
    """A figure between the load `at` and the next; codes are those of the lower one, null where there is no rate."""
    flat = np.ravel(values)
    below = flat.take(at)
    if values.dtype.kind != "f":
        return np.where(np.isnan(part), NULL, below)
    above = flat.take(at + cells)
    above -= below
    above *= part
    above += below
    return above
