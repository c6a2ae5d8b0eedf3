"""Splits that are legal and illegal, and the label that a cell carries for each."""

from __future__ import annotations

import pytest

import gridplan
from gridplan.catalog import (
    context_parallel_problem,
    data_parallel_problem,
    expert_parallel_problem,
    load_catalog,
    pipeline_parallel_problem,
    tensor_parallel_problem,
)
from gridplan.catalog.parallelism import tensor_parallel_problem as same

MODEL = load_catalog().model

TEXT = """
schema: 1
workload: {{prompt_tokens: 1000, output_tokens: 100, arrival_rate: 1}}
deployment: {{gpu: h200-sxm, workspace_bytes: 4 GiB, {stated}}}
policy: {{rho_target: 0.65}}
"""


def reason(stated: str) -> str | None:
    cube = gridplan.evaluate(gridplan.loads_grid(TEXT.format(stated=stated)))
    found: str | None = cube["infeasible_reason"].item()
    return found


@pytest.mark.parametrize(
    ("stated", "label"),
    [
        ("model: llama-3.3-70b, tensor_parallel: 3", "tensor_parallel_illegal"),
        ("model: llama-3.3-70b, pipeline_parallel: 81", "pipeline_parallel_illegal"),
        ("model: qwen3-30b-a3b, data_parallel: 5", "data_parallel_illegal"),
        ("model: qwen3-30b-a3b, tensor_parallel: 4, expert_parallel: 3", "expert_parallel_illegal"),
        ("model: llama-3.3-70b, tensor_parallel: 4, expert_parallel: 4", "expert_parallel_illegal"),
        ("model: llama-3.3-70b, tensor_parallel: 8, decode_context_parallel: 2", "context_parallel_illegal"),
        # the first reason in the order of the dictionary
        ("model: llama-3.3-70b, tensor_parallel: 3, pipeline_parallel: 81", "tensor_parallel_illegal"),
        ("model: llama-3.3-70b, tensor_parallel: 4, decode_context_parallel: 1", None),
        ("model: qwen3-235b-a22b, tensor_parallel: 8, decode_context_parallel: 2", None),
        ("model: deepseek-v3, tensor_parallel: 8, expert_parallel: 8, decode_context_parallel: 8", None),
        ("model: deepseek-v3, data_parallel: 8, expert_parallel: 8", None),
    ],
)
def test_a_cell_says_which_split_is_illegal(stated: str, label: str | None) -> None:
    assert reason(stated) == label


def test_degrees_inside_a_replica_add_no_gpus() -> None:
    text = TEXT.format(stated="model: deepseek-v3, tensor_parallel: 8, expert_parallel: 8, decode_context_parallel: 4")
    assert gridplan.evaluate(gridplan.loads_grid(text))["gpus_per_replica"] == 8


def test_expert_parallelism_keeps_a_width_whole() -> None:
    # GLM-4.5-Air: experts of 1,408 = 2^7 x 11 channels; 256 ranks cannot slice them, 128 groups of 2 can
    air = MODEL("glm-4.5-air")
    assert data_parallel_problem(air, 1, 256) is not None
    assert data_parallel_problem(air, 1, 256, ep=128) is None
    assert expert_parallel_problem(air, 1, 256, 128) is None
    assert expert_parallel_problem(air, 1, 256, 256) == "128 experts leave a rank of expert_parallel 256 without one"
    # a width that tp does not divide is whole inside each group
    assert tensor_parallel_problem(MODEL("qwen3-30b-a3b"), 32) is None
    assert expert_parallel_problem(MODEL("qwen3-30b-a3b"), 5, 1, 5) is None


def test_context_parallelism_shares_copies_only() -> None:
    # vLLM: tp above the KV heads, at most tp / heads, and 16 query heads a KV head divide by it (Qwen3-235B: 64 and 4)
    qwen = MODEL("qwen3-235b-a22b")
    legal = [(tp, dcp) for tp in (4, 8, 16, 32) for dcp in (2, 4, 8, 16) if not context_parallel_problem(qwen, tp, dcp)]
    assert legal == [(8, 2), (16, 2), (16, 4), (32, 2), (32, 4), (32, 8)]
    v3 = MODEL("deepseek-v3")
    assert [dcp for dcp in (1, 2, 3, 4, 8, 16) if not context_parallel_problem(v3, 8, dcp)] == [1, 2, 4, 8]
    # Falcon-7B: 71 query heads on one KV head
    assert context_parallel_problem(MODEL("falcon-7b"), 2, 2) == (
        "71 query heads a KV head do not divide by decode_context_parallel 2"
    )


def test_degrees_below_one_are_named() -> None:
    qwen = MODEL("qwen3-30b-a3b")
    assert pipeline_parallel_problem(qwen, 0) == "pipeline_parallel is at least 1, not 0"
    assert data_parallel_problem(qwen, 1, 0) == "data_parallel is at least 1, not 0"
    assert expert_parallel_problem(qwen, 1, 1, 0) == "expert_parallel is at least 1, not 0"
    assert context_parallel_problem(qwen, 1, 0) == "decode_context_parallel is at least 1, not 0"


def test_a_model_that_is_not_known_is_not_asked() -> None:
    assert pipeline_parallel_problem(None, 200) is None
    assert expert_parallel_problem(None, 8, 1, 8) is None
    assert (
        expert_parallel_problem(None, 8, 1, 3)
        == "tensor_parallel x data_parallel 8 does not divide by expert_parallel 3"
    )
    assert context_parallel_problem(None, 8, 3) == "tensor_parallel 8 does not divide by decode_context_parallel 3"
    assert same is tensor_parallel_problem


def test_an_explanation_says_which_rule_is_broken() -> None:
    text = TEXT.format(stated="model: llama-3.3-70b, tensor_parallel: 8, decode_context_parallel: 2")
    said = gridplan.explain(gridplan.loads_grid(text)).verdict
    assert said == (
        "context_parallel_illegal: tensor_parallel 8 leaves no copy of the 8 KV heads for decode_context_parallel 2 to "
        "share"
    )
    fabric = TEXT.format(stated="model: llama-3.3-70b, tensor_parallel: 8, scale_up_gpus: 4")
    assert "above scale_up_gpus" in gridplan.explain(gridplan.loads_grid(fabric)).verdict
    one_stage = TEXT.format(stated="model: llama-3.3-70b, pipeline_parallel: 81")
    assert "80 layers leave a stage" in gridplan.explain(gridplan.loads_grid(one_stage)).verdict


def test_an_explanation_shows_the_ratio_where_the_split_is_uneven() -> None:
    def formula(stated: str) -> str:
        lines = gridplan.explain(gridplan.loads_grid(TEXT.format(stated=stated))).lines
        return next(line.formula for line in lines if line.name == "weights_bytes_per_gpu")

    assert (
        formula("model: llama-3.3-70b, tensor_parallel: 8") == "weights_bytes / (tensor_parallel * pipeline_parallel)"
    )
    assert formula("model: deepseek-v3, tensor_parallel: 8").endswith(" * weights_rank_ratio")


def test_weights_of_a_dense_model_depend_on_no_split_of_experts() -> None:
    axes = "axes: {data_parallel: [1, 2], expert_parallel: [1, 2], tensor_parallel: [1, 2]}"

    def dims(model: str) -> tuple[str, ...]:
        cube = gridplan.evaluate(gridplan.loads_grid(TEXT.format(stated=f"model: {model}") + axes))
        return tuple(map(str, cube["weights_bytes_per_gpu"].dims))

    assert dims("llama-3.3-70b") == ("tensor_parallel",)
    assert dims("qwen3-30b-a3b") == ("data_parallel", "expert_parallel", "tensor_parallel")
