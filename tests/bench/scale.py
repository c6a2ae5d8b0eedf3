"""What a cube of 1e12 cells would take on 1,000 cores, on paper: parts are counted, some are planned, the rest follows.

python tests/bench/scale.py [--cores 1000]

The grid is the quickstart with a million arrival rates and 695 targets. Parts drawn at random are planned and written
as a worker does it; tasks that do nothing give what a scheduler and a client spend on one.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from cluster import machines, of_process
from stretched import CELLS_PER_RATE, stretched_text

from gridplan.contract import loads_grid
from gridplan.contract.grid import Grid
from gridplan.engine.cluster.parts import MOST_TASKS
from gridplan.engine.cluster.spread import spread_on
from gridplan.engine.columns import plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.job import PartPlanner
from gridplan.store.parquet import WriteOptions

__all__ = ["Paper", "lines", "paper_grid"]

RATES, TARGETS = 1_000_000, 695
"""Labels of the two long axes: as many as an axis may have, and what brings the cube to 1e12 cells."""

FEW = (
    *("status", "infeasible_reason", "binding_constraint", "replicas", "gpus", "nodes"),
    *("usd_per_month", "usd_per_mtok_output"),
)
"""Measures of a cube that is asked for a decision and no more."""

PARTS, TASKS = 24, 10_000
"""Parts that are planned, and tasks that do nothing (policy)."""

PUT_PER_S = 3_500
"""PUT requests a second that a prefix of S3 takes at least (fact: Amazon S3 User Guide, request rate guidelines)."""

CONNECTION_BYTES_PER_S = 85e6
"""What one connection to S3 moves (fact: Amazon S3 User Guide, horizontal scaling: one for each 85 to 90 MB/s)."""

LISTED = 1_000
"""Keys of one answer to a LIST request (fact: Amazon S3 API, ListObjectsV2)."""


@dataclass(frozen=True)
class Paper:
    """What was counted and measured of one cube."""

    columns: int
    parts: int
    cells: int
    cpu_s_per_cell: float
    bytes_per_cell: float

    def tasks(self) -> int:
        """What a scheduler hands out."""
        return ceil(self.parts / ceil(self.parts / MOST_TASKS))

    def core_s(self) -> float:
        """Processor seconds of all workers."""
        return self.cells * self.cpu_s_per_cell

    def part_bytes(self) -> float:
        """Bytes of a file."""
        return self.cells * self.bytes_per_cell / self.parts

    def sending_s(self, cores: int) -> float:
        """Seconds in which each core sends its files, one connection each."""
        return self.cells * self.bytes_per_cell / cores / CONNECTION_BYTES_PER_S


def paper_grid() -> Grid:
    """The contract of the cube."""
    text = stretched_text(float(RATES * CELLS_PER_RATE))
    targets = "rho_target: [0.5, 0.6, 0.7, 0.8, 0.9]"
    if text.count(targets) != 1:
        raise ValueError(f"the quickstart no longer says {targets}")
    return loads_grid(text.replace(targets, f"rho_target: {{linspace: [0.5, 0.9, {TARGETS}]}}"))


def planned(grid: Grid, outputs: Sequence[str] | None) -> Paper:
    """Parts drawn at random, planned and written as a worker does it."""
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, outputs)
    layout = plan.layout
    parts = layout.parts(layout.rows_per_part)
    options = WriteOptions(compression="zstd", grid_name=grid.name)
    planner = PartPlanner(inputs, plan, options, hoist(inputs, plan))
    drawn = random.Random(0).sample(parts, PARTS + 1)
    rows = size = 0
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch:
        planner.begin(Path(scratch), drawn[0]).land()  # what a worker does once
        start = time.process_time()
        for part in drawn[1:]:
            receipt = planner.begin(Path(scratch), part).land()
            rows, size = rows + receipt.rows, size + receipt.bytes
            (Path(scratch) / receipt.file).unlink()
        taken = time.process_time() - start
    return Paper(len(layout.columns), len(parts), layout.cells, taken / rows, size / rows)


def task_s() -> tuple[float, float]:
    """Processor seconds of the scheduler and of the client for one task."""
    with tempfile.TemporaryDirectory(prefix="gridplan-bench-") as scratch, machines(2, Path(scratch), 100) as found:
        address, pids = found
        before, own = of_process(pids["scheduler"])[0], time.process_time()
        for _ in spread_on(address, max, 0, range(TASKS), lambda task: (task,), "nothing"):
            pass
        return (of_process(pids["scheduler"])[0] - before) / TASKS, (time.process_time() - own) / TASKS


def lines(cores: int) -> list[str]:
    """The table, for all measures and for few."""
    grid = paper_grid()
    both = [planned(grid, None), planned(grid, FEW)]
    scheduler_s, client_s = task_s()
    rows: list[tuple[str, list[str]]] = [
        ("cells", [f"{one.cells:,}" for one in both]),
        ("columns of a file", [f"{one.columns}" for one in both]),
        ("parts", [f"{one.parts:,}" for one in both]),
        ("planning and writing, CPU µs a cell", [f"{one.cpu_s_per_cell * 1e6:.3f}" for one in both]),
        ("bytes a cell", [f"{one.bytes_per_cell:.1f}" for one in both]),
        ("MB of a part", [f"{one.part_bytes() / 1e6:.0f}" for one in both]),
        ("TB in all", [f"{one.cells * one.bytes_per_cell / 1e12:.1f}" for one in both]),
        ("tasks", [f"{one.tasks():,}" for one in both]),
        (f"{cores:,} cores plan", [f"{one.core_s() / cores:,.0f} s" for one in both]),
        (f"{cores:,} connections send", [f"{one.sending_s(cores):,.0f} s" for one in both]),
        ("the scheduler hands out", [f"{one.tasks() * scheduler_s:,.0f} s" for one in both]),
        ("the command takes receipts", [f"{one.tasks() * client_s:,.0f} s" for one in both]),
        ("PUT requests (a file and its receipt)", [f"{2 * one.parts:,}" for one in both]),
        (
            f"what they take at {PUT_PER_S:,} a second for each of two prefixes",
            [f"{one.parts / PUT_PER_S:,.0f} s" for one in both],
        ),
        (f"LIST requests of {LISTED:,} keys, before the manifest", [f"{ceil(one.parts / LISTED):,}" for one in both]),
    ]
    shown = ["| | all measures | eight measures |", "|---|---|---|"]
    shown += [f"| {name} | {' | '.join(values)} |" for name, values in rows]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = f"- one task: scheduler {scheduler_s * 1e3:.2f} ms, client {client_s * 1e3:.2f} ms of a processor"
    return [*shown, "", said, f"- memory of this process, which planned all of it: {peak:,.0f} MiB"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=1_000, help="cores of the workers (default 1,000)")
    print(*lines(parser.parse_args().cores), sep="\n")
