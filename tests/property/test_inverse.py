"""Inverse answers hold when they are asked forwards, and the value beyond them does not; over random grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gridplan
from gridplan.contract.grid import Grid
from gridplan.formulas import (
    kv_charge_bytes,
    kv_charge_bytes_unrounded,
    tokens_within_charge,
    tokens_within_charge_unrounded,
)

MODELS = (
    *("llama-3.1-8b", "llama-3.3-70b", "deepseek-v3.2", "deepseek-v2-lite", "gemma-3-27b", "gpt-oss-20b"),
    *("qwen3-next-80b-a3b", "nemotron-3-nano-30b-a3b", "llama-4-scout-17b-16e", "mixtral-8x7b"),
)
GPUS = ("l4", "rtx-3090", "a100-sxm-80gb", "h200-sxm", "b200")
ENGINES = ("vllm@0.6", "vllm@0.7", "vllm@0.8.2", "vllm@0.11", "vllm@0.19", "vllm@0.25", "vllm@0.28", "sglang@0.5.3")
FEW = settings(max_examples=20, deadline=None)
"""Every cell of an example is planned again, alone, at several values."""

CEILINGS = ("concurrency_memory_worst", "concurrency_memory_expected", "concurrency_memory")
ASKED = ("infeasible_reason", *CEILINGS)
"""What is looked at of a plan: the rest of it is not computed for thousands of cells."""

TEXT = """
schema: 1
workload: {{prompt_tokens: 700, output_tokens: 60, arrival_rate: 1}}
deployment: {{{stated}}}
policy: {{rho_target: 1}}
axes: {{{axes}}}
"""


@st.composite
def setups(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Stated inputs and axes of a grid."""
    stated: dict[str, Any] = {
        "engine": draw(st.sampled_from(ENGINES)),
        "pipeline_parallel": draw(st.sampled_from([1, 1, 2])),
        "data_parallel": draw(st.sampled_from([1, 1, 2, 4])),
    }
    options = {
        "kv_dtype": ["fp8"],
        "kv_efficiency": [0.9, 0.87],
        "sliding_policy": ["ideal_window", "engine_admission", "full"],
        "resident_context": ["mean", "max"],
        "gpu_memory_utilization": [0.7, 0.97],
        "kv_pool_bytes_given": ["3.3 GiB", "200 MiB"],
        "kv_pool_tokens_given": [40009, 30011],  # of the largest model here they fit the smallest GPU
        "max_num_batched_tokens": [16384],
        "reserve_bytes": ["1 GiB"],
    }
    for name in draw(st.lists(st.sampled_from(sorted(options)), max_size=3, unique=True)):
        stated[name] = draw(st.sampled_from(options[name]))
    if "kv_pool_tokens_given" in stated:
        stated.pop("kv_pool_bytes_given", None)
    if stated["engine"].startswith("sglang") and stated.get("sliding_policy") == "engine_admission":
        stated.setdefault("max_num_batched_tokens", 8192)
    axes = {
        "model": draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True)),
        "gpu": draw(st.lists(st.sampled_from(GPUS), min_size=1, max_size=2, unique=True)),
        "tensor_parallel": draw(st.sampled_from([[1], [2, 8], [1, 4, 3]])),
    }
    return stated, axes


def grid_of(stated: dict[str, Any], axes: dict[str, list[Any]]) -> Grid:
    shown = ", ".join(f"{name}: {value}" for name, value in stated.items())
    rows = ", ".join(f"{name}: [{', '.join(map(str, labels))}]" for name, labels in axes.items())
    return gridplan.loads_grid(TEXT.format(stated=shown, axes=rows))


def forwards(stated: dict[str, Any], labels: dict[str, Any], **more: Any) -> xr.Dataset:
    """The plan of one cell."""
    grid = grid_of({**stated, **more}, {name: [label] for name, label in labels.items()})
    return gridplan.evaluate(grid, ASKED).squeeze()


def cells(solution: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    names = [str(name) for name in solution.sizes]
    found = []
    for index in np.ndindex(*solution.sizes.values()):
        cell = solution.isel(dict(zip(names, index, strict=True)))
        found.append(({name: cell[name].item() for name in names}, cell))
    return found


def full_labels(labels: dict[str, Any], axes: dict[str, list[Any]]) -> dict[str, Any]:
    """Labels of one cell; an axis that does not change the answer may stand anywhere."""
    return {name: labels.get(name, axes[name][0]) for name in axes}


def holds(ds: xr.Dataset, measure: str, wanted: int) -> bool:
    refused = ("_illegal", "unsupported_by_gpu", "exceeds_model", "sequence_exceeds_pool")
    return (
        not str(ds.infeasible_reason.item()).endswith(refused)
        and bool(ds[measure] >= wanted)
        and bool(ds.concurrency_memory_worst >= 1)
    )


def as_a_whole(stated: dict[str, Any]) -> dict[str, Any]:
    """The same, each request charged at its final length: the worst case knows of no half of an output."""
    return {**stated, "resident_context": "final"}


def planned(stated: dict[str, Any], at: dict[str, Any], tokens: int) -> bool:
    """Whether a plan holds one request of the longest length, with its efficiency and charged as a whole."""
    lengths = f"prompt_tokens: {tokens - 1}, output_tokens: 1"
    shown = ", ".join(f"{name}: {value}" for name, value in {**as_a_whole(stated), "max_model_len": tokens}.items())
    rows = ", ".join(f"{name}: [{label}]" for name, label in at.items())
    text = TEXT.replace("prompt_tokens: 700, output_tokens: 60", lengths).format(stated=shown, axes=rows)
    reason = gridplan.evaluate(gridplan.loads_grid(text), ASKED).squeeze().infeasible_reason.item()
    return bool(reason != "sequence_exceeds_pool")


HALF_AN_OUTPUT = (
    {"engine": "vllm@0.6", "resident_context": "mean", "kv_efficiency": 0.9},
    {"model": ["llama-3.1-8b"], "gpu": ["l4", "rtx-3090"], "tensor_parallel": [1]},
)


@given(
    setups(), st.sampled_from([1, 2, 7, 64, 1000]), st.sampled_from(CEILINGS), st.sampled_from([None, 4000, 100_000])
)
@example(HALF_AN_OUTPUT, 1, "concurrency_memory_worst", None)
@FEW
def test_the_longest_sequence_holds_and_one_token_more_does_not(
    setup: tuple[dict[str, Any], dict[str, list[Any]]], wanted: int, measure: str, limit: int | None
) -> None:
    stated, axes = setup
    stated = stated if limit is None or measure == CEILINGS[0] else {**stated, "max_model_len": limit}
    solution = gridplan.solve(grid_of(stated, axes), "max_context", concurrency=wanted, measure=measure)
    stated = as_a_whole(stated) if measure == CEILINGS[0] else stated
    for labels, cell in cells(solution):
        at = full_labels(labels, axes)

        def ok(tokens: int, at: dict[str, Any] = at) -> bool:
            text = TEXT.replace("prompt_tokens: 700, output_tokens: 60", f"context_tokens: {tokens}, output_tokens: 60")
            try:
                shown = ", ".join(f"{name}: {value}" for name, value in stated.items())
                rows = ", ".join(f"{name}: [{label}]" for name, label in at.items())
                ds = gridplan.evaluate(gridplan.loads_grid(text.format(stated=shown, axes=rows)), ASKED).squeeze()
            except gridplan.ContractError as error:
                pytest.fail(str(error))
            return holds(ds, measure, wanted)

        answer = cell.max_context_tokens.item()
        if np.isnan(answer):
            assert cell.no_answer_reason.item() is not None
            assert not ok(61)
        else:
            assert cell.no_answer_reason.item() is None
            assert answer <= 60 or ok(int(answer)), (at, answer)
            assert answer < 60 or not ok(int(answer) + 1), (at, answer)
            assert cell.concurrency_at_answer >= wanted


@given(setups(), st.sampled_from([1, 3, 40]))
@example(HALF_AN_OUTPUT, 1)
@FEW
def test_the_longest_engine_starts_and_a_longer_one_does_not(
    setup: tuple[dict[str, Any], dict[str, list[Any]]], wanted: int
) -> None:
    stated, axes = setup
    solution = gridplan.solve(grid_of(stated, axes), "max_context", concurrency=wanted, context="max_model_len")
    for labels, cell in cells(solution):
        at = full_labels(labels, axes)

        def ok(tokens: float, at: dict[str, Any] = at) -> bool:
            ds = forwards(stated, at, max_model_len=int(tokens))
            # The lengths of the workload are no part of the question.
            reason = ds.infeasible_reason.item()
            reason = None if reason == "context_exceeds_model" and tokens < 760 else reason
            starts = holds(ds.assign(infeasible_reason=((), reason)), "concurrency_memory_worst", wanted)
            return starts and (tokens < 2 or planned(stated, at, int(tokens)))

        answer = cell.max_context_tokens.item()
        if np.isnan(answer):
            assert not ok(1)
            assert not ok(32769)
            continue
        assert ok(answer), (at, answer)
        assert not ok(answer + 1), (at, answer)
        start, end = cell.gap_from_tokens.item(), cell.gap_to_tokens.item()
        if not np.isnan(start):
            assert not ok(start)
            assert not ok(end)
            assert ok(end + 1)
            assert start == 1 or ok(start - 1)


@given(setups(), st.sampled_from([1, 5, 50]), st.sampled_from(["min_tensor_parallel", "min_gpus"]))
@FEW
def test_the_smallest_degree_holds_and_no_smaller_one_does(
    setup: tuple[dict[str, Any], dict[str, list[Any]]], wanted: int, target: Any
) -> None:
    stated, axes = setup
    stated = {name: value for name, value in stated.items() if not name.startswith("kv_pool")}
    axes = {**axes, "tensor_parallel": [1, 2, 3, 4, 8]}
    if target == "min_gpus":
        stated.pop("data_parallel")
        axes["data_parallel"] = [1, 2]
    how: dict[str, Any] = {"tokens": 5000, "context": "max_model_len"}
    solution = gridplan.solve(grid_of(stated, axes), target, concurrency=wanted, **how)
    ds = gridplan.evaluate(grid_of({**stated, "max_model_len": 5000}, axes))
    reasons = ds.infeasible_reason.values
    legal = np.array([not str(item).endswith(("illegal", "by_gpu", "exceeds_model")) for item in reasons.ravel()])
    fits = (ds.concurrency_memory_worst >= wanted) & ds.infeasible_reason.copy(data=legal.reshape(reasons.shape))
    cost = ds.tensor_parallel if target == "min_tensor_parallel" else ds.gpus_per_replica
    chosen = ["tensor_parallel"] if target == "min_tensor_parallel" else ["tensor_parallel", "data_parallel"]
    best = cost.where(fits).min(chosen)
    mine, theirs = xr.broadcast(solution[target], best)
    np.testing.assert_array_equal(mine, theirs.transpose(*mine.dims))
    assert (solution.no_answer_reason.isnull() == solution[target].notnull()).all()


@given(setups(), st.sampled_from([1, 900, 70_000]))
@FEW
def test_the_largest_concurrency_is_that_of_a_plan(
    setup: tuple[dict[str, Any], dict[str, list[Any]]], tokens: int
) -> None:
    stated, axes = setup
    solution = gridplan.solve(grid_of(stated, axes), "max_concurrency", tokens=tokens, context="max_model_len")
    ds = gridplan.evaluate(grid_of({**stated, "max_model_len": tokens}, axes))
    mine, theirs = xr.broadcast(solution.max_concurrency, ds.concurrency_memory_worst)
    known = mine.notnull()
    np.testing.assert_array_equal(mine.values[known], theirs.transpose(*mine.dims).values[known])
    refused = xr.broadcast(solution.no_answer_reason, theirs)[0].transpose(*mine.dims).values[~known.values]
    assert (refused != None).all()  # noqa: E711 - elementwise on labels


groups = st.lists(
    st.tuples(
        st.integers(0, 5).map(lambda x: x * 1000.0),
        st.sampled_from([1.0, 16.0, 32.0, 544.0, 1000.0]),
        st.sampled_from([0.0, 127.0, 2176.0, 5000.0, np.inf]),
        st.integers(0, 2).map(float),
    ),
    min_size=1,
    max_size=4,
)


@given(groups, st.floats(0, 1e8))
def test_the_inverse_of_the_charge_is_exact(rows: list[tuple[float, float, float, float]], budget: float) -> None:
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))
    tokens = tokens_within_charge(budget, *columns)
    if tokens == -1:
        assert kv_charge_bytes(0, *columns) > budget
    elif np.isinf(tokens):
        assert kv_charge_bytes(1e15, *columns) <= budget
    else:
        assert kv_charge_bytes(tokens, *columns) <= budget < kv_charge_bytes(tokens + 1, *columns)
        assert tokens == np.floor(tokens)
        assert tokens <= tokens_within_charge_unrounded(budget, *columns) * (1 + 1e-12) + 1e-6


@given(groups, st.integers(0, 20_000))
def test_the_unrounded_inverse_undoes_the_charge(rows: list[tuple[float, float, float, float]], tokens: int) -> None:
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))
    charge = kv_charge_bytes_unrounded(tokens, *columns)
    if kv_charge_bytes_unrounded(tokens + 1, *columns) > charge:
        assert tokens_within_charge_unrounded(charge, *columns) == pytest.approx(tokens, rel=1e-9, abs=1e-6)
