"""The page of how good predicted latencies are: formulas against a step-by-step simulation, and both against reality.

    python tests/bench/latency_page.py > reports/latency.md

Ten fixed seeds of 200 random replicas, all reported (law of drawing: latency_random.py). The simulation is the
project's own; `--oracle` takes the one beside this project, where it is.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from compare_latency import lines as measured_lines
from latency_cases import case_lines
from latency_errors import (
    PERCENTILES,
    REQUESTS,
    SEEDS,
    TARGETS,
    Compared,
    compared,
    compared_with_oracle,
    mean_error,
    pooled,
)
from latency_rows import SHARED, closed_loop, fixed_concurrency, load_rows

NAMES = {
    **{"tpot": "mean TPOT", "ttft": "mean TTFT", "e2e": "mean E2E", "batch": "mean batch"},
    **{"ttft_p95": "TTFT p95", "ttft_p99": "TTFT p99", "tpot_p95": "TPOT p95", "e2e_p99": "E2E p99"},
    "itl_p95": "ITL p95",
}
ASKED = tuple(TARGETS)
MEANS = ("tpot", "batch", "ttft", "e2e")
BANDS = {
    "busy share": ("busy", (0.0, 0.3, 0.5, 0.7, 0.85)),
    "token budget share": ("token_budget_share", (0.0, 0.25, 0.5, 0.75)),
}


INTRODUCTION = """\
Written by `python tests/bench/latency_page.py`. Ten fixed seeds of {count} random replicas each: step 3 to 30 ms,
prefill 5 to 150 us a token, cache reads 10 to 200 ns a token, prompts of 30 to 8,000 and answers of 20 to 1,500
tokens, 1 to 3 classes, half with cached prefixes, budgets of 512, 2,048 and 8,192 tokens, busy 0.05 to 0.85; replicas
whose queue grows without end (one draw in seven: the token budget) were drawn again. Every replica was simulated step
by step ({source}) over {requests} requests. Errors are those of the closed forms, in percent (mean of the absolute
value), and include the noise of the simulation."""

FLAGGED = """\
Flagged configurations carry no percentile; means only where their own error was measured to be small (the bounds are
in `gridplan/formulas/replica/validity.py`). `-` is no number."""

MEASURED = """\
## Predicted against measured

Public serving benchmarks at a fixed number of requests in flight; errors in percent of what was measured (positive:
predicted too long). The first three columns use the constants that gridplan ships
(`gridplan/catalog/data/step_constants.csv`), which were fitted to these very rows; *left out* fits them again without
each group of model, GPU and engine and predicts that group, so it says what to expect of a system that nobody
measured. `tests/bench/latency_model.py` states the law of such a closed loop, `tests/bench/latency_rows.py` what the
sources leave open and how it was settled."""

OUTSTANDING = """\
* Dense steps are known to about a tenth, also of models and GPUs that were left out.
* Experts are where engines differ: an engine and GPU that were not measured may be off by a third.
* Errors by concurrency, throughput of drained runs, the bound of the hardware and knees of sweeps:
  [`throughput.md`](throughput.md).
* TTFT has low confidence: it is predicted without the wave in which benchmarks of equal lengths release their requests,
  and without the server's own time, so it comes out far too short; these two explain most of the gap."""


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def rule(columns: int) -> str:
    return "|" + "---|" * columns


def percent(value: float, digits: int = 2) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def seeds_table(parts: Sequence[Compared]) -> Iterator[str]:
    """One row a seed: share that is valid, and errors within validity."""
    yield row("seed", "valid", *(NAMES[name] for name in ASKED), "TTFT p99", "ITL p95")
    yield rule(len(ASKED) + 4)
    for seed, part in zip(SEEDS, parts, strict=True):
        yield _errors_row(seed, part)
    yield _errors_row("all", pooled(parts))
    yield row("asked", ">= 85%", *(f"<= {TARGETS[name]:g}" for name in ASKED), "", "")


def _errors_row(title: object, part: Compared) -> str:
    valid = part.point.valid
    names = (*ASKED, "ttft_p99", "itl_p95")
    figures = (mean_error(part.errors[name][valid]) if name in part.errors else np.nan for name in names)
    return row(title, f"{valid.mean():.1%}", *map(percent, figures))


def regime_table(whole: Compared) -> Iterator[str]:
    """Errors by regime: bands within validity, then what is flagged and which numbers it carries."""
    shown = (*MEANS, *(name for name in PERCENTILES if name in whole.errors))
    yield row("regime", "configurations", *(NAMES[name] for name in shown), "numbers shown")
    yield rule(len(shown) + 3)
    valid = whole.point.valid
    for title, (name, edges) in BANDS.items():
        values = getattr(whole.point, name)
        for low, high in pairwise(edges):
            which = valid & (values >= low) & (values < high)
            yield _regime_row(f"valid, {title} {low:g} to {high:g}", whole, which, shown)
    for reason in sorted(set(whole.point.valid_reason[~valid].tolist())):
        yield _regime_row(f"flagged: {reason}", whole, whole.point.valid_reason == reason, shown)


def _regime_row(title: str, whole: Compared, which: np.ndarray, shown: Sequence[str]) -> str:
    means, tails = whole.numbers(which, MEANS), whole.numbers(which, PERCENTILES)
    figures = (mean_error(whole.errors[name][which]) for name in shown)
    return row(title, int(which.sum()), *map(percent, figures), f"{means} means, {tails} percentiles")


def page(parts: Sequence[Compared], source: str, requests: int) -> Iterator[str]:
    whole = pooled(parts)
    count = len(parts[0].configs)
    yield from (
        "# Latency: predicted against simulated and measured",
        "",
        textwrap.fill(INTRODUCTION.format(count=count, source=source, requests=f"{requests:,}"), 118),
        "",
        "## Within validity, seed by seed",
        "",
        *seeds_table(parts),
        "",
        "## By regime",
        "",
        *FLAGGED.splitlines(),
        "",
        *regime_table(whole),
        "",
        "## Known cases",
        "",
        *case_lines(),
        "",
        *MEASURED.splitlines(),
        "",
    )
    if SHARED.exists():
        yield from measured_lines(load_rows([*closed_loop(SHARED), *fixed_concurrency(SHARED)]))
        yield from ("", *OUTSTANDING.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", action="store_true", help="the simulator beside this project")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="measured in every replica")
    chosen = parser.parse_args()
    source = "a simulator by another author" if chosen.oracle else "`gridplan.simulation`"
    parts = (compared_with_oracle if chosen.oracle else compared)(requests=chosen.requests)
    sys.stdout.write("\n".join(page(parts, source, chosen.requests)) + "\n")


if __name__ == "__main__":
    main()
