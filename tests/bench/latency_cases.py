"""Cases with figures known from elsewhere: gaps with a long prompt inside, goodput at a limit, long prompts alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gridplan.formulas import operating_point
from gridplan.simulation import simulate

__all__ = ["AZURE_CODE", "REPLICA_70B", "case_lines"]

REPLICA_70B = {
    "step_weights_s": 70.55e9 / 4 / (3.35e12 * 0.75),
    "step_per_context_token_s": 327680 / 4 / (3.35e12 * 0.75),
    "prefill_per_token_s": 2 * 70.55e9 / (4 * 1979e12 * 0.5),
}
"""A 70B model in FP8 on four H100 SXM, from the published text "Inference system design chains"."""

REQUESTS_70B = {"class_weights": [1.0], "prompt_tokens": [2000], "uncached_tokens": [2000], "output_tokens": [300]}
AZURE_CODE = {"class_weights": [1.0], "prompt_tokens": [2048], "uncached_tokens": [2048], "output_tokens": [28]}
"""Mean prompt and answer of the code trace of Azure (2023), https://github.com/Azure/AzurePublicDataset."""


def case_lines() -> Iterator[str]:
    yield "| case | figure | formula | simulated | known |"
    yield "|---|---|---|---|---|"
    for budget, known in ((2048, "80.6 ms"), (512, "26.8 ms")):
        point = operating_point(200 / 34, **REQUESTS_70B, **REPLICA_70B, token_budget=budget)
        run = simulate(200 / 34, **REQUESTS_70B, **REPLICA_70B, token_budget=budget, requests=40_000)
        formula, seen = float(point.itl_quantile(0.95)), float(run.quantile("itl", 0.95)[0])
        case = f"70B, 200 requests/s on 34, budget {budget:,}"
        yield f"| {case} | ITL p95 | {1e3 * formula:.1f} ms | {1e3 * seen:.1f} ms | {known} |"
    limits = {"ttft": 1.0, "tpot": 0.050, "e2e": 20.0}
    for rate, known in ((8.42, "95.0%"), (8.05, "99%")):
        point = operating_point(rate, **REQUESTS_70B, **REPLICA_70B)
        run = simulate(rate, **REQUESTS_70B, **REPLICA_70B, requests=200_000)
        bound, estimate = (float(value) for value in point.goodput(*limits.values()))
        seen = float(run.goodput(*limits.values())[0])
        shown = "no number (busy)" if np.isnan(estimate) else f"{estimate:.1%} (bound {bound:.1%})"
        yield f"| 70B at {rate} requests/s, limits 1 s, 50 ms, 20 s | goodput | {shown} | {seen:.1%} | {known} |"
    for busy in (0.2, 0.5, 0.7):
        yield _azure(busy)


def _azure(busy: float) -> str:
    work = 2048 * REPLICA_70B["prefill_per_token_s"] + 27 * REPLICA_70B["step_per_context_token_s"] * (2048 + 14)
    point = operating_point(busy / work, **AZURE_CODE, **REPLICA_70B)
    run = simulate(busy / work, **AZURE_CODE, **REPLICA_70B, requests=40_000)
    figure = float(point.ttft_quantile(0.95))
    shown = f"no number ({point.valid_reason})" if np.isnan(figure) else f"{1e3 * figure:.1f} ms"
    seen = 1e3 * float(run.quantile("ttft", 0.95)[0])
    return f"| 2,048 in, 28 out (code trace of Azure), busy {busy:g} | TTFT p95 | {shown} | {seen:.1f} ms | - |"
