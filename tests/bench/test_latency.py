"""The fit and the comparison with measured latencies: the steps are the product's, and errors stay where they were."""

from __future__ import annotations

import json

import numpy as np
import pytest
from compare_latency import errors, left_out
from latency_model import catalog_constants, closed_loop_times, steps_of
from latency_rows import SHARED, Point, Rows, closed_loop, fixed_concurrency, load_rows

import gridplan
from gridplan import chain
from gridplan.engine.inputs import build_inputs

POINTS = (
    Point("llama-3.3-70b", "h100-sxm", "vllm", "fp8", "bf16", 4, 1, 3000, 400, 16, 0.02, 0.2),
    Point("qwen3-235b-a22b", "h200-sxm", "vllm", "fp8", "bf16", 8, 8, 3000, 400, 16, 0.02, 0.2),
    Point("gpt-oss-120b", "b200", "tensorrt-llm", "mxfp4", "fp8", 2, 1, 3000, 400, 16, 0.02, 0.2),
)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.model)
def test_the_compared_steps_are_those_of_a_plan(point: Point) -> None:
    rows = load_rows([point])
    steps = steps_of(rows, catalog_constants(rows))
    text = {
        **{"schema": 1, "workload": {"prompt_tokens": 3000, "output_tokens": 400, "arrival_rate": 1}},
        "deployment": {
            **{"gpu": point.gpu, "model": point.model, "engine": point.engine, "weight_dtype": point.weight_dtype},
            **{"kv_dtype": point.kv_dtype, "tensor_parallel": point.tensor_parallel, "workspace_bytes": "4 GiB"},
            "expert_parallel": point.expert_parallel,
        },
        "policy": {"rho_target": 0.7, "redundancy": 0},
    }
    inputs = build_inputs(gridplan.loads_grid(json.dumps(text)))
    plan = chain.evaluate(inputs.steps, {name: item.data for name, item in inputs.values.items()})
    for name, ours in {
        **{"step_fixed_s": steps.fixed, "step_experts_s": steps.experts, "step_per_sequence_s": steps.per_sequence},
        **{"kv_read_per_sequence_s": steps.kv_per_sequence, "chunk_overhead_total_s": steps.chunk_overhead},
    }.items():
        assert ours.item() == pytest.approx(np.asarray(plan[name]).item(), rel=1e-12), name
    alone = np.maximum(steps.multiplied, 0.0) + steps.chunks * steps.chunk_overhead
    assert np.asarray(plan["prefill_latency_s"]).item() >= alone.item() * (1 - 1e-12)


def test_one_request_at_a_time_is_a_prefill_and_its_steps() -> None:
    """With one in flight nothing interferes but the prompt itself: TPOT is the step of one sequence."""
    rows = load_rows([Point("llama-3.1-8b", "h100-sxm", "vllm", "bf16", "bf16", 1, 1, 100, 4000, 1, 0.0, 0.0)])
    steps = steps_of(rows, catalog_constants(rows))
    tpot, ttft = closed_loop_times(rows, steps)
    alone = steps.fixed + steps.kv_per_sequence + steps.per_sequence
    assert tpot.item() == pytest.approx(alone.item(), rel=0.01)
    assert ttft.item() > steps.multiplied.item()


@pytest.fixture(scope="module")
def measured() -> Rows:
    if not SHARED.is_dir():
        pytest.skip("the measured points are not beside this checkout")
    return load_rows([*closed_loop(), *fixed_concurrency()])


def test_shipped_constants_predict_tpot(measured: Rows) -> None:
    """A vendor's kernel database has 18.9% on dense rows of this kind and 24% on all of them."""
    tpot, _ = closed_loop_times(measured, steps_of(measured, catalog_constants(measured)))
    dense, truth = ~measured.is_moe, measured.of("tpot_s")
    assert errors(tpot[dense], truth[dense])[0] < 10.0
    assert errors(tpot[~dense], truth[~dense])[0] < 13.0


@pytest.mark.slow
def test_constants_hold_for_groups_that_they_have_not_seen(measured: Rows) -> None:
    tpot, dense, truth = left_out(measured), ~measured.is_moe, measured.of("tpot_s")
    assert errors(tpot[dense], truth[dense])[0] < 12.0
    assert errors(tpot[~dense], truth[~dense])[0] < 27.0
    assert errors(tpot, truth)[0] < 17.0
