"""One run on the threads of a process and on the workers of a cluster: seconds, CPU time, peak memory of each process.

python tests/bench/cluster.py [--cells 1e8] [--runs 3] [--processes 2]

Scheduler, workers and the command are processes of their own on one machine, started before the clock; both ways take
turns and write to the same disk. Bytes are held against each other.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from stretched import CELLS_PER_RATE, rates_for, stretched_text

__all__ = ["lines", "machines", "of_process"]

RATIO = 1.5
"""Wall time on workers over that on as many threads (policy)."""

LIMIT_MIB = 500
"""Peak memory of a worker (policy)."""

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Taken:
    """One run: seconds, and for each process its processor seconds and peak bytes."""

    wall_s: float
    cpu_s: Mapping[str, float]
    peak_bytes: Mapping[str, float]


@contextmanager
def machines(processes: int, folder: Path, threads: int = 1) -> Iterator[tuple[str, dict[str, int]]]:
    """A scheduler and workers of so many threads: the address, and process numbers by name."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli"]
    commands = {"scheduler": ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]}
    for number in range(processes):
        own = ["--nthreads", str(threads), "--no-nanny", "--memory-limit", "0", "--no-dashboard"]
        own += ["--local-directory", str(folder / f"worker-{number}")]
        commands[f"worker {number + 1}"] = ["dask_worker", address, *own]
    with ExitStack() as ends:
        found = {}
        for name, (module, *words) in commands.items():
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            full = [*dask[:2], f"{dask[2]}.{module}", *words]
            process = ends.enter_context(subprocess.Popen(full, **quiet))  # type: ignore[call-overload]
            ends.callback(process.kill)
            found[name] = process.pid
            time.sleep(3)
        yield address, found


def of_process(pid: int) -> tuple[float, float]:
    """Processor seconds so far, and the most memory so far in bytes."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / _TICK, int(peak.split()[1]) * 1024


def taken(contract: Path, folder: Path, more: list[str], others: Mapping[str, int]) -> Taken:
    """`gridplan run` as a process, with what the `others` used meanwhile. Raises CalledProcessError."""
    before = {name: of_process(pid)[0] for name, pid in others.items()}
    full = [sys.executable, "-m", "gridplan", "run", str(contract), "-o", str(folder), *more]
    start = time.perf_counter()
    with subprocess.Popen(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, full)
    now = {name: of_process(pid) for name, pid in others.items()}
    cpu = {"command": used.ru_utime + used.ru_stime} | {name: now[name][0] - before[name] for name in now}
    return Taken(wall, cpu, {"command": used.ru_maxrss * 1024} | {name: peak for name, (_, peak) in now.items()})


def _digest(folder: Path) -> str:
    """One hash of all files of a cube and their names."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.parquet")):
        with path.open("rb") as content:
            found.update(f"{path.relative_to(folder)} {hashlib.file_digest(content, 'sha256').hexdigest()}".encode())
    return found.hexdigest()


def lines(cells: float, runs: int, processes: int) -> list[str]:
    """The table of both ways, and what was set."""
    found: dict[str, list[Taken]] = {"threads": [], "workers": []}
    digests = set()
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch:
        contract = Path(scratch) / "wide.yaml"
        contract.write_text(stretched_text(cells), encoding="utf-8")
        for _ in range(runs):
            for way in found:
                folder = Path(scratch) / "cube"
                with ExitStack() as ends:
                    if way == "threads":
                        one = taken(contract, folder, ["--workers", str(processes)], {})
                    else:
                        address, pids = ends.enter_context(machines(processes, Path(scratch)))
                        one = taken(contract, folder, ["--scheduler", address], pids)
                found[way].append(one)
                digests.add(_digest(folder))
                shutil.rmtree(folder)
    if len(digests) != 1:
        raise SystemExit("the two ways wrote different bytes")
    return _shown(rates_for(cells) * CELLS_PER_RATE, runs, processes, found)


def _shown(cells: int, runs: int, processes: int, found: Mapping[str, list[Taken]]) -> list[str]:
    shown = ["| planned by | cells | runs | wall s | min to max | CPU s | peak MiB |", "|" + "---|" * 7]
    walls, most = {}, 0.0
    for way, all_taken in found.items():
        times = [one.wall_s for one in all_taken]
        walls[way] = statistics.median(times)
        names = list(all_taken[0].cpu_s)
        cpu = ", ".join(f"{name} {statistics.median(one.cpu_s[name] for one in all_taken):.1f}" for name in names)
        peaks = {name: max(one.peak_bytes[name] for one in all_taken) / 2**20 for name in names}
        most = max([most, *(peak for name, peak in peaks.items() if name.startswith("worker"))])
        held = ", ".join(f"{name} {peak:,.0f}" for name, peak in peaks.items())
        ends = f"{min(times):.1f} to {max(times):.1f}"
        shown.append(f"| {processes} {way} | {cells:,} | {runs} | {walls[way]:.1f} | {ends} | {cpu} | {held} |")
    ratio = walls["workers"] / walls["threads"]
    return [
        *shown,
        "",
        f"- workers against threads: {ratio:.2f} times the wall time, target at most {RATIO:g}: "
        f"{'met' if ratio <= RATIO else 'missed'}",
        f"- memory of a worker: {most:,.0f} MiB at most, target under {LIMIT_MIB}: "
        f"{'met' if most < LIMIT_MIB else 'missed'}",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=float, default=1e8, help="size of the cube (default 1e8)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--processes", type=int, default=2, help="threads, and workers (default 2)")
    given = parser.parse_args()
    print(*lines(given.cells, given.runs, given.processes), sep="\n")
