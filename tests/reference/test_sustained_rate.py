"""The rate that a replica sustains within its limits, against simulations of the same step times.

`KNOWN` are rates that an event-driven simulation by another author found by bisection on the percentiles of long runs
(200,000 requests and more), and replica counts at fleet rates found by simulating one replica at rate / count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import gridplan
from gridplan.simulation import simulate


class Case(NamedTuple):
    """A workload, a machine, limits [s], most sequences; the rate known, a fleet's rate and its replicas known."""

    workload: str
    machine: str
    limits: dict[str, float]
    max_num_seqs: int
    known: float
    fleet: float = 1.0
    replicas: int | None = None


PERCENTILES = {"ttft": 95, "tpot": 95, "e2e": 99}

MACHINES = {
    # Llama-3-8B BF16 on one A100 at 1,550 GB/s and 140 TFLOP/s, and Llama-3.3-70B FP8 on TP4 H100 (MBU 0.75, MFU 0.5).
    "8b": {"step": 16.06e9 / 1550e9, "context": 131072 / 1550e9, "prefill": 2 * 8.03e9 / 140e12, "pool": 450900},
    "70b": {
        "step": 70.55e9 / 4 / (3.35e12 * 0.75),
        "context": 327680 / 4 / (3.35e12 * 0.75),
        "prefill": 2 * 70.55e9 / (4 * 1979e12 * 0.5),
        "pool": 702879,
    },
}

MIX = """classes: [
  {name: chat, weight: 0.7, prompt_tokens: 32, output_tokens: 64},
  {name: code, weight: 0.2, prompt_tokens: 128, output_tokens: 256},
  {name: summary, weight: 0.1, prompt_tokens: 512, output_tokens: 256}]"""
CHAT = "prompt_tokens: 2000, output_tokens: 300"
LOGNORMAL = "{mean: %d, scv: 1, kind: lognormal}"
VARIED = f"classes: [{{weight: 1, name: a, prompt_tokens: {LOGNORMAL % 2000}, output_tokens: {LOGNORMAL % 300}}}]"
THINK = "prompt_tokens: 1000, output_tokens: 8000"
LONG = "prompt_tokens: 32000, output_tokens: 1000, prefix_hit_ratio: 0.875"
GEOMETRIC = "{mean: %d, kind: exponential, nodes: 64}"
THINK_VARIED = f"classes: [{{weight: 1, name: a, prompt_tokens: 1000, output_tokens: {GEOMETRIC % 8000}}}]"
LONG_VARIED = (
    "classes: [{weight: 1, name: a, prompt_tokens: 32000, prefix_hit_ratio: 0.875, output_tokens: "
    + GEOMETRIC % 1000
    + "}]"
)

KNOWN = {
    "mix, three limits": Case(MIX, "8b", {"ttft": 1.0, "tpot": 0.025, "e2e": 5.0}, 1024, 26.2, 600, 23),
    "mix, TPOT": Case(MIX, "8b", {"tpot": 0.050}, 1024, 50.0, 600, 13),
    "mix, TTFT": Case(MIX, "8b", {"ttft": 0.2}, 1024, 44.6),
    "chat, three limits": Case(CHAT, "70b", {"ttft": 1.0, "tpot": 0.050, "e2e": 20.0}, 256, 8.46, 200, 24),
    "chat, TTFT": Case(CHAT, "70b", {"ttft": 0.3}, 256, 6.62),
    "lognormal, TPOT": Case(VARIED, "70b", {"tpot": 0.050}, 256, 7.83),
    "long answers, pool": Case(THINK, "8b", {"ttft": 5.0}, 256, 0.167, 5, 30),
    "long prompts, pool": Case(LONG, "70b", {"ttft": 5.0}, 256, 0.532, 20, 37),
    "long answers, varied": Case(THINK_VARIED, "8b", {"ttft": 5.0}, 256, 0.0805),
    "long prompts, varied": Case(LONG_VARIED, "70b", {"ttft": 5.0}, 256, 0.512),
}


def plan(case: Case, **outputs: str) -> gridplan.Grid:
    machine = MACHINES[case.machine]
    limits = ", ".join(f"{n}: {{limit: {v}, percentile: {PERCENTILES[n]}}}" for n, v in case.limits.items())
    return gridplan.loads_grid(f"""schema: 1
workload: {{{case.workload}, arrival_rate: {case.fleet}}}
slo: {{{limits}}}
deployment:
  step_weights_s: {machine["step"]!r}
  step_per_context_token_s: {machine["context"]!r}
  prefill_per_token_s: {machine["prefill"]!r}
  kv_pool_tokens_given: {machine["pool"]}
  kv_block_tokens: 1
  max_num_seqs: {case.max_num_seqs}
  max_num_batched_tokens: 2048
capacity: {{capacity_model: queueing}}
policy: {{rho_target: 1.0}}
""")


@pytest.mark.parametrize("name", KNOWN)
def test_rates_known_from_simulation(name: str) -> None:
    """Within 5% of what a simulation found; the signed error is printed on failure."""
    case = KNOWN[name]
    cube = gridplan.evaluate(plan(case))
    error = float(cube.lambda_instance) / case.known - 1.0
    assert abs(error) <= 0.05, f"{error:+.1%}"
    assert str(cube.lambda_basis.values) == "percentile_model"


@pytest.mark.parametrize("name", [name for name, case in KNOWN.items() if case.replicas])
def test_replicas_known_from_simulation(name: str) -> None:
    case = KNOWN[name]
    cube = gridplan.evaluate(plan(case))
    assert abs(float(cube.replicas_active) - case.replicas) <= 1


@pytest.mark.parametrize("name", [name for name, case in KNOWN.items() if case.replicas])
def test_limits_hold_at_these_replicas_and_break_at_two_fewer(name: str) -> None:
    """A step-by-step simulation of one replica, at the rate that each sees."""
    case = KNOWN[name]
    replicas = float(gridplan.evaluate(plan(case)).replicas_active)
    assert holds(case, [case.fleet / replicas, case.fleet / (replicas - 2)]) == [True, False]


def holds(case: Case, rates: list[float]) -> list[bool]:
    """Whether all limits hold at their percentiles in a simulation of each rate, within the error of one run."""
    machine, shapes = MACHINES[case.machine], {MIX: ([0.7, 0.2, 0.1], [32, 128, 512], [64, 256, 256])}
    one = {CHAT: (2000, 300), THINK: (1000, 8000), LONG: (32000, 1000)}
    weights, prompt, output = shapes.get(case.workload) or ([1.0], *([value] for value in one[case.workload]))
    uncached = [4000] if case.workload == LONG else prompt
    slots = min(case.max_num_seqs, machine["pool"] // max(p + o for p, o in zip(prompt, output, strict=True)))
    found = simulate(
        np.array(rates),
        weights,
        prompt,
        uncached,
        output,
        machine["step"],
        machine["context"],
        machine["prefill"],
        token_budget=2048,
        max_num_seqs=slots,
        requests=2_500,
        runs=32,
        warm_up=1_500,
    )
    margins = [
        found.quantile(latency, PERCENTILES[latency] / 100) / limit - 1.0 for latency, limit in case.limits.items()
    ]
    return [bool(worst <= 0.02) for worst in np.max(margins, axis=0)]


def test_sixty_random_replicas_against_the_project_simulation() -> None:
    """Limits at the percentiles that a run shows must give back the run's rate: 3% on average, busy 0.3 to 0.8.

    One limit, in turn TTFT, TPOT and E2E, is what the run shows; the other two are 1.2 to 2 times that.
    """
    rng = np.random.default_rng(7)
    drawn = [_valid(rng) for _ in range(60)]
    rates, (prompt, output, step, context, prefill) = (
        np.array([rate for rate, _ in drawn]),
        np.array([x for _, x in drawn]).T,
    )
    load = ([1.0], prompt[:, None], prompt[:, None], output[:, None], step, context, prefill)
    run = simulate(rates, *load, requests=1_250, runs=16, warm_up=1_000)
    slack = {name: rng.uniform(1.2, 2.0, 60) for name in PERCENTILES}
    for turn, name in enumerate(PERCENTILES):
        slack[name][turn::3] = 1.0
    limits = {f"{name}_slo_s": run.quantile(name, q / 100) * slack[name] for name, q in PERCENTILES.items()}
    errors = gridplan.formulas.sustained_rate(*load, **limits).lambda_instance / rates - 1.0
    assert np.abs(errors).mean() <= 0.03, np.round(errors, 3).tolist()


def _valid(rng: np.random.Generator) -> tuple[float, tuple[float, ...]]:
    """A rate, and prompt, output and step times of a replica whose percentiles are within validity there."""

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(math.log(low), math.log(high))))

    while True:
        prompt, output = round(between(100, 6000)), round(between(100, 1200))
        step, context, prefill = between(3e-3, 30e-3), between(10e-9, 200e-9), between(5e-6, 150e-6)
        rate = rng.uniform(0.3, 0.8) / (prefill * prompt + context * (output - 1) * (prompt + output / 2))
        if gridplan.formulas.operating_point(rate, [1.0], [prompt], [prompt], [output], step, context, prefill).valid:
            return rate, (prompt, output, step, context, prefill)
