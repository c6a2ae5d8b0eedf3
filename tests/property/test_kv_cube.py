"""Laws of KV memory in a cube: what bounds what, what depends on what, and that order and blocks do not matter."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.catalog import load_catalog
from gridplan.contract.grid import Grid

GROUPED = [
    name
    for name, model in load_catalog().models.items()
    if len(model.layer_groups) > 1 or model.layer_groups[0].kind == "sparse_mla"
]
POLICIES = ("ideal_window", "engine_admission", "full")
FEW = settings(max_examples=20, deadline=None)


TEXT = """
schema: 1
workload: {{classes: [{{name: a, weight: 0.7, prompt_tokens: {prompt}, output_tokens: 200}},
                      {{name: b, weight: 0.3, prompt_tokens: 900, output_tokens: 600}}], arrival_rate: 2}}
deployment: {{gpu: {gpu}, {stated}}}
policy: {{rho_target: 0.65}}
axes: {{{axes}}}
"""


def cube_of(axes: str, stated: str = "kv_efficiency: 1", prompt: int = 2000, gpu: str = "h200-sxm") -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(TEXT.format(axes=axes, stated=stated, prompt=prompt, gpu=gpu)))


@given(
    st.sampled_from(["vllm@0.7", "vllm@0.11", "vllm@0.25", "vllm@0.28", "sglang@0.5.3"]),
    st.integers(1, 7000),
    st.sampled_from([1, 0.9]),
    st.sampled_from(["final", "mean", "residence_weighted", "max"]),
    st.sampled_from(["", "kv_pool_bytes_given: 9.7 GiB", "kv_pool_tokens_given: 123457", "data_parallel: 2"]),
)
@FEW
def test_no_measure_is_out_of_range_and_the_ways_to_count_are_ordered(
    engine: str, prompt: int, efficiency: float, convention: str, more: str
) -> None:
    stated = f"engine: {engine}, kv_efficiency: {efficiency}, resident_context: {convention}, {more}"
    ds = cube_of(f"model: [{', '.join(GROUPED)}], tensor_parallel: [1, 8]", stated, prompt)
    ok = ds["status"] == "ok"
    assert ok.any()
    names = [str(name) for name in ds if str(name).startswith(("kv_", "concurrency_"))]
    for name in names:
        if ds[name].dtype.kind != "f":
            continue
        values = ds[name].broadcast_like(ok).values[ok.values]
        absent = name in ("concurrency_slo", "concurrency_compute", "concurrency_scheduler")
        assert (np.isfinite(values) | (np.isnan(values) & absent)).all(), name
        assert not (values < 0).any(), name
    worst, limit = xr.broadcast(ds["concurrency_memory_worst"], ds["concurrency_at_limit"])
    known = worst.notnull().values
    assert (worst.values[known] <= limit.values[known] * (1 + 1e-12)).all()
    assert (ds["concurrency_memory_expected"] <= ds["concurrency_memory_mean"]).where(ok, True).all()
    refused = ds["infeasible_reason"].values[~ok.values]
    assert (refused != None).all()  # noqa: E711


def dims(ds: xr.Dataset, name: str) -> set[str]:
    return {str(dim) for dim in ds[name].dims}


PLACES = "gpu: [h200-sxm, mi300x], engine: [vllm@0.11, vllm@0.25, sglang@0.5.3], tensor_parallel: [1, 8]"
WIDE = (
    f"{PLACES}, context_tokens: [2000, 6000], max_model_len: [7000, 8192], "
    "sliding_policy: [ideal_window, engine_admission]"
)
ONE_LENGTH = """
schema: 1
workload: {{output_tokens: 200, arrival_rate: 2}}
deployment: {{kv_efficiency: 0.95, max_num_batched_tokens: 4096}}
policy: {{rho_target: 0.65}}
axes: {{model: [{models}], {axes}}}
"""


def wide(models: str, axes: str = WIDE) -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(ONE_LENGTH.format(models=models, axes=axes)))


def test_r3_bytes_of_a_token_of_plain_models_depend_on_the_model_alone() -> None:
    ds = wide("llama-3.1-8b, deepseek-v3, mixtral-8x7b")
    assert dims(ds, "kv_bytes_per_token") == {"model"}
    assert dims(ds, "kv_bytes_per_token_per_gpu") == {"model", "tensor_parallel"}
    assert not dims(ds, "kv_pool_tokens") & {"context_tokens", "max_model_len", "sliding_policy"}
    assert not dims(ds, "kv_bytes_per_sequence") & {"gpu", "tensor_parallel", "max_model_len", "sliding_policy"}
    # Rows of a latent cache were longer in old vLLM: there the engine does change them.
    old = wide("llama-3.1-8b, deepseek-v3", "gpu: [h200-sxm], engine: [vllm@0.7, vllm@0.25], context_tokens: [2000]")
    assert dims(old, "kv_bytes_per_token") == {"model", "engine"}


def test_r3_bytes_of_a_token_of_groups_depend_on_what_changes_them() -> None:
    axes = f"{PLACES}, context_tokens: [2000, 6000], sliding_policy: [ideal_window, engine_admission]"
    ds = wide("llama-3.1-8b, gemma-3-27b, qwen3-next-80b-a3b", axes)
    assert dims(ds, "kv_bytes_per_token") == {"model", "engine", "context_tokens", "sliding_policy"}
    assert dims(ds, "kv_bytes_per_token_per_gpu") == dims(ds, "kv_bytes_per_token") | {"tensor_parallel"}
    for name in dims(ds, "kv_bytes_per_token_per_gpu"):
        each = ds["kv_bytes_per_token_per_gpu"]
        assert (each.max(name) > each.min(name)).any(), name


def test_a_plain_model_is_worth_the_same_beside_models_with_groups() -> None:
    alone, beside = wide("llama-3.1-8b"), wide("llama-3.1-8b, gemma-3-27b, qwen3-next-80b-a3b")
    for name in alone.data_vars:
        chosen = beside[name].sel(model="llama-3.1-8b") if "model" in beside[name].dims else beside[name]
        chosen, here = xr.broadcast(
            chosen, alone[name].squeeze("model") if "model" in alone[name].dims else alone[name]
        )
        if chosen.dtype.kind == "f":
            np.testing.assert_allclose(chosen, here.transpose(*chosen.dims), rtol=1e-12, err_msg=str(name))
        else:
            np.testing.assert_array_equal(chosen, here.transpose(*chosen.dims), err_msg=str(name))


# ---------------------------------------------------------------------------------------------- order, blocks, folders


MIXED = {
    "gpu": ("h100-sxm", "mi300x"),
    "model": ("gemma-3-27b", "llama-3.3-70b", "qwen3-next-80b-a3b", "deepseek-v3.2", "llama-4-scout-17b-16e"),
    "tensor_parallel": ("2", "8"),
    "context_tokens": ("900", "6000"),
    "max_model_len": ("6000", "8192"),
    "sliding_policy": POLICIES,
}
MIXED_TEXT = """
schema: 1
workload: {output_tokens: 300, arrival_rate: 2}
slo: {tpot_slo_s: 0.08}
deployment: {engine: vllm@0.25, kv_dtype: fp8}
policy: {rho_target: 0.65}
axes:
"""


def mixed(order: tuple[str, ...]) -> Grid:
    rows = "".join(f"  {name}: [{', '.join(MIXED[name])}]\n" for name in order)
    return gridplan.loads_grid(MIXED_TEXT + rows)


@pytest.fixture(scope="module")
def base() -> xr.Dataset:
    return gridplan.evaluate(mixed(tuple(MIXED)))


def assert_same(first: xr.Dataset, second: xr.Dataset) -> None:
    assert set(first.data_vars) == set(second.data_vars)
    for name in first.data_vars:
        assert set(first[name].dims) == set(second[name].dims), name
        np.testing.assert_array_equal(first[name], second[name].transpose(*first[name].dims), err_msg=str(name))


@given(st.permutations(list(MIXED)))
@settings(max_examples=5, deadline=None)
def test_axes_in_another_order_give_the_same_cube(base: xr.Dataset, order: list[str]) -> None:
    assert_same(base, gridplan.evaluate(mixed(tuple(order))))


def test_a_cell_alone_is_the_cell_of_the_cube(base: xr.Dataset) -> None:
    for place in range(0, math.prod(len(labels) for labels in MIXED.values()), 17):
        index = np.unravel_index(place, [len(labels) for labels in MIXED.values()])
        labels = {name: MIXED[name][i] for (name, i) in zip(MIXED, index, strict=True)}
        rows = "".join(f"  {name}: [{label}]\n" for name, label in labels.items())
        alone = gridplan.evaluate(gridplan.loads_grid(MIXED_TEXT + rows)).squeeze()
        cell = base.isel({name: int(i) for name, i in zip(MIXED, index, strict=True)})
        for name in base.data_vars:
            one, other = cell[name].values, alone[name].values
            if one.dtype.kind == "f":
                np.testing.assert_allclose(other, one, rtol=1e-12, err_msg=f"{name} at {labels}")
            else:
                np.testing.assert_array_equal(other, one, err_msg=f"{name} at {labels}")


@pytest.mark.parametrize("cells", [37, 100_000])
def test_files_hold_what_memory_holds(
    base: xr.Dataset, tmp_path: Path, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridplan.engine.evaluate.BLOCK_CELLS", cells)
    gridplan.run(mixed(tuple(MIXED)), tmp_path / "cube")
    stored = gridplan.open_cube(tmp_path / "cube")
    assert set(base.data_vars) == set(stored.data_vars)
    for name in base.data_vars:
        one, other = xr.broadcast(base[name], stored[name])
        np.testing.assert_array_equal(one.transpose(*other.dims), other, err_msg=str(name))
    again = gridplan.evaluate(mixed(tuple(MIXED)))
    assert_same(base, again)
