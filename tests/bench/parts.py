"""A cube of very many parts: seconds and memory of what is done with its manifest, each in a process of its own.

python tests/bench/parts.py [--parts 100000,500000] [--folder DIR]

The files are more names of a few, as in `tests/reference/many_parts.py`: what is measured is what grows with their
number. Nothing is done for a cold page cache. Seconds are those of the step alone, with all libraries loaded; memory is
the most that a process held, libraries included.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "reference"))

from many_parts import many_files, many_layout

import gridplan
from gridplan.query.slice import slice_cube
from gridplan.store import read_manifest, verify_cube, write_manifest
from gridplan.store.folder import claimed_folder
from gridplan.store.intent import finished_parts
from gridplan.store.open import open_cube

__all__ = ["STEPS", "lines"]

RUNS = 3

AT = {"gpu": "gpu-5", "context_tokens": 6144.0, "arrival_rate": 7.0}
WHERE = "gpu = 'gpu-5' and context_tokens = 6144 and arrival_rate = 7"


def _resume(folder: Path) -> object:
    manifest = read_manifest(folder)
    with claimed_folder(folder, resume=True):
        return finished_parts(folder, manifest.parts)


STEPS: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "nothing": ("libraries alone", lambda folder: gridplan.__version__),
    "write": ("write the manifest", lambda folder: write_manifest(folder, read_manifest(folder))),
    "read": ("read the manifest", read_manifest),
    "sizes": ("verify, sizes alone", lambda folder: verify_cube(folder, sizes_only=True)),
    "verify": ("verify, sizes and hashes", lambda folder: verify_cube(folder, deep=False)),
    "open": ("open one cell", lambda folder: open_cube(folder, at=AT)),
    "slice": ("slice of one part", lambda folder: slice_cube(folder, WHERE)),
    "resume": ("what stands, for --resume", _resume),
}
"""What is done, by the word that asks for it; all but the first read the manifest too."""

BEFORE = ("write", "resume")
"""Steps that need the manifest read before them, which is not counted in their seconds."""


def step(name: str, folder: Path) -> None:
    """Do one step and print its seconds."""
    for library in ("duckdb", "pandas", "sqlglot", "xarray"):  # which are loaded when they are needed
        importlib.import_module(library)
    if name in BEFORE:
        read_manifest(folder)
    began = time.perf_counter()
    STEPS[name][1](folder)
    print(time.perf_counter() - began)


def measured(name: str, folder: Path) -> tuple[float, float]:
    """Seconds of a step, and the most memory of its process [MiB]. Raises CalledProcessError."""
    words = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return float(said.split()[-1]), used.ru_maxrss / 2**10


def made(parts: int, folder: Path) -> None:
    """Write the cube that is measured."""
    write_manifest(folder, many_files(folder, many_layout(parts)))


def lines(folder: Path, parts: int) -> list[str]:
    """The table of one cube."""
    size = (folder / "manifest.json").stat().st_size
    shown = [f"{parts:,} parts, {size / parts:.0f} bytes of manifest each ({size / 1e6:,.0f} MB).", ""]
    shown += ["| step | s | peak MiB |", "|---|---|---|"]
    for name, (said, _) in STEPS.items():
        runs = [measured(name, folder) for _ in range(RUNS)]
        seconds, peak = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
        shown.append(f"| {said} | {seconds:.2f} | {peak:,.0f} |")
    return shown


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="100000,500000", help="how many, multiples of 100 (default 100000,500000)")
    parser.add_argument("--folder", type=Path, help="where to write the cubes (default: a temporary folder)")
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        made(asked.make, asked.folder)
    elif asked.step:
        step(asked.step, asked.folder)
    else:
        with tempfile.TemporaryDirectory(prefix="gridplan-bench-", dir=asked.folder) as scratch:
            for parts in map(int, asked.parts.split(",")):
                folder = Path(scratch) / "cube"
                # In a process of its own: what this one holds would count as that of those it starts.
                subprocess.run([sys.executable, __file__, "--make", str(parts), "--folder", str(folder)], check=True)
                print(*lines(folder, parts), "", sep="\n", flush=True)
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
