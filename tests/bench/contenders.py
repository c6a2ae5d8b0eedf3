"""One contender of the benchmark, run once in a process of its own.

    python tests/bench/contenders.py CONTENDER CELLS FOLDER

prints what it took as JSON. Imports, loading the contract and a first call on a small cube come before the clock.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from stretched import COMPARED, by_capacity, queueing, stretched, thickened

import gridplan
from gridplan import chain
from gridplan.chain.latency import latency_steps
from gridplan.contract.grid import Grid
from gridplan.dictionary import dictionary, measures
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.columns import CHAIN_NAMES, plan_columns
from gridplan.engine.inputs import build_inputs
from gridplan.store.arrow import open_writer
from gridplan.store.layout import Layout
from gridplan.store.parquet import PartWriter, WriteOptions

__all__ = ["CONTENDERS", "without_latencies"]

WARM_CELLS = 14_400
SCALAR_CELLS = 20_000
GIB = 2**30
NO_CAP = 10**12
"""The size is what the benchmark is about, so the guard of `run` against large grids is lifted."""


class Clock:
    """Adds up wall and processor time of what runs inside `with clock:`."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), _cpu_s()

    def __exit__(self, *_: object) -> None:
        wall, cpu = self._began
        self.wall_s += time.perf_counter() - wall
        self.cpu_s += _cpu_s() - cpu


def _cpu_s() -> float:
    """Processor time of all threads of this process [s]."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


Figures = dict[str, float]
"""`cells` planned; `result_bytes` of the values made in memory; `file_bytes` written."""

Contender = Callable[[float, Path, Clock], Figures]


def scalar(cells: float, folder: Path, clock: Clock) -> Figures:
    """The plain script on cells drawn at random; drawing them and looking up their inputs costs it nothing."""
    from scalar_plan import cell_inputs, plan

    inputs = build_inputs(stretched(cells))
    draw = random.Random(1)
    sample = [tuple(draw.randrange(size) for size in inputs.space.shape) for _ in range(SCALAR_CELLS)]
    given = [cell_inputs(inputs, index) for index in sample]
    with clock:
        for cell in given:
            plan(cell)
    return {"cells": SCALAR_CELLS}


def broadcast(cells: float, folder: Path, clock: Clock) -> Figures:
    """Every input spread over the cube first; its inputs come ready from gridplan."""
    from broadcast import evaluate_broadcast

    inputs = build_inputs(stretched(cells))
    plan = plan_columns(inputs, COMPARED)
    with clock:
        arrays = evaluate_broadcast(inputs, plan)
    return {"cells": plan.layout.cells, "result_bytes": sum(values.nbytes for values in arrays.values())}


def evaluate(cells: float, folder: Path, clock: Clock) -> Figures:
    """The whole cube as a Dataset."""
    grid = stretched(cells)
    with clock:
        cube = gridplan.evaluate(grid, COMPARED)
    return {"cells": cube["replicas"].size, "result_bytes": cube.nbytes}


def reduce(cells: float, folder: Path, clock: Clock) -> Figures:
    """The whole cube folded as it streams by: the minimum of every number, the count of every label."""
    grid = stretched(cells)
    kinds = {name: "count" if dictionary()[name].is_label else "min" for name in COMPARED}
    with clock:
        gridplan.reduce(grid, kinds)
    layout = plan_columns(build_inputs(grid), COMPARED).layout
    return {"cells": layout.cells, "result_bytes": _made_bytes(layout)}


def _made_bytes(layout: Layout) -> float:
    """Bytes of all columns of a cube, each on its own dimensions, at 8 bytes a value."""
    sizes = dict(zip(layout.dims, layout.shape, strict=True))
    return 8.0 * sum(float(np.prod([sizes[dim] for dim in column.dims])) for column in layout.given)


def run(cells: float, folder: Path, clock: Clock, workers: int | None = None) -> Figures:
    """The whole cube planned and written as a folder."""
    grid = stretched(cells)
    with clock:
        result = gridplan.run(grid, folder / "cube", workers=workers, max_cells=NO_CAP, outputs=COMPARED)
    return {"cells": result.cells, "file_bytes": result.bytes}


def run_rho(cells: float, folder: Path, clock: Clock) -> Figures:
    """The whole cube of the grid that grows along utilisation targets."""
    return _run(thickened(cells), folder, clock, COMPARED)


def run_with_latencies(cells: float, folder: Path, clock: Clock) -> Figures:
    """The whole cube with every measure, latencies by the law of a queue among them."""
    return _run(queueing(cells), folder, clock, measures())


def run_without_latencies(cells: float, folder: Path, clock: Clock) -> Figures:
    """The same grid without the measures that need the latencies of the planned point."""
    return _run(queueing(cells), folder, clock, without_latencies(queueing(WARM_CELLS)))


def _run(grid: Grid, folder: Path, clock: Clock, outputs: tuple[str, ...]) -> Figures:
    with clock:
        result = gridplan.run(grid, folder / "cube", max_cells=NO_CAP, outputs=outputs)
    return {"cells": result.cells, "file_bytes": result.bytes}


def without_latencies(grid: Grid) -> tuple[str, ...]:
    """Measures of every cube whose steps read nothing that the law of a queue makes."""
    inputs = build_inputs(grid)
    made = {name for step in latency_steps(curves=False) for name in step.outputs}

    def reads(name: str) -> bool:
        needed = chain.needed(inputs.steps, [CHAIN_NAMES.get(name, name)])
        return any(made.intersection(step.outputs) for step in needed)

    return tuple(name for name in measures() if not reads(name))


def run_by_queue(cells: float, folder: Path, clock: Clock) -> Figures:
    """A cube of 1e5 replicas whose rates hold percentiles."""
    return _run(by_capacity(cells, "queueing"), folder, clock, measures())


def run_by_seconds(cells: float, folder: Path, clock: Clock) -> Figures:
    """The same by replica-seconds."""
    return _run(by_capacity(cells, "replica_seconds"), folder, clock, measures())


def run_one(cells: float, folder: Path, clock: Clock) -> Figures:
    """The same on one thread."""
    return run(cells, folder, clock, workers=1)


def pyarrow(cells: float, folder: Path, clock: Clock) -> Figures:
    """Arrow's own writer on tables that are there already, as `gridplan.run` wrote them.

    Same columns, types, settings, parts and row groups; planning, building tables, hashing and forcing files to disk
    are not on the clock.
    """
    inputs = build_inputs(stretched(cells))
    plan = plan_columns(inputs, COMPARED)
    layout, options = plan.layout, WriteOptions()
    text = [column.name for column in layout.columns if column.dtype == "string"]
    evaluator, parts = BlockEvaluator(inputs, plan), PartWriter(layout, options)
    for part in layout.parts(layout.rows_per_part):
        path = folder / parts.write(folder, part, evaluator).file
        with pq.ParquetFile(path, read_dictionary=text) as file:
            table = file.schema_arrow.empty_table()
            with clock:
                writer = open_writer(folder / f"{part.number}.parquet", table.schema, options.compression, text)
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                with clock:
                    writer.write_table(table)
            with clock:
                writer.close()
        path.unlink()
    return {"cells": layout.cells, "file_bytes": _size(folder)}


def polars(cells: float, folder: Path, clock: Clock) -> Figures:
    """Polars, streamed to a file."""
    from frames import polars_file
    from recipe import tables

    given = tables(cells)
    with clock:
        polars_file(given, folder / "facts.parquet")
    return {"cells": given.rows, "file_bytes": _size(folder)}


def duckdb(cells: float, folder: Path, clock: Clock) -> Figures:
    """DuckDB, copied to files; loading its tables costs it nothing."""
    from frames import duckdb_files, duckdb_ready
    from recipe import tables

    given = tables(cells)
    database = duckdb_ready(given)
    with clock:
        duckdb_files(database, given, folder)
    return {"cells": given.rows, "file_bytes": _size(folder)}


def memcpy(cells: float, folder: Path, clock: Clock) -> Figures:
    """A copy of 1 GiB between arrays that are both in memory already: what no array operation undercuts."""
    source, target = np.ones(GIB // 8), np.zeros(GIB // 8)
    with clock:
        np.copyto(target, source)
    return {"cells": 0, "result_bytes": GIB}


def _size(folder: Path) -> float:
    return float(sum(path.stat().st_size for path in folder.rglob("*.parquet")))


CONTENDERS: dict[str, Contender] = {
    **{"scalar": scalar, "broadcast": broadcast, "evaluate": evaluate, "reduce": reduce, "run": run},
    **{"run1": run_one, "runrho": run_rho, "pyarrow": pyarrow, "polars": polars, "duckdb": duckdb, "memcpy": memcpy},
    **{"latencies": run_with_latencies, "nolatencies": run_without_latencies},
    **{"byqueue": run_by_queue, "byseconds": run_by_seconds},
}


def main(name: str, cells: float, folder: Path) -> Figures:
    """Warm up on a small cube, then run once on the clock."""
    for size in (WARM_CELLS, cells):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        clock = Clock()
        figures = CONTENDERS[name](size, folder, clock)
    # Linux counts the peak in KiB, macOS in bytes.
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {**figures, "wall_s": clock.wall_s, "cpu_s": clock.cpu_s, "peak_bytes": peak}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))))
