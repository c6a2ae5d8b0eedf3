"""Sweeps that are wrong in a known way, made from clean ones, and the checks that must say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from sweep_cases import Sweep, cells, latency, point, runs

from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.simulation import simulate_closed

Corrupted = list[tuple[Sweep, list[SweepPoint], tuple[int, ...]]]
"""Sweeps, their points and the rows of which one at least must be named."""

OVER = (1.3, 1.6)
"""Offered rates over the one at which the queue begins to grow."""
SHORT = 40
"""Requests of a run that is too short."""
WARM = 0.03
"""Share of prompt tokens that are computed where the cache is warm."""
CLIENTS_AT = 0.8
"""Share of the true rate whose concurrency is the client's limit."""
SEVERAL_STEPS = 3.0
"""Steps that a mean prompt must take in a sweep whose cache is warm: a shorter one hides in the step it joins."""


def over_saturated(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """Two rates beyond capacity are added and claimed to be served."""
    rates = np.array([sweep.saturation * step for sweep in sweeps for step in OVER])
    run, output = runs([sweep.replica for sweep in sweeps for _ in OVER], rates, 3000, rng)
    found: Corrupted = []
    for at, sweep in enumerate(sweeps):
        rows = range(at * len(OVER), (at + 1) * len(OVER))
        new = [point(run, row, float(rates[row]), sweep.replica, output, f"over{row}") for row in rows]
        start = len(sweep.points)
        found.append((sweep, [*sweep.points, *new], tuple(range(start, start + len(new)))))
    return found


def short(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """Every run has 40 requests."""
    return _again(sweeps, rng, SHORT, 1.0)


def warm_cache(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """Prompts are those of an earlier run; nothing says so."""
    long = [sweep for sweep in sweeps if _prefill_steps(sweep) >= SEVERAL_STEPS]
    return _again(long, rng, 1000, WARM)


def _prefill_steps(sweep: Sweep) -> float:
    replica = sweep.replica
    return float(replica.weights @ replica.prompt) * replica.prefill_s / replica.step_s


def _again(sweeps: Sequence[Sweep], rng: np.random.Generator, count: int, uncached: float) -> Corrupted:
    rates = np.array([p.offered_rate_per_s for sweep in sweeps for p in sweep.points], dtype=np.float64)
    run, output = runs([sweep.replica for sweep in sweeps for _ in sweep.points], rates, count, rng, uncached)
    found: Corrupted = []
    row = 0
    for sweep in sweeps:
        points = []
        for _ in sweep.points:
            points.append(point(run, row, float(rates[row]), sweep.replica, output, f"again{row}"))
            row += 1
        found.append((sweep, points, tuple(range(len(points)))))
    return found


def halved_tpot(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """A client that counts two events a token."""
    found: Corrupted = []
    for sweep in sweeps:
        share = float(rng.uniform(0.47, 0.54))
        points = [replace(p, tpot=_times(p.tpot, share)) for p in sweep.points]
        found.append((sweep, points, tuple(range(len(points)))))
    return found


def closed_as_open(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """A client with a limit that it does not state: beyond it arrivals wait for answers."""
    chosen: list[tuple[Sweep, list[int]]] = []
    clients: list[int] = []
    for sweep in sweeps:
        rates = np.array([p.offered_rate_per_s for p in sweep.points])
        flight = np.array([p.concurrency_mean for p in sweep.points])
        limit = max(1, round(float(np.interp(CLIENTS_AT * sweep.rate, rates, flight))))
        rows = [row for row, rate in enumerate(rates) if rate > CLIENTS_AT * sweep.rate]
        chosen.append((sweep, rows))
        clients += [limit] * len(rows)
    replicas = [sweep.replica for sweep, rows in chosen for _ in rows]
    run = simulate_closed(
        np.array(clients), np.stack([r.weights for r in replicas]), **cells(replicas), requests=1000,
        geometric_outputs=False, seed=int(rng.integers(1 << 30)),
    )  # fmt: skip
    found: Corrupted = []
    at = 0
    for sweep, rows in chosen:
        points, held = list(sweep.points), []
        for row in rows:
            rate = float(run.throughput[at])
            if rate < 0.98 * (points[row].offered_rate_per_s or 0.0):
                held.append(row)
                output = run.output_tokens[at]
                points[row] = replace(
                    points[row], achieved_rate_per_s=rate, concurrency_mean=None, requests_completed=1000,
                    duration_s=1000 / rate, output_tokens_mean=float(output.mean()),
                    output_tokens_per_s=float(output.mean()) * rate, ttft=latency(run.ttft_s[at]),
                    tpot=latency(run.tpot_s[at]), e2e=latency(run.e2e_s[at]),
                )  # fmt: skip
            at += 1
        if len(held) > 1:
            found.append((sweep, points, tuple(held)))
    return found


def swapped_units(sweeps: Sequence[Sweep], rng: np.random.Generator) -> Corrupted:
    """One latency is a thousand times too long or too short throughout."""
    found: Corrupted = []
    for sweep in sweeps:
        figure = ("ttft", "tpot", "e2e")[int(rng.integers(3))]
        factor = 1000.0 if rng.random() < 0.5 else 0.001
        points = [replace(p, **{figure: _times(getattr(p, figure), factor)}) for p in sweep.points]
        found.append((sweep, points, tuple(range(len(points)))))
    return found


def _times(found: Latency | None, factor: float) -> Latency | None:
    if found is None or found.mean_s is None:
        return found
    return Latency(found.mean_s * factor, {p: value * factor for p, value in found.percentiles_s.items()})


KINDS: dict[str, tuple[Callable[[Sequence[Sweep], np.random.Generator], Corrupted], tuple[str, ...]]] = {
    "over-saturated": (over_saturated, ("over_saturated",)),
    "run too short": (short, ("run_too_short",)),
    "warm cache": (warm_cache, ("warm_cache", "below_least_possible")),
    "halved TPOT": (halved_tpot, ("littles_law",)),
    "closed as open": (closed_as_open, ("closed_as_open",)),
    "swapped units": (swapped_units, ("swapped_units",)),
}
"""How a sweep is made wrong, and the checks one of which must name it as a warning or an error."""

__all__ = ["KINDS", "Corrupted"]
