"""The page of how good predicted rates of a replica are: the queueing model against a step-by-step simulation.

    python tests/bench/capacity_page.py > reports/capacity.md

Random replicas by the law of latency_random.py, at their own rate: the percentiles that the simulator beside this
project shows there are taken as limits, one at a time, and the rate that gridplan finds for each is compared with the
rate that was simulated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from latency_random import Replica, draw, simulate_oracle

from gridplan.formulas import sustained_rate
from gridplan.simulation import simulate

SEEDS, COUNT, REQUESTS = (501, 502), 150, 200_000
BUSY = (0.05, 0.15, 0.3, 0.5, 0.85)
LIMITS = {"ttft": ("TTFT p95", 0.95), "tpot": ("TPOT p95", 0.95), "e2e": ("E2E p99", 0.99)}

MIX = {
    "class_weights": [0.7, 0.2, 0.1],
    "prompt_tokens": [32, 128, 512],
    "uncached_tokens": [32, 128, 512],
    "output_tokens": [64, 256, 256],
}
CHAT = {"class_weights": [1.0], "prompt_tokens": [2000], "uncached_tokens": [2000], "output_tokens": [300]}
THINK = {"class_weights": [1.0], "prompt_tokens": [1000], "uncached_tokens": [1000], "output_tokens": [8000]}
LONG = {"class_weights": [1.0], "prompt_tokens": [32000], "uncached_tokens": [4000], "output_tokens": [1000]}
SMALL = {
    "step_weights_s": 16.06e9 / 1550e9,
    "step_per_context_token_s": 131072 / 1550e9,
    "prefill_per_token_s": 2 * 8.03e9 / 140e12,
}
LARGE = {
    "step_weights_s": 70.55e9 / 4 / (3.35e12 * 0.75),
    "step_per_context_token_s": 327680 / 4 / (3.35e12 * 0.75),
    "prefill_per_token_s": 2 * 70.55e9 / (4 * 1979e12 * 0.5),
}
CASES = (
    ("8B, three classes", MIX, SMALL, 587, {"ttft": 1.0, "tpot": 0.025, "e2e": 5.0}, 600.0),
    ("8B, three classes", MIX, SMALL, 587, {"tpot": 0.050}, 600.0),
    ("8B, three classes", MIX, SMALL, 587, {"ttft": 0.2}, 600.0),
    ("70B chat", CHAT, LARGE, 256, {"ttft": 1.0, "tpot": 0.050, "e2e": 20.0}, 200.0),
    ("70B chat", CHAT, LARGE, 256, {"ttft": 0.3}, 200.0),
    ("8B, answers of 8,000 tokens", THINK, SMALL, 50, {"ttft": 5.0}, 5.0),
    ("70B, prompts of 32,000 tokens", LONG, LARGE, 21, {"ttft": 5.0}, 20.0),
)
"""Workload, step times, slots of the pool, limits [s], and the rate of a fleet [req/s]."""

INTRODUCTION = """\
Written by `python tests/bench/capacity_page.py`. What `capacity_model: queueing` says one replica sustains, against a
simulation of the same step times: how far those are from hardware is in [latency.md](latency.md) and
[throughput.md](throughput.md). A limit is at its percentile over all requests."""

RANDOM = """\
{count} replicas by the law of `tests/bench/latency_random.py` were simulated over {requests} requests each (a simulator
by another author), at busy shares of 0.05 to 0.85. Each percentile that a run showed was taken as the only limit; the
rate that gridplan finds for it is compared with the rate of the run: mean absolute error in percent (worst). Where the
limit is so tight that one overlapping prompt decides, the percentile hardly moves with the rate, and a rate is hard to
tell: `capacity_flag` says `tight_limit` there, and names what is broken elsewhere."""

TWO_FEWER = """\
One replica of the fleet was simulated at the replicas planned, and at two fewer: the last columns are the largest of
percentile over limit there, 1 and less where all limits hold."""


def main() -> None:
    lines = ["# Capacity: what one replica sustains, predicted against simulated", "", INTRODUCTION, ""]
    lines += ["## Known cases", "", TWO_FEWER, "", *known_cases(), ""]
    text = RANDOM.format(count=len(SEEDS) * COUNT, requests=f"{REQUESTS:,}")
    lines += ["## Random replicas", "", *textwrap.wrap(text.replace("\n", " "), 120), "", *random_table()]
    print("\n".join(lines))


def known_cases() -> Iterator[str]:
    yield "| case | limits | rate | binds | next, if lifted | replicas | at these | at two fewer |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, requests, steps, slots, limits, fleet in CASES:
        stated = {f"{latency}_slo_s": limit for latency, limit in limits.items()}
        found = sustained_rate(**requests, **steps, slots=slots, **stated)
        rate = float(found.lambda_instance)
        replicas = int(np.ceil(fleet / rate))
        said = ", ".join(f"{LIMITS[latency][0]} {1e3 * limit:g} ms" for latency, limit in limits.items())
        after = f"{found.binding_next} +{float(found.margin_to_next):.0%}"
        shares = (_fullest(requests, steps, slots, limits, fleet / count) for count in (replicas, replicas - 2))
        shown = " | ".join(f"{share:.2f}" for share in shares)
        yield f"| {name} | {said} | {rate:.3g} | {found.binding_constraint} | {after} | {replicas} | {shown} |"


def _fullest(requests: dict, steps: dict, slots: int, limits: dict[str, float], rate: float) -> float:
    """The largest of percentile over limit in a simulation of one replica."""
    lengths = {"requests": 2_500, "runs": 64, "warm_up": 1_500}
    run = simulate(rate, **requests, **steps, token_budget=2048, max_num_seqs=slots, **lengths)
    return max(float(run.quantile(name, LIMITS[name][1])[0]) / limit for name, limit in limits.items())


def random_table() -> Iterator[str]:
    rows = [row for seed in SEEDS for number, config in enumerate(draw(seed, COUNT)) for row in _rows(config, number)]
    latency, reason, busy, error = (np.array(column) for column in zip(*rows, strict=True))
    titles = [title for title, _ in LIMITS.values()]
    yield f"| regime | replicas | {' | '.join(titles)} |"
    yield "|---|---|---|---|---|"
    valid = reason == ""
    for low, high in pairwise(BUSY):
        yield _row(f"busy share {low:g} to {high:g}", valid & (busy >= low) & (busy < high), latency, error)
    yield _row("busy share 0.3 and more", valid & (busy >= 0.3), latency, error)
    for flag in sorted(set(reason[~valid].tolist())):
        yield _row(f"flagged: {flag}", reason == flag, latency, error)


def _row(title: str, which: np.ndarray, latency: np.ndarray, error: np.ndarray) -> str:
    cells = []
    for name in LIMITS:
        values = 100.0 * error[which & (latency == name)]
        worst = values[np.argmax(np.abs(values))] if values.size else np.nan
        cells.append(f"{np.abs(values).mean():.1f} ({worst:+.0f})" if values.size else "-")
    return f"| {title} | {np.count_nonzero(which) // len(LIMITS)} | {' | '.join(cells)} |"


def _rows(config: Replica, seed: int) -> Iterator[tuple[str, str, float, float]]:
    """Limit, flag at the simulated rate, busy share and relative error, for each of `LIMITS`."""
    sample = simulate_oracle(config, REQUESTS, seed)
    ttft, decode, output = sample["ttft_s"], sample["decode_s"], sample["output_tokens"]
    seen = {"ttft": ttft, "tpot": decode[output > 1] / (output[output > 1] - 1), "e2e": ttft + decode}
    point = config.solve()
    load = (config.class_weights, config.prompt_tokens, config.uncached_tokens, config.output_tokens)
    steps = (config.step_weights_s, config.step_per_context_token_s, config.prefill_per_token_s)
    for name, (_, q) in LIMITS.items():
        limit = {f"{name}_slo_s": float(np.quantile(seen[name], q))}
        found = sustained_rate(*load, *steps, token_budget=config.token_budget, **limit)
        yield name, str(point.valid_reason), float(point.busy), float(found.lambda_instance) / config.arrival_rate - 1.0


if __name__ == "__main__":
    main()
