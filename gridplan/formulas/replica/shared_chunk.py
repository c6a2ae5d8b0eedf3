"""A cost that a step has once if it carries prompts, however many: as a part of every step and a part of each prompt.

Prompts that arrive during one step ride together in the next, so one more prompt adds the cost only where the step had
none. The laws of a replica are linear in the number of prompts, so the expected cost is replaced by its tangent at the
mean number: what one more prompt adds, and what is there all the same. A step that is full of one prompt's chunk
carries no other prompt and pays alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridplan.formulas.replica.traffic import Array

__all__ = ["ChunkCost", "chunk_cost", "last_pieces", "last_pieces_at"]

ROUNDS = 3
"""Steps of Newton's method, from above the root of a convex function, so none overshoots (measurement: within 2e-4 of
the root, 2e-6 in 999 of 1,000 random cells)."""

MOST = 700.0
"""Stands for an infinite number of prompts in a step, whose exponential is still a number (policy)."""


class ChunkCost(NamedTuple):
    """Parts of the cost: of every step, of a prompt's last or only piece, and of each full chunk before it [1]."""

    every_step: Array
    last: Array
    full: Array


def chunk_cost(pieces: Array, requests: Array | None = None) -> ChunkCost:
    """The tangent of the cost at y = `pieces` last pieces of prompts in a step without a full chunk, on average.

    Of steps without a full chunk 1 - e^-y carry a prompt, or 1 - (1 - y/N)^N where they come of N requests in flight.

    >>> [round(float(part), 4) for part in chunk_cost(np.array(0.0))]
    [0.0, 1.0, 1.0]
    >>> [round(float(part), 4) for part in chunk_cost(np.array(2.0))]
    [0.594, 0.1353, 0.406]

    Every second step of one request alone carries its prompt, which it pays in full:

    >>> [round(float(part), 4) for part in chunk_cost(np.array(0.5), np.array(1.0))]
    [0.0, 1.0, 1.0]
    """
    if requests is None:
        last, met = np.exp(-np.minimum(pieces, MOST)), 1.0 + np.minimum(pieces, MOST)
    else:
        each = np.minimum(pieces / requests, 1.0)
        last, met = (1.0 - each) ** (requests - 1.0), 1.0 + pieces - each
    return ChunkCost(1.0 - last * met, last, last * met)


def last_pieces_at(prompts: Array, fulls: Array) -> Array:
    """y where a step ends m = `prompts` prompts of `fulls` full chunks each: m / (1 - m fulls).

    Many, where full chunks leave no steps.

    >>> round(float(last_pieces_at(np.array(0.2), np.array(3.0))), 6)
    0.5
    """
    rest = 1.0 - prompts * fulls
    out: Array = np.where(rest > prompts / MOST, prompts / np.where(rest > 0.0, rest, 1.0), MOST)
    return np.where(np.isnan(rest), np.nan, out)


def last_pieces(rate: Array, fulls: Array, step_s: Array, chunk_s: Array, work_s: Array) -> Array:
    """y of prompts that come at `rate` [req/s]; many where work leaves no time, NaN where something is unknown.

    The mean step C carries m = rate x C prompts, of which each has `fulls` full chunks and one last piece:

        C = step_s + m x work_s + (1 - (1 - m fulls) e^-y) x chunk_s,   y = m / (1 - m fulls)

    step_s [s] is a step without requests, chunk_s [s] the cost once a step, work_s [s] all else that a request takes:
    its prefill and what it adds to its decode steps.

    Ten requests a second and steps of 20 ms that work makes a quarter longer; then a cost of 10 ms for each of them:

    >>> ten, none, step, work = np.array(10.0), np.array(0.0), np.array(0.020), np.array(0.020)
    >>> round(float(last_pieces(ten, none, step, np.array(0.0), work)), 6)
    0.25
    >>> y = float(last_pieces(ten, none, step, np.array(0.010), work))
    >>> round(y, 6), round(10 * (0.020 + y * 0.020 + (1 - 2.718281828 ** -y) * 0.010), 6)
    (0.280582, 0.280582)
    """
    left = 1.0 - rate * work_s
    room = np.where(left > 0.0, left, np.nan)
    fixed, once = rate * step_s, rate * chunk_s
    prompts = (fixed + once) / room
    for _ in range(ROUNDS):
        rest = np.maximum(1.0 - prompts * fulls, 0.0)
        none = np.exp(-last_pieces_at(prompts, fulls))
        above = prompts * room - fixed - once * (1.0 - rest * none)
        prompts = prompts - above / (room - once * none * (fulls + 1.0 / np.maximum(rest, 1e-12)))
    return np.where(left <= 0.0, MOST, last_pieces_at(prompts, fulls))
