"""Writes `reports/sweep.md`: false alarms, catches and coverage of `measure sweep` on simulated load tests.

    python tests/bench/sweep_page.py > reports/sweep.md

`judge` gives the numbers; the tests call it with fewer sweeps.
"""

from __future__ import annotations

import argparse
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sweep_cases import STEPS, Sweep, sweeps
from sweep_corrupt import KINDS

from gridplan.measured import SweepCheck, SweepResult, sweep_result
from gridplan.measured.sustained.checks.little import tpot_ratio

__all__ = ["Numbers", "caught", "clean_numbers", "false_alarms", "page"]

UNSTABLE = 0.97
"""Share of the rate at which a queue begins to grow from which a load may be called beyond capacity."""

ALWAYS_TRUE = ("one_point_only", "still_passing", "nothing_holds", "non_monotone", "not_known")
"""What follows from the verdicts and is true whenever it is said."""


@dataclass
class Numbers:
    """What came of the clean sweeps: counts, ids of untrue alarms, and the rates over the true ones."""

    sweeps: int = 0
    alarmed: int = 0
    untrue: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    covered: int = 0
    bracketed: int = 0
    closed: int = 0
    rates: dict[int, list[float]] = field(default_factory=dict)
    widths: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)


def clean_numbers(found: Sequence[Sweep]) -> Numbers:
    """Judge clean sweeps."""
    numbers = Numbers(sweeps=len(found))
    for sweep in found:
        result = sweep_result(**sweep.judged())
        untrue = false_alarms(sweep, result)
        numbers.alarmed += bool(untrue)
        numbers.untrue.update({check.id for check in untrue})
        said = [check for check in result.checks if check.severity != "info"]
        numbers.true.update({check.id for check in said} - {check.id for check in untrue})
        numbers.covered += _within(result.interval_per_s, sweep.rate)
        numbers.bracketed += _within(result.bracket_per_s, sweep.rate)
        low, high = result.interval_per_s
        numbers.closed += high is not None
        if high is not None:
            numbers.widths.append((high - low) / sweep.rate)
        size = sweep.points[0].requests_completed or 0
        numbers.rates.setdefault(size, []).append((result.lambda_instance_per_s or 0.0) / sweep.rate)
        numbers.ratios += [ratio for point in sweep.points if (ratio := tpot_ratio(point)) is not None]
    return numbers


def _within(interval: tuple[float, float | None], rate: float) -> bool:
    return interval[0] <= rate and (interval[1] is None or rate <= interval[1])


def false_alarms(sweep: Sweep, result: SweepResult) -> list[SweepCheck]:
    """Errors and warnings of a clean sweep that are untrue."""
    return [check for check in result.checks if check.severity != "info" and not _true(sweep, check)]


def _true(sweep: Sweep, check: SweepCheck) -> bool:
    if check.id in ALWAYS_TRUE:
        return True
    if check.id in ("over_saturated", "not_steady"):
        offered = [sweep.points[row].offered_rate_per_s or 0.0 for row in check.rows]
        return min(offered) >= UNSTABLE * sweep.saturation
    if check.id == "run_too_short":
        run = [sweep.points[row] for row in check.rows]
        return all((point.duration_s or 0.0) < 10 * point.e2e.mean_s for point in run)
    if check.id == "too_few_requests":
        return check.numbers["beyond"] < 10
    return False


def caught(found: Sequence[Sweep], seed: int) -> dict[str, tuple[int, int]]:
    """Of each kind of wrong sweeps how many are named, and how many there are."""
    rng = np.random.default_rng(seed)
    counts: dict[str, tuple[int, int]] = {}
    for kind, (make, ids) in KINDS.items():
        wrong = make(found, rng)
        hits = 0
        for sweep, points, rows in wrong:
            checks = sweep_result(**sweep.judged(points)).checks
            named = [check for check in checks if check.id in ids and check.severity != "info"]
            hits += any(set(check.rows) & set(rows) for check in named)
        counts[kind] = (hits, len(wrong))
    return counts


def page(count: int, seed: int) -> str:
    """The report as Markdown."""
    found = sweeps(count, seed)
    numbers, counts = clean_numbers(found), caught(found, seed)
    short = clean_numbers(sweeps(count // 3, seed, long=False))
    lines = [*_head(numbers), *_alarms(numbers), *_catches(counts), *_rates(numbers), *_short(short)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return [*textwrap.wrap(" ".join(text.split()), 130, break_long_words=False, break_on_hyphens=False), ""]


def _head(numbers: Numbers) -> list[str]:
    rates = ", ".join(f"{step:g}" for step in STEPS)
    return [
        "# Load tests: what the checks find, and how good the rate is",
        "",
        *_wrapped("""Made by `python tests/bench/sweep_page.py > reports/sweep.md`; every number on this page is its
        output."""),
        *_wrapped(f"""{numbers.sweeps} sweeps of random replicas, run by the project's own simulator as a load generator
        runs them: each run starts empty, sends 1,000 to 3,000 requests at random gaps and ends with the last answer, at
        {rates} times the true rate; at the true rate it lasts twenty late answers or more. The true rate is
        known, since limits are percentiles of a long simulation at it. No engine was run: a server that pauses,
        fails or shares its machine is not in these numbers."""),
    ]


def _alarms(numbers: Numbers) -> list[str]:
    true = ", ".join(f"`{name}` {count}" for name, count in sorted(numbers.true.items())) or "none"
    untrue = ", ".join(f"`{name}` {count}" for name, count in sorted(numbers.untrue.items())) or "none"
    low, high = min(numbers.ratios), max(numbers.ratios)
    return [
        "## False alarms",
        "",
        *_wrapped(f"""{numbers.alarmed} of {numbers.sweeps} clean sweeps ({numbers.alarmed / numbers.sweeps:.1%}) have
        an error or a warning that is untrue."""),
        f"* untrue: {untrue}",
        f"* true, in so many sweeps: {true}",
        "",
        *_wrapped(f"""A load is beyond capacity from the rate at which the queue grows without end; a run is short where
        it lasts less than ten of its own end-to-end latencies, as runs beyond capacity do. Mean TPOT over what mean
        E2E, TTFT and tokens leave for it is {low:.2f} to {high:.2f} here; outside of 0.7 to 1.6 it is an error."""),
    ]


def _catches(counts: dict[str, tuple[int, int]]) -> list[str]:
    rows = [f"| {kind} | {hits} of {of} | {hits / of:.0%} | {HOW[kind]} |" for kind, (hits, of) in counts.items()]
    return [
        "## Wrong sweeps",
        "",
        *_wrapped("""The same sweeps, made wrong in six ways; one is caught where an error or a warning of its kind
        names a row that is wrong."""),
        "| what is wrong | caught | share | how it was made |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


HOW = {
    "over-saturated": "two rates of 1.3 and 1.6 times the one at which the queue begins to grow",
    "run too short": "40 requests a rate",
    "warm cache": "3% of each prompt is computed, and nothing says so; prompts of three decode steps or more",
    "halved TPOT": "times per output token of 0.47 to 0.54 of the right ones",
    "closed as open": "a limit of clients, not stated, from 0.8 times the true rate on",
    "swapped units": "one latency 1,000 times too long or too short throughout",
}
"""How each kind was made."""


def _rates(numbers: Numbers) -> list[str]:
    rows = []
    for size, rates in sorted(numbers.rates.items()):
        middle, spread = float(np.median(rates)), float(np.std(rates))
        rows.append(f"| {size:,} | {len(rates)} | {middle:.2f} | {spread:.1%} | {min(rates):.2f} to {max(rates):.2f} |")
    of, width = numbers.sweeps, float(np.median(numbers.widths))
    return [
        "## The rate and its interval",
        "",
        *_wrapped(f"""The true rate lies in the interval of {numbers.covered} of {of} sweeps
        ({numbers.covered / of:.1%}), and between the two neighbours of {numbers.bracketed}
        ({numbers.bracketed / of:.1%}). The interval is closed above in {numbers.closed}; its median width is
        {width:.0%} of the true rate, near which rates are 12% apart. The last measured rate that holds, over
        the true one:"""),
        "| requests a rate | sweeps | median | standard deviation | range |",
        "|---|---|---|---|---|",
        *rows,
    ]


def _short(numbers: Numbers) -> list[str]:
    of, said = numbers.sweeps, numbers.true["run_too_short"]
    return [
        "",
        "## Runs that are too short",
        "",
        *_wrapped(f"""{of} sweeps of 1,000 requests a rate where 3,000 do not last twenty late answers:
        {numbers.alarmed} have an untrue alarm ({numbers.alarmed / of:.0%}), {said} are called too short, and the
        interval of {numbers.covered} has the true rate ({numbers.covered / of:.0%}): heed `run_too_short`."""),
    ][:-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    print(page(options.count, options.seed), end="")
