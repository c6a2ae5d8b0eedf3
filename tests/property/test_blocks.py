"""However a cube is cut, in whatever order and with whatever shared between blocks, every cell gets the same bits."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan import chain
from gridplan.chain.graph import Array
from gridplan.engine import hoist as hoisting
from gridplan.engine.blocks import BlockEvaluator
from gridplan.engine.columns import column_arrays, plan_columns
from gridplan.engine.evaluate import arrays_of
from gridplan.engine.hoist import hoist
from gridplan.engine.inputs import build_inputs
from gridplan.store.blocks import cut

GRID = gridplan.loads_grid("""
schema: 1
workloads:
  chat:
    classes:
      - {name: short, weight: 0.7, prompt_tokens: 2000, output_tokens: 300}
      - {name: long, weight: 0.3, prompt_tokens: 12000, output_tokens: 900}
  batch: {classes: [{name: any, weight: 1, prompt_tokens: 6000, output_tokens: 1000}]}
deployment: {workspace_bytes: 4 GiB, gpu_memory_utilization: 0.9, kv_efficiency: 0.95, resident_context: mean,
             max_num_seqs: 256, tpot_slo_s: 0.05, peak_to_average: 2, redundancy: 1, hours_per_month: 732,
             lost_units: 1, lost_domain: node, gpus_per_node: 8, kv_dtype: fp8}
axes:
  gpu: [l4, h100-sxm, mi300x]
  model: [llama-3.1-8b, llama-3.3-70b]
  tensor_parallel: [1, 2, 3]
  rho_target: [0.5, 0.8]
  arrival_rate: [0.5, 7, 60, 300]
scenarios:
  surge: {arrival_rate: {multiply: 3}}
""")
INPUTS = build_inputs(GRID)
PLAN = plan_columns(INPUTS)
WHOLE = column_arrays(
    PLAN,
    chain.evaluate(PLAN.steps, {name: item.data for name, item in INPUTS.values.items()}),
    {name: item.data for name, item in PLAN.constants.items()},
)


def assembled(evaluator: BlockEvaluator, rows: int, seed: int) -> dict[str, Array]:
    """The cube put together from blocks in an order of their own, some of them asked for twice."""
    blocks = list(cut(PLAN.layout.block, rows))
    blocks += random.Random(seed).sample(blocks, len(blocks) // 3)
    random.Random(seed).shuffle(blocks)
    cube = {name: np.empty(INPUTS.space.shape, array.dtype) for name, array in WHOLE.items()}
    for block in blocks:
        arrays = evaluator(block)
        assert arrays.keys() == cube.keys()
        for name, array in arrays.items():
            cube[name][block.slices] = array
    return cube


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    before = hoisting.HOIST_CELLS, hoisting.HOIST_BYTES
    yield
    hoisting.HOIST_CELLS, hoisting.HOIST_BYTES = before


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(20, 700),
    cells=st.sampled_from([0, 1, 10, 40, 400, 10_000]),
    bytes_=st.sampled_from([0, 1_000, 20_000, 10_000_000]),
    passed=st.booleans(),
    seed=st.integers(0, 100),
)
def test_blocks_put_together_are_the_cube(rows: int, cells: int, bytes_: int, passed: bool, seed: int) -> None:
    hoisting.HOIST_CELLS, hoisting.HOIST_BYTES = cells, bytes_
    evaluator = BlockEvaluator(INPUTS, PLAN, hoist(INPUTS, PLAN) if passed else None)
    for name, array in assembled(evaluator, rows, seed).items():
        np.testing.assert_array_equal(array, np.broadcast_to(WHOLE[name], array.shape), err_msg=name)


def test_the_cube_in_memory_is_one_call_of_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.engine.evaluate.BLOCK_CELLS", 50)
    hoisting.HOIST_CELLS = 50
    arrays = arrays_of(INPUTS, PLAN)
    assert arrays.keys() == WHOLE.keys()
    for name, array in arrays.items():
        assert array.shape == WHOLE[name].shape, name
        assert array.dtype == WHOLE[name].dtype, name
        assert array.flags.writeable, name
        np.testing.assert_array_equal(array, WHOLE[name], err_msg=name)


def test_the_grid_under_test_has_cells_of_every_kind() -> None:
    assert set(np.unique(WHOLE["status"])) == {0, 1}
    assert len(np.unique(WHOLE["infeasible_reason"])) > 2


def test_what_is_shared_is_bounded_and_read_only() -> None:
    hoisting.HOIST_CELLS = 50
    shared = hoist(INPUTS, PLAN)
    assert 0 < len(shared.steps) < len(PLAN.steps)
    # Of the cube's combinations: results by class have a class axis before them.
    rank = len(INPUTS.space.names)
    assert max(np.prod(array.shape[array.ndim - rank :]) for array in shared.values.values()) <= 50
    assert all(not array.flags.writeable for array in (*shared.values.values(), *shared.columns.values()))
    hoisting.HOIST_BYTES = 8 * 20
    assert sum(array.nbytes for array in hoist(INPUTS, PLAN).values.values()) <= 8 * 20
    hoisting.HOIST_CELLS = 0
    nothing = hoist(INPUTS, PLAN)
    assert nothing.steps == PLAN.steps
    assert nothing.columns.keys() == PLAN.constants.keys()


def test_a_stream_gives_every_other_column_once_and_keeps_none_of_the_whole_cube() -> None:
    hoisting.HOIST_CELLS = 50
    shared = hoist(INPUTS, PLAN)
    evaluator = BlockEvaluator(INPUTS, PLAN, shared)
    (block,) = cut(PLAN.layout.block, PLAN.layout.cells)
    streamed = list(evaluator.stream(block))
    names = [name for name, _ in streamed]
    assert sorted([*names, *shared.columns]) == sorted(WHOLE)
    assert any(array.size == block.rows for _, array in streamed)
    assert all(array.size < block.rows for array in evaluator._values.values())
