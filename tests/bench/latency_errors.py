"""Formulas against a simulation of the same step times, on many random replicas at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from latency_random import Replica, compare, draw, simulate_oracle

from gridplan.formulas import OperatingPoint, operating_point
from gridplan.simulation import Simulation, simulate_figures

__all__ = [
    *("FIGURES", "PERCENTILES", "REQUESTS", "SEEDS", "TARGETS", "Compared"),
    *("compared", "compared_with_oracle", "mean_error", "pooled"),
]

Array = npt.NDArray[np.float64]

SEEDS, COUNT, REQUESTS = range(101, 111), 200, 100_000

TARGETS = {"tpot": 1.0, "e2e": 1.0, "ttft": 2.0, "ttft_p95": 6.0, "tpot_p95": 3.0, "e2e_p99": 2.0}
"""Mean absolute error that is asked of each figure within validity [%]."""

FIGURES: dict[str, Callable[[Simulation], Array]] = {
    "tpot": lambda found: found.mean("tpot"),
    "batch": lambda found: found.batch_mean,
    "ttft": lambda found: found.mean("ttft"),
    "e2e": lambda found: found.mean("e2e"),
    "ttft_p95": lambda found: found.quantile("ttft", 0.95),
    "ttft_p99": lambda found: found.quantile("ttft", 0.99),
    "tpot_p95": lambda found: found.quantile("tpot", 0.95),
    "e2e_p99": lambda found: found.quantile("e2e", 0.99),
    "itl_p95": lambda found: found.quantile("itl", 0.95),
}
PERCENTILES = tuple(name for name in FIGURES if "_p" in name)


@dataclass(frozen=True)
class Compared:
    """Some configurations: the formulas' point, their figures and signed errors, one row each."""

    configs: Sequence[Replica]
    point: OperatingPoint
    ours: dict[str, Array]
    errors: dict[str, Array]

    def numbers(self, which: Array, names: Sequence[str]) -> int:
        """How many figures of these names the formulas give for the rows `which`."""
        return int(sum(np.isfinite(self.ours[name][which]).sum() for name in names))


def compared(seeds: Iterable[int] = SEEDS, count: int = COUNT, requests: int = REQUESTS) -> list[Compared]:
    """The configurations of each seed, solved and simulated, all side by side."""
    drawn = [draw(seed, count) for seed in seeds]
    together = [config for configs in drawn for config in configs]
    seen = simulate_figures(FIGURES, *_stacked(together), requests=requests, **_budget(together))
    found = []
    for number, configs in enumerate(drawn):
        point, ours = _solved(configs)
        mine = slice(number * count, (number + 1) * count)
        found.append(Compared(configs, point, ours, {name: ours[name] / seen[name][mine] - 1.0 for name in FIGURES}))
    return found


def compared_with_oracle(seeds: Iterable[int] = SEEDS, count: int = COUNT, requests: int = REQUESTS) -> list[Compared]:
    """The same by the simulator beside this project, which has no gaps between tokens; seeds on all cores."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(partial(_seed_with_oracle, count=count, requests=requests), seeds))


def _seed_with_oracle(seed: int, count: int, requests: int) -> Compared:
    configs = draw(seed, count)
    point, ours = _solved(configs)
    return Compared(configs, point, ours, compare(configs, simulate_oracle, requests, seed * 1000))


def pooled(parts: Sequence[Compared]) -> Compared:
    """Several seeds as one."""
    configs = [config for part in parts for config in part.configs]
    point, ours = _solved(configs)
    names = parts[0].errors
    return Compared(
        configs, point, ours, {name: np.concatenate([part.errors[name] for part in parts]) for name in names}
    )


def mean_error(values: Array) -> float:
    """Mean absolute error of what is known [%]."""
    known = np.abs(values[np.isfinite(values)])
    return float(100.0 * known.mean()) if known.size else float("nan")


def _solved(configs: Sequence[Replica]) -> tuple[OperatingPoint, dict[str, Array]]:
    point = operating_point(*_stacked(configs), **_budget(configs))
    return point, {
        "tpot": point.tpot_mean_s,
        "batch": point.batch_mean,
        "ttft": point.ttft_s,
        "e2e": point.e2e_s,
        "ttft_p95": point.ttft_quantile(0.95),
        "ttft_p99": point.ttft_quantile(0.99),
        "tpot_p95": point.tpot_quantile(0.95),
        "e2e_p99": point.e2e_quantile(0.99),
        "itl_p95": point.itl_quantile(0.95),
    }


def _budget(configs: Sequence[Replica]) -> dict[str, Array]:
    return {"token_budget": np.array([float(config.token_budget) for config in configs])}


def _stacked(configs: Sequence[Replica]) -> list[Array]:
    """The arguments that formulas and simulation share; classes that a configuration lacks weigh nothing."""
    width = max(config.class_weights.size for config in configs)

    def by_class(name: str, fill: float | None = None) -> Array:
        rows = [getattr(config, name) for config in configs]
        return np.stack([np.append(row, np.full(width - row.size, row[0] if fill is None else fill)) for row in rows])

    def of_cell(name: str) -> Array:
        return np.array([getattr(config, name) for config in configs])

    return [
        of_cell("arrival_rate"),
        by_class("class_weights", 0.0),
        *(by_class(name) for name in ("prompt_tokens", "uncached_tokens", "output_tokens")),
        *(of_cell(name) for name in ("step_weights_s", "step_per_context_token_s", "prefill_per_token_s")),
    ]
