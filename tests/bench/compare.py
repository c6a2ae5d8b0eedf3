"""Race gridplan against plain Python, whole-cube NumPy, Polars, DuckDB and Arrow's own writer, on one grid.

    python tests/bench/compare.py [--cells 1e7] [--skip polars,duckdb] [--only run,run1] [--json out.json]

Prints the machine, then one Markdown table. Every run is a fresh process, so peak memory and processor time are its
own; contenders take turns and the median of their runs is shown. Grid: the quickstart, its arrival rates stretched.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
LONG_S = 60.0
RUNS = 3
MIB, GB = 2.0**20, 1e9
SHARE_OF_MEMORY = 0.8
LIBRARIES = ("numpy", "scipy", "pandas", "xarray", "pyarrow", "polars", "duckdb")
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Settings that pin the kernels of OpenBLAS; contenders run without them, as they do for most users."""


@dataclass(frozen=True)
class Entry:
    """A contender: its name in the table, and the memory it takes per cell where it holds the whole cube [bytes]."""

    title: str
    cell_bytes: float = 0.0


ENTRIES: Mapping[str, Entry] = {
    "scalar": Entry("plain Python, one cell at a time (a sample)"),
    "broadcast": Entry("NumPy, everything broadcast to the cube first", 800.0),
    "evaluate": Entry("gridplan.evaluate, in memory", 450.0),
    "reduce": Entry("gridplan.reduce, streamed"),
    "run": Entry("gridplan.run, all cores"),
    "run1": Entry("gridplan.run, 1 worker"),
    "runrho": Entry("gridplan.run, cube grown along rho_target"),
    "polars": Entry("Polars, from table to Parquet"),
    "duckdb": Entry("DuckDB, from table to Parquet"),
    "pyarrow": Entry("pyarrow alone, tables ready-made"),
    "memcpy": Entry("np.copyto of 1 GiB"),
    "latencies": Entry("gridplan.run, all measures"),
    "nolatencies": Entry("gridplan.run, latencies left out"),
    "byqueue": Entry("gridplan.run, rates by queueing"),
    "byseconds": Entry("gridplan.run, rates by replica_seconds"),
}

LATENCIES = ("latencies", "nolatencies")
"""Contenders on the grid whose latencies come from the law of a queue."""

CAPACITY = ("byqueue", "byseconds")
"""Contenders on the grid of 1e5 replicas."""

RACE = [key for key in ENTRIES if key not in ("runrho", *LATENCIES, *CAPACITY)]
"""Contenders on one grid."""

TARGETS = (
    ("evaluate", "broadcast", "rate", 2.0),
    ("evaluate", "scalar", "rate", 25.0),
    ("reduce", "broadcast", "rate", 8.0),
    ("reduce", "scalar", "rate", 100.0),
    ("run", "polars", "rate", 2.5),
    ("run", "duckdb", "rate", 2.5),
    ("run", "pyarrow", "cpu", 1.3),
    ("run1", "pyarrow", "cpu", 1.3),
    ("latencies", "nolatencies", "cpu", 1.5),
    ("latencies", "nolatencies", "wall", 1.5),
    ("byqueue", "byseconds", "cpu", 1.5),
    ("byqueue", "byseconds", "wall", 1.5),
)
"""What gridplan sets itself (policy): times faster in cells per second, or at most so many times the processor time or
the time that passes."""


@dataclass
class Row:
    """All runs of one contender."""

    key: str
    runs: list[dict[str, float]] = field(default_factory=list)

    def __getitem__(self, name: str) -> float:
        """The median of a figure."""
        return statistics.median(run.get(name, 0.0) for run in self.runs)

    @property
    def spread(self) -> str:
        """The fastest and the slowest run [s]."""
        walls = [run["wall_s"] for run in self.runs]
        return f"{min(walls):.2f} to {max(walls):.2f}" if len(walls) > 1 else "-"

    @property
    def rate(self) -> float:
        """Cells per second."""
        return self["cells"] / self["wall_s"]

    @property
    def cpu(self) -> float:
        """Processor seconds per cell."""
        return self["cpu_s"] / self["cells"]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=float, default=1e7, help="size of the cube (default 1e7)")
    parser.add_argument("--skip", default="", help=f"contenders to leave out, of {','.join(ENTRIES)}")
    parser.add_argument("--only", default=",".join(RACE), help="contenders to run")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each, where one takes at most {LONG_S:g} s")
    parser.add_argument("--folder", help="where to write cubes (default: the system's temporary folder)")
    parser.add_argument("--json", help="file for all figures of all runs")
    asked = parser.parse_args()
    only, skip = asked.only.split(","), asked.skip.split(",") if asked.skip else []
    if unknown := sorted({*only, *skip} - set(ENTRIES)):
        parser.error(f"unknown contender {', '.join(unknown)}: one of {', '.join(ENTRIES)}")
    machine = machine_text()
    print(f"{machine}\n", flush=True)
    rows = race([key for key in ENTRIES if key in only and key not in skip], asked.cells, asked.runs, asked.folder)
    print(table(rows), *targets(rows), sep="\n")
    if asked.json:
        figures = {"machine": machine, "rows": [asdict(row) for row in rows.values()]}
        Path(asked.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def race(keys: Iterable[str], cells: float, runs: int, folder: str | None) -> dict[str, Row]:
    """Let all contenders take turns."""
    rows = {key: Row(key) for key in keys}
    for _ in range(runs):
        for key, row in rows.items():
            if row.runs and row["wall_s"] > LONG_S:
                continue
            print(f"\r{ENTRIES[key].title:<60}", end="", file=sys.stderr, flush=True)
            row.runs.append(one_run(key, min(cells, fitting(key)), folder))
    print(f"\r{'':<60}\r", end="", file=sys.stderr, flush=True)
    return rows


def fitting(key: str) -> float:
    """Most cells whose cube this contender can hold in the memory that is free."""
    needed = ENTRIES[key].cell_bytes
    return SHARE_OF_MEMORY * _free_bytes() / needed if needed else float("inf")


def one_run(key: str, cells: float, folder: str | None) -> dict[str, float]:
    """One contender in a fresh process."""
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-", dir=folder) as scratch:
        command = [sys.executable, str(HERE / "contenders.py"), key, repr(cells), str(Path(scratch) / "out")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{key} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def table(rows: Mapping[str, Row]) -> str:
    """One Markdown table, a row per contender."""
    heads = ("contender", "cells", "runs", "wall s", "min to max", "CPU s", "M cells/s", "x broadcast")
    heads += ("results GB/s", "peak MiB", "files MiB")
    lines = [" | ".join(("", *heads, "")).strip(), "|" + "---|" * len(heads)]
    base = rows["broadcast"].rate if "broadcast" in rows else None
    for key, row in rows.items():
        made = row["result_bytes"] / row["wall_s"] / GB
        cells = (
            ENTRIES[key].title,
            f"{row['cells']:,.0f}" if row["cells"] else "-",
            str(len(row.runs)),
            f"{row['wall_s']:.2f}",
            row.spread,
            f"{row['cpu_s']:.2f}",
            f"{row.rate / 1e6:.3g}" if row["cells"] else "-",
            f"{row.rate / base:.3g}" if base and row["cells"] else "-",
            f"{made:.2f}" if made else "-",
            f"{row['peak_bytes'] / MIB:,.0f}",
            f"{row['file_bytes'] / MIB:,.0f}" if row["file_bytes"] else "-",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def targets(rows: Mapping[str, Row]) -> list[str]:
    """What gridplan set itself, and what came out."""
    lines = [""]
    for mine, other, kind, goal in TARGETS:
        if mine not in rows or other not in rows:
            continue
        names = f"{ENTRIES[mine].title} against {ENTRIES[other].title}"
        if kind == "rate":
            ratio = rows[mine].rate / rows[other].rate
            lines.append(f"- {names}: {ratio:.3g} times as fast, target {goal:g}: {_met(ratio >= goal)}")
        else:
            by_cpu = kind == "cpu"
            ratio = rows[mine].cpu / rows[other].cpu if by_cpu else rows[other].rate / rows[mine].rate
            what = "CPU" if by_cpu else "wall time"
            lines.append(f"- {names}: {ratio:.3g} times the {what}, target at most {goal:g}: {_met(ratio <= goal)}")
    return lines


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def machine_text() -> str:
    """Processor, cores, memory, system, Python and libraries."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    return (
        f"{_processor()}, {cores} cores, {memory:.1f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _free_bytes() -> float:
    """Memory that a new process can take."""
    path = Path("/proc/meminfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


if __name__ == "__main__":
    main()
