"""The largest rate at which a replica keeps all its limits, which limit that is, and what lifting it would give.

Every limit has an edge: the largest rate at which it holds while the replica stays as it is. The lowest edge is the
rate of the replica. What *binds* is what raises that rate most when it alone is lifted. Often that is the limit with
the lowest edge; but where requests miss a limit on TTFT because they wait for a slot, more slots raise the rate further
than a looser limit, and so does a larger token budget where prompts queue for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gridplan.formulas.replica.first_token import first_token
from gridplan.formulas.replica.held import LATENCIES, Limit, limit_margin
from gridplan.formulas.replica.laws import Laws
from gridplan.formulas.replica.prompt_groups import prompt_groups
from gridplan.formulas.replica.root import SCAN, largest_rate
from gridplan.formulas.replica.slot_wait import slot_share
from gridplan.formulas.replica.steady import steady
from gridplan.formulas.replica.traffic import UNLIMITED, Array, Traffic

__all__ = ["BINDS", "Edge", "LoadAt", "edge", "rate_top"]

RESOURCES = ("slots", "token_budget", "time")
"""What a replica can run out of; its queue then grows without end."""
BINDS = (*RESOURCES, *LATENCIES)
"""What can bind."""
LIFTED = RESOURCES[:2]
"""Resources that are lifted to see what binds; time is not one: without it there is no model of a step."""
RELIEF = 1e-4
"""Relative rise of the rate from which a lifted resource counts (policy)."""
IDLE = 1e-6
"""Share of `top` below which a rate is none (policy): the limit holds in an idle replica only."""
FULL = 2.0
"""Times the rate of full slots, or of full steps, up to which a replica without further work is looked at (policy)."""
NEAR = 1e-6
"""Relative distance from the edge of stability up to which limits are looked at (policy)."""
TIE = 1e-9
"""Relative distance at which two limits bind together (policy)."""

Rows = npt.NDArray[np.intp]
LoadAt = Callable[[Array, Rows, str], Traffic]
"""`load_at(rate, rows, lifted)`: the load of some replicas, one a row, each at its rate, with a resource lifted or none
('')."""


class Edge(NamedTuple):
    """rate [1/s]: 0 where a limit cannot be held at any rate, NaN where it is not known. Positions in BINDS, -1 for
    none: binding, next (what binds once that is lifted), missed (the first limit that no rate holds). ties: bits of
    what ties with the binding limit or would raise the rate as much, itself included; next_rate [1/s]: the rate with
    the binding limit lifted, NaN if nothing would be left to limit it.
    """

    rate: Array
    binding: npt.NDArray[np.int64]
    ties: npt.NDArray[np.int64]
    next: npt.NDArray[np.int64]
    next_rate: Array
    missed: npt.NDArray[np.int64]


def edge(load_at: LoadAt, limits: Mapping[str, Limit], top: Array, output_scv: Array | None = None) -> Edge:
    """The edge of each replica; `limits` by latency, `top` [1/s] a rate beyond which none can be stable.

    output_scv [1] as in `OperatingPoint.e2e_quantile`, one row a replica, the class axis last.
    """
    solver = _Solver(load_at, {name: limits[name] for name in LATENCIES if limits[name].stated}, top, output_scv)
    rows = np.arange(top.size)
    rates = solver.edges(rows, "")
    rate = rates.min(axis=0)
    found = rate > 0.0
    lowest, after, after_rate, ties = _lowest(rates, rate)
    for lifted in LIFTED:
        relieved = np.flatnonzero(found & solver.relieves(rows, rate, lifted))
        if relieved.size == 0:
            continue
        others = solver.edges(relieved, lifted)
        raised = others.min(axis=0)
        own = lowest[relieved] == BINDS.index(lifted)
        known = np.where(np.isnan(after_rate[relieved]), np.inf, after_rate[relieved])
        even = np.isfinite(known) & (np.abs(raised - known) <= TIE * known)
        more = own | even | (raised > known)
        at = relieved[more]
        lowest[at], after_rate[at] = BINDS.index(lifted), raised[more]
        after[at] = np.argmin(others[:, more], axis=0)
        ties[at] = np.where(even[more], ties[at], 0) | 1 << BINDS.index(lifted)
    none = ~found
    missed = _missed(rates, none)
    return Edge(
        rate,
        np.where(none, -1, lowest),
        np.where(none, 0, ties),
        np.where(none, -1, after),
        np.where(none, np.nan, after_rate),
        missed,
    )


def rate_top(work: Array, slots: Array | None, held: Array, budget: Array, read: Array) -> Array:
    """A rate beyond which no replica is stable [1/s]; NaN where nothing limits it.

    work [s]: what a request adds to a busy replica. Without any, slots that are held for `held` seconds fill up, or
    a budget of which a request takes one in `read / budget` seconds.
    """
    with np.errstate(all="ignore"):
        by_slots = np.inf if slots is None else slots / np.where(held > 0.0, held, np.nan)
        idle = FULL * np.fmin(by_slots, budget / np.where(read > 0.0, read, np.nan))
        known = np.where(np.isfinite(idle) & (idle < UNLIMITED), idle, np.nan)
        out: Array = np.where(work > 0.0, 1.0 / np.where(work > 0.0, work, 1.0), known)
    return out


class _Solver:
    """Edges of some rows, BINDS first, rows last: infinite where a limit is absent or holds as long as the replica is
    stable, and where another resource is short first.
    """

    def __init__(self, load_at: LoadAt, limits: Mapping[str, Limit], top: Array, output_scv: Array | None) -> None:
        self.load_at, self.limits, self.top, self.output_scv = load_at, limits, top, output_scv

    def edges(self, rows: Rows, lifted: str) -> Array:
        out = np.full((len(BINDS), rows.size), np.inf)
        stable = largest_rate(lambda rate, at: 1.0 - self.shares(rate, rows[at], lifted).max(axis=0), self.top[rows])
        shares = self.shares(stable, rows, lifted)
        short = np.argmax(np.where(np.isnan(shares), -np.inf, shares), axis=0)
        out[short, np.arange(rows.size)] = stable
        # At the edge of stability figures are 0 over 0; a limit that holds next to it limits nothing.
        near = stable * (1.0 - NEAR)
        for latency in self.limits:

            def margin(rate: Array, at: Rows, latency: str = latency) -> Array:
                return self.margin(latency, rate, rows[at], lifted)

            found = largest_rate(margin, near, SCAN)
            found = np.where(found < IDLE * self.top[rows], 0.0, found)
            out[BINDS.index(latency)] = np.where(found < near, found, np.where(np.isnan(found), np.nan, np.inf))
        return out

    def shares(self, rate: Array, rows: Rows, lifted: str) -> Array:
        """Shares of RESOURCES that are used [1]; 1 and more where there is not enough."""
        load = self.load_at(rate, rows, lifted)
        with np.errstate(all="ignore"):
            state = steady(load)
            budget = first_token(prompt_groups(load).load(load), state).budget_share
            over = np.where(state.batch >= load.budget, np.inf, budget)
            used = (slot_share(load, state), over, state.busy)
            return np.stack(np.broadcast_arrays(*used, rate)[:-1])

    def margin(self, latency: str, rate: Array, rows: Rows, lifted: str) -> Array:
        laws = Laws(self.load_at(rate, rows, lifted))
        spread = None if self.output_scv is None else self.output_scv[rows]
        return limit_margin(laws, latency, self.limits[latency].take(rows), spread)

    def relieves(self, rows: Rows, rate: Array, lifted: str) -> npt.NDArray[np.bool_]:
        """Where everything would hold somewhat beyond `rate` if the resource were lifted."""
        beyond = rate * (1.0 + RELIEF)
        holds: npt.NDArray[np.bool_] = self.shares(beyond, rows, lifted).max(axis=0) < 1.0
        for latency in self.limits:
            at = np.flatnonzero(holds)
            if at.size:
                holds[at] = self.margin(latency, beyond[at], rows[at], lifted) >= 0.0
        return holds


def _lowest(
    rates: Array, rate: Array
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array, npt.NDArray[np.int64]]:
    """The lowest edge, the next one that does not tie with it, its rate, and the ties as bits."""
    tied = rates <= rate * (1.0 + TIE)
    bits = (tied * (1 << np.arange(len(BINDS)))[:, None]).sum(axis=0)
    beyond = np.where(tied, np.inf, rates)
    after_rate = beyond.min(axis=0)
    some = np.isfinite(after_rate)
    after = np.where(some, np.argmin(beyond, axis=0), -1)
    return np.argmax(tied, axis=0), after, np.where(some, after_rate, np.nan), bits


def _missed(rates: Array, none: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The first latency without a rate, TPOT before TTFT before E2E before ITL."""
    out = np.full(none.shape, -1)
    for latency in ("itl", "e2e", "ttft", "tpot"):
        position = BINDS.index(latency)
        out = np.where(none & (rates[position] == 0.0), position, out)
    return out
