"""Questions to a large cube as commands, each in a process of its own: seconds, processor time and peak memory.

python tests/bench/decisions.py [--cells 1e7]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from stretched import CELLS_PER_RATE, rates_for, stretched_text

__all__ = ["QUESTIONS", "asked", "lines"]

LIMIT_S, LIMIT_MIB = 10.0, 1024.0
"""What shares of all axes and a table of the cheapest together may take of 1e7 cells on two cores (policy)."""

MEASURE = "usd_per_mtok_output"

QUESTIONS: Sequence[tuple[str, ...]] = (
    ("sensitivity", "{grid}", "--measure", MEASURE),
    ("choose", "{grid}", "--measure", MEASURE, "-o", "{table}"),
)


def lines(cells: float, runs: int) -> list[str]:
    """The table of all questions, with what was set."""
    shown = ["| command | cells | runs | wall s | CPU s | peak MiB |", "|" + "---|" * 6]
    total, peak = 0.0, 0.0
    size = rates_for(cells) * CELLS_PER_RATE
    with tempfile.TemporaryDirectory() as scratch:
        grid = Path(scratch) / "stretched.yaml"
        grid.write_text(stretched_text(cells), encoding="utf-8")
        for number, words in enumerate(QUESTIONS):
            taken = [asked(words, grid, Path(scratch) / f"{number}-{run}.parquet") for run in range(runs)]
            wall, cpu, most = (statistics.median(values) for values in zip(*taken, strict=True))
            command = " ".join(words).format(grid="GRID", table="cheapest.parquet")
            shown.append(f"| `gridplan {command}` | {size:,} | {runs} | {wall:.2f} | {cpu:.2f} | {most:,.0f} |")
            total, peak = total + wall, max(peak, most)
    return [
        *shown,
        "",
        f"- both: {total:.1f} s, target under {LIMIT_S:g}: {'met' if total < LIMIT_S else 'missed'}",
        f"- peak memory: {peak:,.0f} MiB, target under {LIMIT_MIB:,.0f}: {'met' if peak < LIMIT_MIB else 'missed'}",
    ]


def asked(words: Sequence[str], grid: Path, table: Path) -> tuple[float, float, float]:
    """Wall time [s], processor time [s] and peak memory [MiB] of one command. Raises CalledProcessError."""
    command = [sys.executable, "-m", "gridplan", *(word.format(grid=grid, table=table) for word in words)]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=float, default=1e7, help="size of the cube (default 1e7)")
    print(*lines(parser.parse_args().cells, 3), sep="\n")
