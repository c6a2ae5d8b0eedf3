"""Everything `reports/bench.md` holds, measured in one run on an idle machine (half an hour on two cores).

python tests/bench/report.py > reports/bench.md
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import decisions
import latency_cost
import reading
import records
from compare import CAPACITY, LATENCIES, MIB, RACE, Row, machine_text, race, table, targets

RUNS = 3
FLAT, LEVEL, PEAK_MIB, START_S = 1.2, 1.1, 500.0, 0.25
"""What gridplan sets itself (policy): CPU a cell within 20% from 1e6 to 1e8 cells, peak memory at 1e8 within 10% of
that at 1e7 and under 500 MiB, commands that compute nothing under 0.25 s of CPU."""

GRID = """\
The grid is the quickstart with its arrival rates stretched: 8 GPUs, 10 models, 3 KV formats, 6 contexts, 5 utilisation
targets, 106 columns. Polars and DuckDB get the capacity half of the chain as a ready-made table of 1,440 rows and
compute the fleet, the cost and the files; tests hold their columns against gridplan's.
"""

SIZE = """\
## Size

`gridplan.run` of a cube that grows along its utilisation targets, with 139 arrival rates whatever the size: a grid that
grows along its arrival rates makes neighbouring rows more alike, and compressing them takes less time a cell.
"""

PLANNED = """\
## Latencies at the planned point

The grid of the first sections with the law of latency that a grid has by default. *Latencies left out* writes all
measures but those that need TPOT, TTFT, E2E or the batch of the planned point. *All cores* is the same cube by the mean
step, from above, which makes TPOT and the batch another way and has no TTFT and E2E.
"""

RATES = """\
## Rates that hold percentiles

100,800 combinations of replica, limit on TPOT p95 and token budget, by 5 utilisation targets and 200 arrival rates: the
rate of a replica is searched once for each combination and its limits, whatever the fleets.
"""

RECORDS = """## Records

The overview of a stored cube and the record of one plan in it, charts included: whole commands in fresh processes, from
the folder, which is read row group by row group. (`python tests/bench/records.py`)
"""

DECISIONS = """\
## Questions

Shares of the variance by all axes, and the cheapest for each point of what happens: whole commands in fresh processes,
from the contract, which is planned with the law of latency that a grid has by default.
"""

FORMULAS = """\
## Latency formulas

`gridplan.formulas.operating_point` and `tpot_at_concurrency` on random replicas that differ in every input: processor
time, the best of several runs. A quantile or a goodput comes after the means of the same cells, so its time is what it
adds.
"""

WRONG = """schema: 1
workload: {arrival_rate: 5, peak_to_avg: 2}
policy: {rho_target: 1.2}
axes: {gpu: [h100-sxn]}
"""

COMMANDS: Sequence[tuple[str, ...]] = (
    ("--help",),
    ("validate", "{wrong}"),
    ("schema",),
    ("catalog", "gpus"),
    ("catalog", "models", "llama-3.3-70b"),
    ("catalog", "instances"),
    ("catalog", "engines"),
)


def scaling(rows: Sequence[Row]) -> list[str]:
    """Run at several sizes: processor time a cell and peak memory, with what was set."""
    lines = ["| cells | runs | wall s | CPU ns a cell | M cells/s | peak MiB |", "|" + "---|" * 6]
    for row in rows:
        figures = f"{row['wall_s']:.2f} | {row.cpu * 1e9:.0f} | {row.rate / 1e6:.2f} | {row['peak_bytes'] / MIB:,.0f}"
        lines.append(f"| {row['cells']:,.0f} | {len(row.runs)} | {figures} |")
    flat = max(row.cpu for row in rows) / min(row.cpu for row in rows)
    level = rows[-1]["peak_bytes"] / rows[-2]["peak_bytes"]
    peak = rows[-1]["peak_bytes"] / MIB
    return [
        *lines,
        "",
        _said(f"CPU a cell, largest over smallest: {flat:.2f}, target at most {FLAT:g}", flat <= FLAT),
        _said(f"peak memory of the largest over the one before: {level:.2f}, target at most {LEVEL:g}", level <= LEVEL),
        _said(f"peak memory of the largest: {peak:,.0f} MiB, target under {PEAK_MIB:g}", peak < PEAK_MIB),
    ]


def starts() -> list[str]:
    """Processor time of commands that compute nothing, each in a process of its own, the best of several."""
    lines = ["| command | CPU s (median) | CPU s (best) |", "|---|---|---|"]
    worst = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        wrong = Path(scratch) / "wrong.yaml"
        wrong.write_text(WRONG, encoding="utf-8")
        for words in COMMANDS:
            taken = [_cpu_s([word.format(wrong=wrong) for word in words]) for _ in range(2 * RUNS + 1)]
            shown = " ".join(words).format(wrong="wrong.yaml")
            lines.append(f"| `gridplan {shown}` | {statistics.median(taken):.3f} | {min(taken):.3f} |")
            worst = max(worst, statistics.median(taken))
    return [*lines, "", _said(f"slowest median: {worst:.3f} s, target under {START_S:g}", worst < START_S)]


def _cpu_s(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(Path(sys.executable).with_name("gridplan")), *words], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _said(text: str, met: bool) -> str:
    return f"- {text}: {'met' if met else 'missed'}"


def main() -> None:
    """Measure, and print the report."""
    print("# Benchmarks\n")
    print(f"Measured on {date.today():%Y-%m-%d} by `python tests/bench/report.py`, in one run, each contender in fresh")
    print("processes that take turns. Trust the ratios: absolute figures belong to the machine.\n")
    print(f"{machine_text()}\n")
    print(GRID)
    small = race(RACE, 1e7, RUNS, None)
    print("## 1e7 cells\n", table(small), *targets(small), sep="\n", flush=True)
    large = race(["run", "polars", "duckdb", "pyarrow"], 1e8, RUNS, None)
    print("\n## 1e8 cells\n", table(large), *targets(large), sep="\n", flush=True)
    print(f"\n{SIZE}")
    rows = [race(["runrho"], cells, runs, None)["runrho"] for cells, runs in ((1e6, RUNS), (1e7, RUNS), (1e8, 1))]
    print(*scaling(rows), sep="\n", flush=True)
    peaks = [races["run"]["peak_bytes"] / MIB for races in (small, large)]
    said = f"grown along arrival_rate, peak at 1e8 {peaks[1]:,.0f} MiB, {peaks[1] / peaks[0]:.2f} times that at 1e7"
    print(_said(f"{said}, target at most {LEVEL:g}", peaks[1] <= LEVEL * peaks[0]))
    print("\n## Reading\n\nTwo filters, three columns, file by file, from the cube of 1e8 cells.\n", flush=True)
    print(*reading.report(1e8), sep="\n", flush=True)
    print(f"\n{PLANNED}")
    for title, cells, above in (("1e7", 1e7, small), ("1e8", 1e8, large)):
        latencies = {**race(LATENCIES, cells, RUNS, None), "run": above["run"]}
        print(f"### {title} cells\n", table(latencies), *targets(latencies), "", sep="\n", flush=True)
    print(RATES, "### 1e8 cells\n", sep="\n")
    rates = race(CAPACITY, 1e8, RUNS, None)
    print(table(rates), *targets(rates), "", sep="\n", flush=True)
    print(DECISIONS, *decisions.lines(1e7, RUNS), "", sep="\n", flush=True)
    print(RECORDS, *records.lines(1e7, RUNS), "", sep="\n", flush=True)
    print(FORMULAS, *latency_cost.lines(), sep="\n", flush=True)
    print("\n## Start\n", *starts(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
