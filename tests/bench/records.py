"""Records of the folder of a large cube as commands, each in a process of its own: seconds, CPU time, peak memory.

python tests/bench/records.py [--cells 1e7]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from decisions import asked
from stretched import CELLS_PER_RATE, rates_for, stretched_text

import gridplan

__all__ = ["RECORDS", "lines"]

LIMIT_S = 5.0
"""What one record of a stored cube of 1e7 cells may take on two cores (policy)."""

PLAN = "model=llama-3.3-70b,context_tokens=8192,rho_target=0.7"
"""All that happens but the rate, and all targets: what is left is chosen along."""

RECORDS: Sequence[tuple[str, ...]] = (
    ("report", "{grid}", "-o", "{table}"),
    ("report", "{grid}", "--at", f"{PLAN},arrival_rate=100", "-o", "{table}"),
)
"""The overview of a cube, and the record of one plan in it; `{grid}` stands for the folder."""


def lines(cells: float, runs: int) -> list[str]:
    """The table of both records, with what was set."""
    shown = ["| command | cells | runs | wall s | CPU s | peak MiB |", "|" + "---|" * 6]
    slowest = 0.0
    size = rates_for(cells) * CELLS_PER_RATE
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "cube"
        gridplan.run(gridplan.loads_grid(stretched_text(cells)), folder)
        for number, words in enumerate(RECORDS):
            taken = [asked(words, folder, Path(scratch) / f"{number}-{run}.html") for run in range(runs)]
            wall, cpu, most = (statistics.median(values) for values in zip(*taken, strict=True))
            command = " ".join(words).format(grid="DIR", table="record.html")
            shown.append(f"| `gridplan {command}` | {size:,} | {runs} | {wall:.2f} | {cpu:.2f} | {most:,.0f} |")
            slowest = max(slowest, wall)
    met = "met" if slowest < LIMIT_S else "missed"
    return [*shown, "", f"- slowest: {slowest:.1f} s, target under {LIMIT_S:g}: {met}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=float, default=1e7, help="size of the cube (default 1e7)")
    print(*lines(parser.parse_args().cells, 3), sep="\n")
