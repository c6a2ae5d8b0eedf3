"""Models that keep windows, chunks, states or sparse caches get a plan like any other."""

from __future__ import annotations

from functools import cache

import pytest
import xarray as xr

import gridplan
from gridplan.catalog import load_catalog, tensor_parallel_problem

CATALOG = load_catalog()
LARGE = ("aws-p5en-48xlarge", "aws-p6-b200-48xlarge", "aws-p6-b300-48xlarge", "azure-standard-nd96isr-mi300x-v5")
"""Eight GPUs of 141 GB and more each."""

MODELS = (
    *("llama-4-scout-17b-16e", "llama-4-maverick-17b-128e", "qwen3-next-80b-a3b", "qwen3.5-27b", "qwen3.5-35b-a3b"),
    *("qwen3.5-122b-a10b", "qwen3.5-397b-a17b", "qwen3.6-27b", "qwen3.6-35b-a3b", "gemma-2-9b", "gemma-2-27b"),
    *("gemma-3-4b", "gemma-3-12b", "gemma-3-27b", "gemma-4-26b-a4b", "deepseek-v3.2", "glm-5", "gpt-oss-20b"),
    *("gpt-oss-120b", "nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b", "nemotron-3-ultra-550b-a55b"),
    *("nemotron-h-56b", "nemotron-nano-9b-v2", "olmo-3-7b", "olmo-3-32b"),
)

PLAN = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 2}}
deployment: {{engine: {engine}, kv_efficiency: 0.95}}
policy: {{rho_target: 0.65}}
axes: {{model: [{models}], instance: [{instances}], tensor_parallel: [1, 2, 4, 8]}}
"""


@cache
def planned(engine: str) -> xr.Dataset:
    text = PLAN.format(engine=engine, models=", ".join(MODELS), instances=", ".join(LARGE))
    return gridplan.evaluate(gridplan.loads_grid(text))


@pytest.mark.parametrize("engine", ["vllm@0.7", "vllm@0.11", "vllm@0.25", "vllm@0.28", "sglang@0.5.3"])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_fits_eight_large_gpus(model: str, engine: str) -> None:
    cube = planned(engine).sel(model=model)
    ok = cube["status"] == "ok"
    legal = [tp for tp in (1, 2, 4, 8) if tensor_parallel_problem(CATALOG.model(model), tp) is None]
    assert ok.any()
    assert set(cube["tensor_parallel"].values[ok.any("instance")].tolist()) <= set(legal)
    # B300: at least one legal split has room for a plan, and none is refused without a reason.
    assert ok.sel(instance=LARGE[2]).any()
    assert (cube["infeasible_reason"].values[~ok.values] != None).all()  # noqa: E711
    for name in ("concurrency_memory", "concurrency_at_limit", "kv_pool_tokens", "kv_bytes_per_sequence_per_gpu"):
        assert (cube[name].broadcast_like(ok).values[ok.values] > 0).all(), name


@pytest.mark.parametrize("model", MODELS)
def test_its_layer_groups_have_a_source(model: str) -> None:
    groups = CATALOG.model(model).layer_groups
    assert sum(group.layers for group in groups if not group.beside) == CATALOG.model(model).num_layers
    assert all(group.source and group.as_of for group in groups)
    assert any(group.kind not in ("full", "mla") for group in groups)


def test_none_is_named_twice() -> None:
    assert len(set(MODELS)) == len(MODELS) == 26


@pytest.mark.parametrize("model", ["gemma-4-e2b", "gemma-4-e4b", "deepseek-v4-flash"])
@pytest.mark.parametrize("stated", ["", "kv_pool_bytes_given: 50 GiB,"])
def test_a_model_without_parameter_counts_says_so(model: str, stated: str) -> None:
    # A measured pool tells what fits, not how long a step takes.
    text = f"""
schema: 1
workload: {{prompt_tokens: 1000, output_tokens: 10, arrival_rate: 1}}
deployment: {{gpu: h200-sxm, {stated} model: {model}}}
policy: {{rho_target: 0.65}}
"""
    cube = gridplan.evaluate(gridplan.loads_grid(text))
    assert (cube["status"].item(), cube["infeasible_reason"].item()) == ("infeasible", "catalog_value_missing")
    assert bool(cube["concurrency_at_limit"].isnull()) == (not stated)
