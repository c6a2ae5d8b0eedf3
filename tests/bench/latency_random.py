"""Random replicas, drawn by one law, and the errors of `operating_point` against a simulation of the same step times.

`draw(seed, n)` gives configurations; `compare(configs, simulate)` the signed relative errors, where
`simulate(config, requests, seed)` returns sample arrays by request: `ttft_s`, `decode_s`, `output_tokens`, `class`, and
`batch_mean`, a number. Law: t_w 3 to 30 ms, p 5 to 150 us, k 10 to 200 ns, prompts of 30 to 8,000 and outputs of 20 to
1,500 tokens, all log-uniform; 1 to 3 classes; half of the configurations with cached prefixes; budgets of 512, 2,048
and 8,192 tokens; a busy share of 0.05 to 0.85. Where prompts cannot be cut into the budget that decoding leaves, the
queue grows without end and there is nothing to compare: such draws, one in seven, are drawn again.

    python tests/bench/latency_random.py --seeds 1 2 --count 100
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gridplan.formulas import OperatingPoint, operating_point

Array = npt.NDArray[np.float64]
Simulate = Callable[["Replica", int, int], dict[str, Any]]

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "oracle"
"""A simulator of the same step times that this project may be compared with; absent in most places."""

QUANTILES = {"ttft_p95": 0.95, "ttft_p99": 0.99, "tpot_p95": 0.95, "e2e_p99": 0.99}


@dataclass(frozen=True)
class Replica:
    """One configuration: requests by class and step times; tokens are whole numbers."""

    arrival_rate: float
    class_weights: Array
    prompt_tokens: Array
    uncached_tokens: Array
    output_tokens: Array
    step_weights_s: float
    step_per_context_token_s: float
    prefill_per_token_s: float
    token_budget: int
    arrival_scv: float = 1.0
    slots: int | None = None

    def solve(self) -> OperatingPoint:
        """The formulas at this configuration."""
        return operating_point(
            self.arrival_rate,
            self.class_weights,
            self.prompt_tokens,
            self.uncached_tokens,
            self.output_tokens,
            self.step_weights_s,
            self.step_per_context_token_s,
            self.prefill_per_token_s,
            token_budget=self.token_budget,
            arrival_scv=self.arrival_scv,
            slots=self.slots,
        )


def draw(seed: int, count: int, busy: tuple[float, float] = (0.05, 0.85)) -> list[Replica]:
    """`count` configurations by the law above."""
    rng = np.random.default_rng(seed)
    found: list[Replica] = []
    while len(found) < count:
        drawn = _draw_one(rng, busy)
        if bool(drawn.solve().stable):
            found.append(drawn)
    return found


def _draw_one(rng: np.random.Generator, busy: tuple[float, float]) -> Replica:
    def log_uniform(low: float, high: float, size: int | None = None) -> Any:
        return np.exp(rng.uniform(np.log(low), np.log(high), size))

    classes = int(rng.integers(1, 4))
    step, per_token, context = log_uniform(3e-3, 30e-3), log_uniform(5e-6, 150e-6), log_uniform(10e-9, 200e-9)
    weights = rng.dirichlet(np.ones(classes))
    prompt, output = np.rint(log_uniform(30, 8000, classes)), np.rint(log_uniform(20, 1500, classes))
    cached = rng.uniform(0.0, 0.9, classes) if rng.random() < 0.5 else np.zeros(classes)
    uncached = np.maximum(1.0, np.rint(prompt * (1.0 - cached)))
    work = per_token * uncached + context * (output - 1.0) * (prompt + output / 2.0)
    rate = rng.uniform(*busy) / float(weights @ work)
    budget = int(rng.choice([512, 2048, 8192]))
    return Replica(rate, weights, prompt, uncached, output, step, context, per_token, budget)


def compare(configs: Sequence[Replica], simulate: Simulate, requests: int = 200_000, seed: int = 0) -> dict[str, Array]:
    """Signed relative errors of the formulas by quantity, NaN where the formulas give no figure."""
    rows = []
    for number, config in enumerate(configs):
        point = config.solve()
        if not (point.valid or point.tpot_valid or point.ttft_valid):
            rows.append({})
            continue
        rows.append(errors(point, simulate(config, requests, seed + number)))
    names = sorted({name for row in rows for name in row})
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}


def errors(point: OperatingPoint, sample: dict[str, Any]) -> dict[str, float]:
    """Formula over simulation less 1, for means and percentiles."""
    ttft, decode, output = sample["ttft_s"], sample["decode_s"], sample["output_tokens"]
    tpot = decode[output > 1] / (output[output > 1] - 1)
    seen = {
        "tpot": np.mean(tpot),
        "batch": sample["batch_mean"],
        "ttft": np.mean(ttft),
        "e2e": np.mean(ttft + decode),
        "ttft_p95": np.quantile(ttft, 0.95),
        "ttft_p99": np.quantile(ttft, 0.99),
        "tpot_p95": np.quantile(tpot, 0.95),
        "e2e_p99": np.quantile(ttft + decode, 0.99),
    }
    ours = {"tpot": point.tpot_mean_s, "batch": point.batch_mean, "ttft": point.ttft_s, "e2e": point.e2e_s}
    for name, q in QUANTILES.items():
        ours[name] = getattr(point, name.split("_")[0] + "_quantile")(q)
    return {name: float(ours[name] / seen[name] - 1.0) for name in seen}


def table(found: dict[str, Array]) -> str:
    """Mean absolute error, its 95th percentile, the worst and the mean signed error [%] by quantity."""
    lines = [f"{'quantity':10} {'cells':>6} {'MAPE':>7} {'p95':>7} {'worst':>8} {'bias':>7}"]
    for name, values in found.items():
        known = 100.0 * values[np.isfinite(values)]
        if known.size:
            worst = known[np.argmax(np.abs(known))]
            parts = (np.mean(np.abs(known)), np.quantile(np.abs(known), 0.95), worst, np.mean(known))
            lines.append(f"{name:10} {known.size:6d} " + "{:7.2f} {:7.2f} {:8.2f} {:7.2f}".format(*parts))
    return "\n".join(lines)


@cache
def _oracle() -> Any:
    """The simulator beside this project. Nothing is written there."""
    os.environ.setdefault("NUMBA_CACHE_DIR", tempfile.mkdtemp(prefix="numba-"))
    if str(ORACLE) not in sys.path:
        sys.path.append(str(ORACLE))
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        import sim
    finally:
        sys.dont_write_bytecode = writes
    return sim


def simulate_oracle(config: Replica, requests: int, seed: int) -> dict[str, Any]:
    """Samples of the simulator of `ORACLE`: one replica, first come first served."""
    sim = _oracle()
    budget, slots = config.token_budget, config.slots
    replica = sim.Replica(
        t_w=config.step_weights_s,
        k=config.step_per_context_token_s,
        p=config.prefill_per_token_s,
        budget=budget,
        max_seqs=100_000 if slots is None else slots,
        pool=1e15,
    )
    rows = zip(config.class_weights, config.prompt_tokens, config.output_tokens, config.uncached_tokens, strict=True)
    classes = [(w, p, o, "det", u) for w, p, o, u in rows]
    arrivals = "poisson" if config.arrival_scv == 1.0 else "gamma"
    out = sim.run(
        replica, config.arrival_rate, classes, n=requests, seed=seed, arrivals=arrivals, cv2=config.arrival_scv
    )
    kind, _, output, ttft, _, decode = out["_raw"]
    return {
        "class": kind,
        "output_tokens": output,
        "ttft_s": ttft,
        "decode_s": decode,
        "batch_mean": out["B"],
        "step_mean_s": out["tstep"],
        "slot_wait_s": out["wait"],
    }


def main() -> None:
    """Print the table for some seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--requests", type=int, default=200_000)
    chosen = parser.parse_args()
    configs = [config for seed in chosen.seeds for config in draw(seed, chosen.count)]
    print(f"valid: {np.mean([bool(config.solve().valid) for config in configs]):.1%} of {len(configs)}")
    print(table(compare(configs, simulate_oracle, chosen.requests)))


if __name__ == "__main__":
    main()
