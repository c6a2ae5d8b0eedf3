"""The rate that a replica sustains within its limits at their percentiles, and what binds, on the dims of capacity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridplan.chain.codes import LIMITS as BINDING
from gridplan.chain.codes import NULL, choices
from gridplan.chain.figures import flags, limits_of, output_scv
from gridplan.chain.graph import Array
from gridplan.chain.pieces import at_cells, cells_of
from gridplan.chain.replica import (
    GROUPS,
    LIMITS,
    PERCENTILES,
    REPLICA,
    Replica,
    bare_load,
    lengths,
    point_at,
    taken,
    with_steps,
)
from gridplan.formulas.replica.edge import BINDS, Edge, edge, rate_top
from gridplan.formulas.replica.held import LATENCIES
from gridplan.formulas.replica.laws import Laws
from gridplan.formulas.replica.traffic import Traffic
from gridplan.formulas.replica.unloaded import best_possible

__all__ = ["INPUTS", "OUTPUTS", "chosen", "known_rate", "nothing", "queueing"]

STATED = (*LIMITS, *PERCENTILES, *GROUPS)
INPUTS = ("slots_memory", "slots_scheduler", *STATED, *REPLICA)
"""What the rate depends on, beside whether the cell can run at all."""

OUTPUTS = ("rate", "binding", "ties", "next", "next_rate", "missed", "best_s", "flag")
"""rate and next_rate [req/s]; binding, next, missed: positions in LIMITS of the chain; ties: bits of them; best_s [s]:
the best possible value of a missed limit; flag: code of `capacity_flag`."""

_FLOATS = ("rate", "next_rate", "best_s")

TIGHT_BUSY = 0.15
"""Busy share below which one overlapping prompt decides whether a limit on TTFT holds (measurement: rates there are 10%
off on average, against 2% above 0.5)."""

_NAMES = {"slots": "memory", "token_budget": "prefill", "time": "compute"}
_CODE = np.array([BINDING.index(_NAMES.get(name, name)) for name in BINDS] + [NULL])
_MEMORY, _SCHEDULER = BINDING.index("memory"), BINDING.index("scheduler")
_FLAGS = choices("capacity_flag")
_TTFT = BINDS.index("ttft")


def queueing(physical_reason_code: Array, *inputs: Array) -> tuple[Array, ...]:
    """`OUTPUTS` of every cell that can run; NaN and -1 elsewhere. `inputs` as `INPUTS` names them."""
    shape = np.broadcast_shapes(np.shape(physical_reason_code), cells_of(INPUTS, inputs))
    runs = np.flatnonzero(np.broadcast_to(physical_reason_code == NULL, shape))
    results = _none(shape)
    if runs.size:
        # A cube without axes is one cell, and one row.
        flat = shape or (1,)
        found = at_cells(_rows, INPUTS, np.unravel_index(runs, flat), flat, np.zeros(()), *inputs)
        for result, item in zip(results, found, strict=True):
            result.reshape(-1)[runs] = item
    return results


def chosen(capacity_model_code: Array, *found: Array) -> tuple[Array, ...]:
    """`OUTPUTS` where the capacity model asks for them, null elsewhere."""
    here = capacity_model_code == choices("capacity_model").index("queueing")
    return tuple(np.where(here, item, np.nan if item.dtype.kind == "f" else NULL) for item in found)


def known_rate(rate: Array) -> Array:
    """The rate where there is one [req/s]: null where a limit holds at none."""
    return np.where(rate > 0.0, rate, np.nan)


def nothing(capacity_model_code: Array) -> tuple[Array, ...]:
    """`OUTPUTS` of a cube in which no cell asks for them."""
    return _none(np.shape(capacity_model_code))


def _none(shape: tuple[int, ...]) -> tuple[Array, ...]:
    return tuple(np.full(shape, np.nan if name in _FLOATS else NULL) for name in OUTPUTS)


def _rows(_: Array, *inputs: Array) -> tuple[Array, ...]:
    """`OUTPUTS` of replicas, one row each."""
    machines = _Machines(inputs)
    found = edge(machines.at, machines.limits, machines.top(), machines.spread)
    missed = found.missed
    best = np.full(missed.size, np.nan)
    for position, latency in enumerate(LATENCIES, start=BINDS.index(LATENCIES[0])):
        rows = np.flatnonzero(missed == position)
        if rows.size:
            idle = Laws(machines.at(np.zeros(rows.size), rows, ""))
            best[rows] = best_possible(idle, latency, machines.limits[latency].take(rows))
    binding, ties, after = machines.labels(found)
    return found.rate, binding, ties, after, found.next_rate, _CODE[missed], best, machines.flags(found)


class _Machines:
    """Replicas with one row each, and their limits."""

    def __init__(self, inputs: tuple[Array, ...]) -> None:
        self.memory, self.scheduler, *rest = inputs
        self.limits = limits_of(rest[: len(STATED)], 1)
        self.replica = Replica(*rest[len(STATED) :])
        self.spread = output_scv(self.replica)
        self._bare: dict[str, Traffic] = {}

    def at(self, rate: Array, rows: Array, lifted: str) -> Traffic:
        """The load of some replicas; `lifted` leaves the lower cap of slots away, or the token budget."""
        if lifted not in self._bare:
            self._bare[lifted] = self._without_rate(lifted)
        load, made = self._bare[lifted], self.replica
        if rows.size < self.memory.size:
            load, made = load.take(rows), taken(made, rows)
        return with_steps(replace(load, rate=rate / made.data_parallel), made)

    def _without_rate(self, lifted: str) -> Traffic:
        """What a search need not read again at each of its rates."""
        made, held = self.replica, self.scheduler
        if lifted == "slots":
            made = made._replace(slots=np.maximum(self.memory, held))
            held = np.where(held < self.memory, np.inf, held)
        if lifted == "token_budget":
            # Prompts are still paid for in as many chunks: what is lifted is the wait for room in a step.
            made = made._replace(token_budget=np.full(self.memory.size, np.inf))
        # The pool makes requests wait; that it keeps steps short is not credited, or a larger one could lower the rate.
        return bare_load(np.zeros(self.memory.size), made, held)

    def top(self) -> Array:
        """Rate at which work that grows with traffic takes all the time [req/s]; no replica is stable there.

        Reads of experts, which come on top, are left out: they grow more slowly than the batch. So is what a step with
        prompts costs once: where every step has it, it does not grow. A replica without such work can fill its slots,
        or take one token budget of prompts a step.
        """
        made = self.replica
        prompt, uncached, output = lengths(made)
        each = made.kv_read_per_context_token_s[:, None] * (prompt + 0.5 * output) + made.step_per_sequence_s[:, None]
        taken = np.moveaxis(made.class_prefill_multiplied_s, 0, -1) / made.data_parallel[:, None]
        work = (made.class_weight * (taken + (output - 1.0) * each)).sum(axis=-1)
        step = made.step_fixed_s + np.nan_to_num(made.step_experts_s)
        steps = (made.class_weight * (output - 1.0)).sum(axis=-1)
        tokens, ranks = (made.class_weight * uncached).sum(axis=-1), made.data_parallel
        return rate_top(work, made.slots, steps * made.step_fixed_s / ranks, made.token_budget, tokens * step / ranks)

    def labels(self, found: Edge) -> tuple[Array, Array, Array]:
        """What binds, the bits of what ties, and what is next, as positions in LIMITS of the chain."""
        narrow = np.where(self.memory <= self.scheduler, _MEMORY, _SCHEDULER)
        wide = np.where(self.memory <= self.scheduler, _SCHEDULER, _MEMORY)
        slots = BINDS.index("slots")
        ties = np.zeros(found.ties.shape, dtype=int)
        for position, code in enumerate(_CODE[:-1]):
            tied = found.ties >> position & 1
            ties |= tied << (narrow if position == slots else code)
        both = (found.binding == slots) & (self.memory == self.scheduler)
        ties = np.where(both, ties | 1 << _MEMORY | 1 << _SCHEDULER, ties)
        binding = np.where(found.binding == slots, narrow, _CODE[found.binding])
        # Once the lower cap of slots is lifted, slots that bind next are the other one.
        following = np.where(found.binding == slots, wide, narrow)
        after = np.where(found.next == slots, following, _CODE[found.next])
        return binding, np.where(binding == NULL, NULL, ties), after

    def flags(self, found: Edge) -> Array:
        """Code of `capacity_flag`: why the rate may be off by more than elsewhere."""
        rate = np.where(found.rate > 0.0, found.rate, np.nan)
        point = point_at(rate, self.replica)
        names = choices("latency_flag")
        code = flags(point, rate)
        same = np.array([_FLAGS.index(name) if name in _FLAGS else NULL for name in names] + [NULL])
        tight = (found.binding == _TTFT) & (point.busy < TIGHT_BUSY) & (code == NULL)
        return np.where(tight, _FLAGS.index("tight_limit"), same[code])
