"""What latencies cost: microseconds of one core a cell, for means, each quantile, goodput and the closed loop.

    python tests/bench/latency_cost.py [--runs 5] [--scale 1]

Random replicas that differ in every input, arrays of 1e5 cells (1e4 where a figure is solved in each cell). A quantile
and a goodput come after the means of the same cells, so their time is what they add.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridplan.formulas import OperatingPoint, operating_point, tpot_at_concurrency

__all__ = ["lines", "random_replicas"]

RUNS = 5
MANY, FEW = 100_000, 10_000
CLASSES = (1, 3)
LIMITS = {"ttft_slo_s": 0.5, "tpot_slo_s": 0.05, "e2e_slo_s": 30.0}


def random_replicas(cells: int, classes: int) -> dict[str, Any]:
    """Inputs of `operating_point`; 5 to 70% of a replica's time goes to work that grows with traffic."""
    rng = np.random.default_rng(1)

    def log_uniform(low: float, high: float, *shape: int) -> Any:
        return np.exp(rng.uniform(np.log(low), np.log(high), (cells, *shape)))

    prompt, output = log_uniform(30, 4000, classes), log_uniform(100, 1500, classes)
    weights = rng.dirichlet(np.ones(classes), cells)
    found = {
        "class_weights": weights,
        "prompt_tokens": prompt,
        "uncached_tokens": prompt,
        "output_tokens": output,
        "step_weights_s": log_uniform(3e-3, 30e-3),
        "step_per_context_token_s": log_uniform(1e-8, 2e-7),
        "prefill_per_token_s": log_uniform(5e-6, 1e-4),
        "token_budget": 8192.0,
    }
    work = found["prefill_per_token_s"][:, None] * prompt
    work += found["step_per_context_token_s"][:, None] * output * (prompt + output / 2)
    return found | {"arrival_rate": rng.uniform(0.05, 0.7, cells) / (weights * work).sum(axis=-1)}


@dataclass(frozen=True)
class Figure:
    """One row: a figure of a point, or of the inputs where `after_means` is False, on arrays of so many cells."""

    name: str
    cells: int
    function: Callable[[Any], Any]
    after_means: bool = True


def _means(inputs: dict[str, Any]) -> OperatingPoint:
    return operating_point(**inputs)


def _means_of_slots(inputs: dict[str, Any]) -> OperatingPoint:
    return operating_point(**inputs, slots=1024.0)


def _closed(inputs: dict[str, Any]) -> Any:
    given = {name: value for name, value in inputs.items() if name != "arrival_rate"}
    return tpot_at_concurrency(32.0, **given)


def _quantile(latency: str, method: str) -> Callable[[OperatingPoint], Any]:
    return lambda point: getattr(point, f"{latency}_quantile")(0.95, method)


def figures() -> Iterator[Figure]:
    """All rows, in the order of the table."""
    yield Figure("means of TPOT, TTFT, E2E, step and batch", MANY, _means, after_means=False)
    yield Figure("the same with 1,024 slots", MANY, _means_of_slots, after_means=False)
    for latency in ("ttft", "tpot", "e2e", "itl"):
        yield Figure(f"{latency.upper()} p95, exact", FEW, _quantile(latency, "exact"))
        yield Figure(f"{latency.upper()} p95, fast", MANY, _quantile(latency, "fast"))
    yield Figure("goodput by TTFT, TPOT and E2E", FEW, lambda point: point.goodput(**LIMITS))
    yield Figure("goodput by these and ITL", FEW, lambda point: point.goodput(**LIMITS, itl_slo_s=0.2))
    yield Figure("closed loop of 32 requests, means", MANY, _closed, after_means=False)


def cost_us(figure: Figure, classes: int, runs: int, scale: float) -> float:
    """Least processor time of several runs [us a cell]."""
    cells = max(1, round(figure.cells * scale))
    inputs = random_replicas(cells, classes)
    taken = []
    for _ in range(runs):
        # A point remembers what its figures share, so each run needs a new one.
        given = _means(inputs) if figure.after_means else inputs
        began = time.process_time()
        figure.function(given)
        taken.append(time.process_time() - began)
    return min(taken) / cells * 1e6


def lines(runs: int = RUNS, scale: float = 1.0) -> list[str]:
    """A Markdown table; `scale` makes the arrays smaller for a trial."""
    heads = ("figure", "cells", *(f"us a cell, {n} class{'es' if n > 1 else ''}" for n in CLASSES))
    table = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    _means(random_replicas(10, 1)).ttft_quantile(0.5)  # loads SciPy before any clock runs
    for figure in figures():
        costs = [cost_us(figure, classes, runs, scale) for classes in CLASSES]
        cells = max(1, round(figure.cells * scale))
        table.append(f"| {figure.name} | {cells:,} | {' | '.join(f'{cost:.2f}' for cost in costs)} |")
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"runs of each figure, of which the best counts ({RUNS})"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the sizes of arrays (1)")
    asked = parser.parse_args()
    print(*lines(asked.runs, asked.scale), sep="\n")


if __name__ == "__main__":
    main()
