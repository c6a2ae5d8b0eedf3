"""What the benchmarks compare gives the same cube: a race of different results would say nothing."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from broadcast import evaluate_broadcast
from frames import duckdb_files, duckdb_ready, polars_file
from recipe import tables
from scalar_plan import ASSUMED, cell_inputs, plan
from stretched import COMPARED, stretched

import gridplan
from gridplan.dictionary import dictionary
from gridplan.engine.columns import plan_columns
from gridplan.engine.evaluate import arrays_of
from gridplan.engine.inputs import Inputs, build_inputs

KEYS = ("gpu_rank", "model_rank", "kv_dtype_rank", "context_tokens", "rho_target", "arrival_rate")
"""Columns that ascend together in the order of the cube's rows."""


@pytest.fixture(scope="module")
def quickstart() -> Inputs:
    return build_inputs(stretched(72_000))


def test_plain_script_relies_on_nothing_but_what_the_quickstart_says(quickstart: Inputs) -> None:
    for name, assumed in ASSUMED.items():
        np.testing.assert_array_equal(quickstart.values[name].data, assumed, err_msg=name)
    assert quickstart.values["class_output_tokens"].data.shape[-1] == 1


def test_plain_script_equals_the_cube(quickstart: Inputs) -> None:
    cube = gridplan.evaluate(quickstart.grid, COMPARED)
    draw = random.Random(20261129)
    seen: set[str] = set()
    for _ in range(200):
        index = tuple(draw.randrange(size) for size in quickstart.space.shape)
        planned = plan(cell_inputs(quickstart, index))
        cell = cube.isel(dict(zip(quickstart.space.names, index, strict=True)))
        assert set(planned) == set(COMPARED)
        assert len(planned) == 109
        for name in COMPARED:
            _equal(name, planned[name], cell[name].item())
        seen.add(str(planned["infeasible_reason"]))
    assert {"None", "weights_exceed_memory", "context_exceeds_model", "tpot_unreachable", "ttft_unreachable"} <= seen


def _equal(name: str, ours: object, theirs: float | str | None) -> None:
    """Labels and whole numbers exactly, other numbers within 1e-9; None is NaN."""
    if dictionary()[name].is_label:
        assert ours == theirs, name
    elif isinstance(ours, (int, float)):
        exact = dictionary()[name].dtype in ("int64", "bool")
        assert theirs == (float(ours) if exact else pytest.approx(float(ours), rel=1e-9, abs=0.0)), name
    else:
        assert ours is None
        assert isinstance(theirs, float), name
        assert math.isnan(theirs), name


def test_broadcast_equals_the_cube() -> None:
    inputs = build_inputs(stretched(14_400))
    plan_of_all = plan_columns(inputs, COMPARED)
    whole, own = evaluate_broadcast(inputs, plan_of_all), arrays_of(inputs, plan_of_all)
    assert set(whole) == set(own)
    for name, values in own.items():
        assert whole[name].shape == inputs.space.shape, name
        np.testing.assert_array_equal(whole[name], np.broadcast_to(values, inputs.space.shape), err_msg=name)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    folder = tmp_path_factory.mktemp("written") / "quickstart"
    gridplan.run(stretched(72_000), folder, outputs=COMPARED)
    return pq.read_table(folder / "facts")


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_data_frames_write_the_same_table(library: str, written: pa.Table, tmp_path: Path) -> None:
    given = tables(72_000)
    if library == "polars":
        polars_file(given, tmp_path / "facts.parquet")
    else:
        duckdb_files(duckdb_ready(given), given, tmp_path)
    found = pq.read_table(tmp_path).sort_by([(name, "ascending") for name in KEYS])
    assert found.num_rows == written.num_rows == 72_000
    assert found.column_names == written.column_names
    assert len(found.column_names) == 124
    for name in written.column_names:
        _same_column(name, found[name], written[name])


def _same_column(name: str, found: pa.ChunkedArray, expected: pa.ChunkedArray) -> None:
    """Same nulls and, row by row, the same labels, flags and whole numbers, and other numbers within 1e-9."""
    assert found.null_count == expected.null_count, name
    if pa.types.is_string(expected.type):
        found = found.cast(pa.string())
    assert found.type == expected.type, name
    if pa.types.is_floating(expected.type):
        ours, theirs = (column.to_numpy() for column in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=0.0, err_msg=name)
        total = pc.sum(expected).as_py()
        assert pc.sum(found).as_py() == (None if total is None else pytest.approx(total, rel=1e-9, abs=0.0)), name
    else:
        assert found.combine_chunks().equals(expected.combine_chunks()), name
