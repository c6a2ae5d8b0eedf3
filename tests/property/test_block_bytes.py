"""How a cube is cut for evaluation must not show in a single byte of what is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.columns import Plan, plan_columns
from gridplan.engine.inputs import Inputs, build_inputs
from gridplan.store.parquet import PartWriter, WriteOptions

GRID = """
schema: 1
workload: {prompt_tokens: 3000, output_tokens: 500, peak_to_average: 2.5}
slo: {tpot: {limit: 50 ms, percentile: mean}}
deployment: {kv_dtype: fp8, workspace_bytes: 4 GiB, max_num_seqs: 256}
policy: {redundancy: 1}
axes:
  gpu: [l4, a100-sxm-80gb, h100-sxm]
  tensor_parallel: [1, 3, 8]
  model: [llama-3.1-8b, llama-3.3-70b]
  rho_target: [0.55, 0.9]
  arrival_rate: [0.5, 7, 300]
scenarios:
  nominal: {}
  surge: {arrival_rate: {multiply: 1.5}}
"""


@pytest.fixture(scope="module")
def planned() -> tuple[Inputs, Plan]:
    inputs = build_inputs(gridplan.loads_grid(GRID))
    return inputs, plan_columns(inputs)


@pytest.fixture(scope="module")
def written(planned: tuple[Inputs, Plan], tmp_path_factory: pytest.TempPathFactory) -> dict[bool, str]:
    """SHA-256 of the whole cube in one part, evaluated in one block, with and without infeasible rows."""
    return {drop: _sha(planned, tmp_path_factory.mktemp("whole"), 10**6, drop) for drop in (False, True)}


def _sha(planned: tuple[Inputs, Plan], folder: Path, block_cells: int, drop: bool) -> str:
    inputs, plan = planned
    options = WriteOptions(block_cells=block_cells, drop_infeasible=drop)
    (part,) = plan.layout.parts(None)
    return PartWriter(plan.layout, options).write(folder, part, BlockEvaluator(inputs, plan)).sha256


@settings(max_examples=25, deadline=None)
@given(cells=st.integers(1, 250), drop=st.booleans())
def test_blocks_of_any_size_write_the_same_bytes(
    planned: tuple[Inputs, Plan],
    written: dict[bool, str],
    tmp_path_factory: pytest.TempPathFactory,
    cells: int,
    drop: bool,
) -> None:
    assert _sha(planned, tmp_path_factory.mktemp("cut"), cells, drop) == written[drop]
