"""Clean sweeps of random replicas, simulated as a load generator runs them, whose true rate is known.

A replica is drawn by a law like that of `latency_random`: one or two classes, Poisson arrivals, no cached prefix.
Its limits are the percentiles of a long simulation at a share of 0.5 to 0.9 of the rate at which the queue begins to
grow: one of them is met exactly there, the others with room, so that this rate is the true one. A sweep has eight rates
from 0.6 to 1.5 of it; each run starts empty, sends 1,000 to 3,000 requests and ends with the last answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas import sustained_rate
from gridplan.measured import Least, Slo
from gridplan.measured.sweep import Latency, SweepPoint
from gridplan.simulation import Simulation, simulate, simulate_requests

Array = npt.NDArray[Any]

STEPS = (0.6, 0.72, 0.84, 0.94, 1.06, 1.18, 1.32, 1.5)
"""Offered rates over the true one."""
STATED_SHARE = 0.55
"""What a step takes at peak, over what it takes: the machine of a simulated replica has a peak too (assumption)."""
PERCENTILES = (50.0, 90.0, 95.0, 99.0)
CLASSES = 2
DRAWN = 3
"""Replicas drawn for one that is kept: of some, no run of 3,000 requests is long enough."""


@dataclass(frozen=True)
class Replica:
    """One replica and its traffic; arrays by class."""

    weights: Array
    prompt: Array
    output: Array
    step_s: float
    context_s: float
    prefill_s: float
    budget: int
    geometric: bool
    cap: int

    @property
    def least(self) -> Least:
        """The least that its machine can do, at peak and as stated."""
        return Least(
            step_peak_s=self.step_s * STATED_SHARE,
            step_stated_s=self.step_s,
            prefill_peak_s=self.prefill_s * STATED_SHARE,
            prefill_stated_s=self.prefill_s,
        )

    def lengths(self, tokens: Array) -> list[tuple[float, float]]:
        """Weight and tokens of each class."""
        return [(float(w), float(n)) for w, n in zip(self.weights, tokens, strict=True) if w > 0]


@dataclass(frozen=True)
class Sweep:
    """A replica, its limits, its true rate [1/s] and what was measured."""

    replica: Replica
    slos: tuple[Slo, ...]
    rate: float
    saturation: float
    points: list[SweepPoint]

    def judged(self, points: Sequence[SweepPoint] | None = None) -> dict[str, Any]:
        """Arguments of `sweep_result`."""
        outputs = () if self.replica.geometric else self.replica.lengths(self.replica.output)
        return {
            "points": self.points if points is None else points,
            "slos": self.slos,
            "least": self.replica.least,
            "output_lengths": outputs,
            "prompt_lengths": self.replica.lengths(self.replica.prompt),
        }


def _log(rng: np.random.Generator, low: float, high: float, size: int | None = None) -> Any:
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def draw(rng: np.random.Generator) -> tuple[Replica, float]:
    """A replica and the rate at which its queue begins to grow [1/s]."""
    while True:
        classes = int(rng.integers(1, CLASSES + 1))
        weights = np.zeros(CLASSES)
        weights[:classes] = rng.dirichlet(np.full(classes, 4.0))
        replica = Replica(
            weights,
            np.rint(_log(rng, 60, 3000, CLASSES)),
            np.rint(_log(rng, 40, 500, CLASSES)),
            float(_log(rng, 4e-3, 20e-3)),
            float(_log(rng, 10e-9, 100e-9)),
            float(_log(rng, 10e-6, 80e-6)),
            2048,
            bool(rng.random() < 0.3),
            256,
        )
        found = sustained_rate(
            replica.weights, replica.prompt, replica.prompt, replica.output, replica.step_s, replica.context_s,
            replica.prefill_s, token_budget=replica.budget, max_num_seqs=replica.cap,
        )  # fmt: skip
        rate = float(found.lambda_instance)
        if np.isfinite(rate) and rate > 0:
            return replica, rate


def cells(replicas: Sequence[Replica]) -> dict[str, Array]:
    """Arguments of the simulator, a row a replica."""
    return {
        "prompt_tokens": np.stack([r.prompt for r in replicas]),
        "uncached_tokens": np.stack([r.prompt for r in replicas]),
        "output_tokens": np.stack([r.output for r in replicas]),
        "step_weights_s": np.array([r.step_s for r in replicas]),
        "step_per_context_token_s": np.array([r.context_s for r in replicas]),
        "prefill_per_token_s": np.array([r.prefill_s for r in replicas]),
        "token_budget": np.array([r.budget for r in replicas]),
        "max_num_seqs": np.array([r.cap for r in replicas]),
    }


def truth(replicas: Sequence[Replica], rates: Array, seed: int, requests: int, runs: int) -> Array:
    """Percentiles of TTFT p95, TPOT p95, E2E p99 of long simulations [s], (replicas, 3); NaN where unstable."""
    found = np.full((len(replicas), 3), np.nan)
    for geometric in (False, True):
        rows = [k for k, r in enumerate(replicas) if r.geometric == geometric]
        if not rows:
            continue
        some = [replicas[k] for k in rows]
        run = simulate(
            rates[rows], np.stack([r.weights for r in some]), **cells(some), geometric_outputs=geometric,
            requests=requests, runs=runs, seed=seed,
        )  # fmt: skip
        found[rows] = np.stack(
            [run.quantile("ttft", 0.95), run.quantile("tpot", 0.95), run.quantile("e2e", 0.99)], axis=1
        )
    return found


def limits(times: Array, rng: np.random.Generator) -> tuple[Slo, ...]:
    """Limits that are met at these percentiles: one of them exactly, the others with 30% to 100% of room."""
    room = rng.uniform(1.3, 2.0, 3)
    room[rng.integers(3)] = 1.0
    ttft, tpot, e2e = (float(value) for value in times * room)
    return Slo("ttft", 95.0, ttft), Slo("tpot", 95.0, tpot), Slo("e2e", 99.0, e2e)


def runs(
    replicas: Sequence[Replica], rates: Array, counts: int, rng: np.random.Generator, uncached: float = 1.0
) -> tuple[Simulation, Array]:
    """Runs of so many requests, each from empty to its last answer, and their output tokens."""
    shape = (len(replicas), counts)
    arrival = np.cumsum(rng.exponential(1.0, shape), axis=1) / np.asarray(rates)[:, None]
    kind = np.stack([rng.choice(CLASSES, counts, p=r.weights) for r in replicas])
    output = np.take_along_axis(np.stack([r.output for r in replicas]), kind, axis=1)
    geometric = np.array([r.geometric for r in replicas])[:, None]
    output = np.where(geometric, rng.geometric(1.0 / output), output)
    given = cells(replicas)
    given["uncached_tokens"] = np.maximum(1.0, np.rint(given["prompt_tokens"] * uncached))
    return simulate_requests(arrival, kind, **given, request_output_tokens=output), output


def point(run: Simulation, row: int, rate: float, replica: Replica, output: Array, label: str) -> SweepPoint:
    """What a load generator prints of one run."""
    done = run.arrival_s[row] + run.e2e_s[row]
    duration_s, count = float(done.max()), run.e2e_s.shape[1]
    mean_output = float(output[row].mean())
    return SweepPoint(
        file=f"{label}.json", place="", tool="vllm", format="vllm-serve", loop="open",
        offered_rate_per_s=rate, achieved_rate_per_s=count / duration_s, requests_offered=count,
        requests_completed=count, requests_failed=0, duration_s=duration_s,
        input_tokens_mean=float(replica.prompt[run.class_index[row]].mean()), output_tokens_mean=mean_output,
        output_tokens_per_s=mean_output * count / duration_s,
        concurrency_mean=float(run.e2e_s[row].sum()) / duration_s,
        ttft=latency(run.ttft_s[row]), tpot=latency(run.tpot_s[row]), e2e=latency(run.e2e_s[row]),
        tpot_definition="excludes_first_token",
    )  # fmt: skip


def latency(times: Array) -> Latency:
    """Mean and percentiles of what is known."""
    known = times[~np.isnan(times)]
    return Latency(float(known.mean()), dict(zip(PERCENTILES, np.percentile(known, PERCENTILES).tolist(), strict=True)))


def sweeps(count: int, seed: int, long: bool = True, known: tuple[int, int] = (8000, 2)) -> list[Sweep]:
    """Runs of 1,000 to 3,000 requests that last twenty late answers or more at the true rate.

    Without `long`, runs of 1,000 requests of the replicas for which 3,000 are not enough. `known`: requests of a
    simulation from which the limits are taken, and how many of them; many short ones take less time than few long ones.
    """
    rng = np.random.default_rng(seed)
    drawn = [draw(rng) for _ in range(DRAWN * count)]
    replicas = [replica for replica, _ in drawn]
    top = np.array([rate for _, rate in drawn])
    rates = top * rng.uniform(0.5, 0.9, len(drawn))
    times = truth(replicas, rates, seed, *known)
    sizes = np.ceil(20.0 * rates * times[:, 2] / 1000.0) * 1000.0  # NaN where no rate is stable
    kept = np.flatnonzero(sizes <= 3000.0 if long else sizes > 3000.0)[:count]
    sizes = sizes if long else np.full(len(drawn), 1000.0)
    slos = {k: limits(times[k], rng) for k in kept}
    points: dict[int, list[SweepPoint]] = {}
    for size in (1000, 2000, 3000):
        some = [int(k) for k in kept if sizes[k] == size]
        if not some:
            continue
        offered = np.array([rates[k] * step for k in some for step in STEPS])
        run, output = runs([replicas[k] for k in some for _ in STEPS], offered, size, rng)
        for at, k in enumerate(some):
            rows = range(at * len(STEPS), (at + 1) * len(STEPS))
            points[k] = [point(run, row, float(offered[row]), replicas[k], output, f"r{row}") for row in rows]
    return [Sweep(replicas[k], slos[k], float(rates[k]), float(top[k]), points[int(k)]) for k in kept]
