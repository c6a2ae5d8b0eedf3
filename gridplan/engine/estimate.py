"""Size and time of a run, extrapolated from a part that is really computed and written."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gridplan.contract.grid import Grid
from gridplan.engine.blocks import BLOCK_CELLS, BlockEvaluator
from gridplan.engine.columns import asked, plan_columns
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.engine.run import DEFAULT_MAX_CELLS
from gridplan.engine.size import axis_sizes
from gridplan.engine.workers import default_workers
from gridplan.store.blocks import Part, cut, pieces
from gridplan.store.layout import WIDTH, Layout
from gridplan.store.parquet import PartWriter

__all__ = ["estimate"]

SAMPLE_ROWS = 100_000
"""Rows of the sample (policy): enough for a fraction of a second of work."""

BASE_BYTES = 180 * 2**20
"""Memory of the process with its libraries loaded (measurement, 2026-11, Python 3.11 on Linux)."""

COLUMNS_AT_ONCE = 25
"""Columns of a block that a thread holds at once, temporaries included (measurement, 2026-11)."""

SPEED_UP = 0.8
"""What one more thread adds, as a share of the first one's speed (measurement, 2026-11, two cores: 1.6 to 1.7)."""


def estimate(grid: Grid, outputs: Iterable[str] | None = None) -> dict[str, Any]:
    """Cells, rows, memory [bytes], file size [bytes] and seconds of a run on all cores, with `outputs` as `run` has it.

    What is computed once for the whole cube is computed. The middle part is computed and written to a temporary folder;
    its size and time are scaled to all rows.
    """
    inputs = build_inputs(grid)
    plan = plan_columns(inputs, asked(grid, outputs))
    layout = plan.layout
    rows = min(SAMPLE_ROWS, layout.cells)
    # Of a grid that is far too large there may be millions: none is kept that is only counted.
    sample = next(islice(cut(layout.block, rows), pieces(layout.block, rows) // 2, None))
    part = Part(0, sample.start, sample.stop)
    files = pieces(layout.block, layout.rows_per_part)
    threads = min(default_workers(), files)  # a part is the work of one
    began = time.perf_counter()
    shared = hoist(inputs, plan)
    once = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        writer, evaluator = PartWriter(layout), BlockEvaluator(inputs, plan, shared)
        writer.write(Path(folder), part, evaluator.columns)  # the first time, libraries and memory warm up
        began = time.perf_counter()
        receipt = writer.write(Path(folder), part, evaluator.columns)
        seconds = (time.perf_counter() - began) / (1 + SPEED_UP * (threads - 1))
    scale = layout.cells / part.rows
    sizes = dict(zip(layout.dims, layout.shape, strict=True))
    cube = sum(WIDTH["float64"] * float(np.prod([sizes[name] for name in column.dims])) for column in layout.given)
    return {
        "cells": layout.cells,
        "axes": axis_sizes(grid),
        "rows": layout.cells,
        "columns": len(layout.columns),
        "parts": files,
        "memory_bytes": BASE_BYTES + int(threads * _worker_bytes(layout, receipt.bytes / part.rows)),
        "cube_bytes": int(cube),
        "file_bytes": int(receipt.bytes * scale),
        "seconds": once + seconds * scale,
        "sample_rows": part.rows,
        "max_cells": DEFAULT_MAX_CELLS,
        "within_cap": layout.cells <= DEFAULT_MAX_CELLS,
    }


def _worker_bytes(layout: Layout, file_bytes: float) -> float:
    """Memory of one thread: a few columns of a block at a time, and the finished pages of a row group."""
    values = COLUMNS_AT_ONCE * WIDTH["float64"] * min(layout.cells, BLOCK_CELLS)
    return values + file_bytes * min(layout.cells, layout.row_group_rows)
