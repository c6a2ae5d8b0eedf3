"""Slices and exports of the folder of a large cube as commands, each in a process of its own: seconds cold and warm,
processor time, bytes read, peak memory.

python tests/bench/slices.py [--cells 1e8] [--folder DIR] [--exports wide,star]

Cold is after the page cache has let go of the folder (posix_fadvise, Linux), as it is after a night. Bytes are those
that the read calls of the process returned (`rchar` of /proc/PID/io), imports of Python among them, and of these those
that came from the disk (`read_bytes`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretched import stretched

import gridplan

__all__ = ["EXPORTS", "SLICES", "Run", "lines"]

NO_CAP = 10**12
RUNS = 3

SLICES: Mapping[str, tuple[float, Sequence[str]]] = {
    "two outermost axes": (0.3, ("--where", "gpu = 'h100-sxm' and model = 'llama-3.3-70b'", "--by", "kv_dtype")),
    "innermost axis": (2.0, ("--where", "arrival_rate = 100", "--by", "model,gpu")),
    "a measure": (2.0, ("--where", "tpot_s < '30 ms'", "--by", "model,gpu")),
    "no condition": (0.0, ("--by", "model,arrival_rate")),
    "argmin on the innermost axis": (0.0, ("--where", "arrival_rate = 100", "--by", "model", "--agg", "argmin")),
}
"""Slices by name: the most seconds a warm one may take (policy; 0 for no target), and what is asked."""

EXPORTS: Mapping[str, str] = {"wide": "cube.parquet", "star": "star", "duckdb": "cube.duckdb", "csv": "cube.csv"}
"""Exports that have all rows, and what they are written to."""

LIMIT_MIB = 2048.0
"""What an export may hold in memory, whatever the size of the cube (policy)."""


@dataclass(frozen=True)
class Run:
    """One command: seconds, processor seconds, bytes of read calls, bytes from the disk, peak memory."""

    wall_s: float
    cpu_s: float
    read_bytes: int
    disk_bytes: int
    peak_bytes: int


def command(words: Sequence[str]) -> Run:
    """Run `gridplan` and read what the kernel counted. Raises CalledProcessError."""
    full = [sys.executable, "-m", "gridplan", *words]
    start = time.perf_counter()
    with subprocess.Popen(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        # The counts of a process are there until somebody waits for it, so this waits without taking them away.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.perf_counter() - start
        counted = _counted(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, full)
    return Run(wall, used.ru_utime + used.ru_stime, counted["rchar"], counted["read_bytes"], used.ru_maxrss * 1024)


def _counted(pid: int) -> dict[str, int]:
    said = (line.split(":") for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines())
    return {name: int(value) for name, value in said}


def forget(folder: Path) -> None:
    """Have the page cache let go of all files of a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def slice_lines(folder: Path, cells: int) -> list[str]:
    """The table of slices, and what was set."""
    shown = ["| slice | rows asked | cold s | warm s | warm CPU s | MB read | MB from disk (cold) | peak MiB |"]
    shown.append("|" + "---|" * 8)
    said = []
    for name, (limit, words) in SLICES.items():
        asked = ["slice", str(folder), *words, *([] if "--agg" in words else ["--agg", "min"])]
        forget(folder)
        cold, warm = command(asked), [command(asked) for _ in range(RUNS)]
        wall = statistics.median(run.wall_s for run in warm)
        shown.append(
            f"| {name} | `{' '.join(_quoted(words))}` | {cold.wall_s:.2f} | {wall:.2f} | "
            f"{statistics.median(run.cpu_s for run in warm):.2f} | {warm[0].read_bytes / 1e6:,.0f} | "
            f"{cold.disk_bytes / 1e6:,.0f} | {max(run.peak_bytes for run in warm) / 2**20:,.0f} |"
        )
        if limit:
            said.append(f"- {name}: {wall:.2f} s warm, target under {limit:g}: {'met' if wall < limit else 'missed'}")
    return [f"{cells:,} cells, {sum(1 for _ in (folder / 'facts').iterdir())} files.", "", *shown, "", *said]


def _quoted(words: Sequence[str]) -> list[str]:
    return [f'"{word}"' if " " in word else word for word in words]


def export_lines(folder: Path, cells: int, names: Sequence[str]) -> list[str]:
    """The table of exports, and what was set. What is written is removed again."""
    shown = ["| export | cells | wall s | CPU s | MB written | peak MiB |", "|" + "---|" * 6]
    most = 0.0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch:
            output = Path(scratch) / EXPORTS[name]
            run = command(["export", str(folder), "--to", name, "-o", str(output), "--best", "model,arrival_rate"])
            size = sum(path.stat().st_size for path in Path(scratch).rglob("*") if path.is_file())
            shutil.rmtree(output, ignore_errors=True)
        peak = run.peak_bytes / 2**20
        most = max(most, peak)
        shown.append(f"| {name} | {cells:,} | {run.wall_s:.0f} | {run.cpu_s:.0f} | {size / 1e6:,.0f} | {peak:,.0f} |")
    met = "met" if most < LIMIT_MIB else "missed"
    return [*shown, "", f"- peak memory of exports: {most:,.0f} MiB, target under {LIMIT_MIB:,.0f}: {met}"]


def lines(folder: Path, names: Sequence[str]) -> list[str]:
    """Both tables for the cube in a folder."""
    from gridplan.store.manifest import read_manifest

    cells = read_manifest(folder).layout.cells
    return [*slice_lines(folder, cells), "", *export_lines(folder, cells, names)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=float, default=1e8, help="size of the cube that is written (default 1e8)")
    parser.add_argument("--folder", type=Path, help="a folder that `gridplan.run` wrote, instead")
    parser.add_argument("--exports", default="wide,star,duckdb", help="which exports (default wide,star,duckdb)")
    asked = parser.parse_args()
    names = [name for name in asked.exports.split(",") if name]
    if asked.folder:
        print(*lines(asked.folder, names), sep="\n")
        return
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch:
        folder = Path(scratch) / "cube"
        gridplan.run(stretched(asked.cells), folder, max_cells=NO_CAP)
        print(*lines(folder, names), sep="\n")


if __name__ == "__main__":
    main()
