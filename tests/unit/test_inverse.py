"""`gridplan.solve`: answers worked by hand, reasons, gaps, folding, and questions that cannot be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.contract.grid import Grid
from gridplan.engine.field import Field
from gridplan.engine.inverse.search import largest_true
from gridplan.engine.resolve import Resolver

HEAD = "schema: 1\npolicy: {rho_target: 1}\n"
PLAIN = "{prompt_tokens: 900, output_tokens: 100, arrival_rate: 1}"


def grid_of(deployment: str, rest: str = "", workload: str = PLAIN) -> Grid:
    return gridplan.loads_grid(f"{HEAD}workload: {workload}\ndeployment: {{{deployment}}}\n{rest}")


def pool(gib: float, more: str = "") -> str:
    """Llama-3.1-8B: 131,072 B a token, so a GiB holds 8,192 tokens in blocks of 16."""
    return f"model: llama-3.1-8b, kv_pool_bytes_given: {gib} GiB, kv_block_tokens: 16{more}"


def answer(ds: xr.Dataset) -> Any:
    value = next(iter(ds.data_vars.values())).item()
    return None if np.isnan(value) else value


# ------------------------------------------------------------------------------------------------------ by hand


def test_a_pool_is_shared_in_whole_blocks() -> None:
    ds = gridplan.solve(grid_of(pool(1)), "max_context", concurrency=3)
    assert answer(ds) == 2720  # 512 blocks, 170 each
    assert ds.fails_at_tokens == 2721
    assert ds.fails_reason == "concurrency_exceeds_pool"
    assert (ds.concurrency_at_answer, ds.concurrency_at_failure) == (3, 2)
    assert ds.no_answer_reason.item() is None
    assert ds.max_context_tokens.attrs["unit"] == "tokens"


def test_each_data_parallel_rank_holds_its_share() -> None:
    # Three sequences on two ranks are two on one of them.
    ds = gridplan.solve(grid_of(pool(1, ", data_parallel: 2")), "max_context", concurrency=3)
    assert (answer(ds), ds.concurrency_at_answer.item()) == (4096, 4)


def test_an_efficiency_stands_for_the_tail_where_it_counts() -> None:
    grid = grid_of(pool(1, ", kv_efficiency: 0.9"))
    assert answer(gridplan.solve(grid, "max_context", concurrency=3)) == 2720
    expected = gridplan.solve(grid, "max_context", concurrency=3, measure="concurrency_memory_expected")
    assert answer(expected) == 2457  # 0.9 x 8,192 / 3


def test_an_answer_of_one_sequence_is_feasible_in_a_plan_too() -> None:
    # 1 GiB at an efficiency of 0.5 is 4,096 tokens for a plan, though the worst case alone would hold one of 8,192.
    grid = grid_of(pool(1, ", kv_efficiency: 0.5"))
    ds = gridplan.solve(grid, "max_context", concurrency=1)
    assert (answer(ds), ds.fails_reason.item()) == (4096, "sequence_exceeds_pool")
    for prompt, status in ((4095, "ok"), (4096, "infeasible")):
        more = ", gpu: h100-sxm"
        plan = grid_of(
            pool(1, f", kv_efficiency: 0.5{more}"), "", PLAIN.replace("900", str(prompt)).replace("100,", "1,")
        )
        found = gridplan.evaluate(plan)
        assert (found.infeasible_reason.item() == "sequence_exceeds_pool") == (status == "infeasible")
    assert "does not heed kv_efficiency" in str(ds.attrs["warnings"])


def test_the_mean_convention_charges_half_the_output() -> None:
    grid = grid_of(pool(1, ", resident_context: mean"))
    ds = gridplan.solve(grid, "max_context", concurrency=2, measure="concurrency_memory")
    assert answer(ds) == 4146  # less half of 100 output tokens: 4,096, half of the pool


def test_the_model_and_the_engine_limit_a_context() -> None:
    ds = gridplan.solve(grid_of(pool(100)), "max_context")
    assert (answer(ds), ds.fails_reason.item()) == (131_072, "context_exceeds_model")
    ds = gridplan.solve(grid_of(pool(100, ", max_model_len: 5000")), "max_context")
    assert (answer(ds), ds.fails_reason.item()) == (5000, "context_exceeds_max_model_len")
    assert answer(gridplan.solve(grid_of(pool(100, ", max_model_len: 5000")), "max_context", context="max_model_len"))


def test_a_sequence_that_never_grows_has_no_longest() -> None:
    state = """catalog: {models: {ours: {params_total: 1e9, num_layers: 4, hidden_size: 64, attention_heads: 4,
      kv_heads: 4, head_dim: 16, vocab_size: 1000, layer_groups: [
        {kind: state, layers: 4, recurrent_elements: 1024, conv_elements: 8, recurrent_bits: 32}]}}}"""
    ds = gridplan.solve(grid_of("model: ours, kv_pool_bytes_given: 1 GiB", state), "max_context", concurrency=2)
    assert answer(ds) is None
    assert ds.no_answer_reason == "unlimited"
    assert ds.fails_reason.item() is None
    assert np.isnan(ds.fails_at_tokens)


# -------------------------------------------------------------------------------------------------- infeasible


@pytest.mark.parametrize(
    ("deployment", "concurrency", "reason"),
    [
        ("model: llama-3.3-70b, gpu: l4, engine: vllm@0.25", 1, "weights_exceed_memory"),
        ("model: llama-3.1-8b, kv_pool_bytes_given: 2 MiB, kv_block_tokens: 16", 2, "concurrency_exceeds_pool"),
        ("model: llama-3.1-8b, kv_pool_bytes_given: 1.5 MiB, kv_block_tokens: 16", 1, "sequence_exceeds_pool"),
        (pool(1, ", max_model_len: 8193"), 1, "sequence_exceeds_pool"),  # the engine does not start
        (pool(900, ", max_model_len: 200000"), 1, "context_exceeds_model"),
        ("model: llama-3.1-8b, gpu: b200, engine: vllm@0.25, tensor_parallel: 3", 1, "tensor_parallel_illegal"),
        ("model: llama-3.1-8b, gpu: t4, engine: vllm@0.25, weight_dtype: bf16", 1, "dtype_unsupported_by_gpu"),
    ],
)
def test_infeasible_everywhere_has_a_reason(deployment: str, concurrency: int, reason: str) -> None:
    ds = gridplan.solve(grid_of(deployment), "max_context", concurrency=concurrency)
    assert answer(ds) is None
    assert ds.no_answer_reason == reason
    assert (ds.fails_at_tokens, ds.fails_reason) == (1, reason)
    most = gridplan.solve(grid_of(deployment), "max_concurrency", tokens=16)
    assert (answer(most) is None) == (reason != "concurrency_exceeds_pool")


def test_a_pool_of_one_block_holds_one_short_sequence() -> None:
    ds = gridplan.solve(grid_of("model: llama-3.1-8b, kv_pool_bytes_given: 2 MiB, kv_block_tokens: 16"), "max_context")
    assert (answer(ds), ds.fails_at_tokens.item(), ds.concurrency_at_failure.item()) == (16, 17, 0)


# ----------------------------------------------------------------------------------- an engine started for a length


OLD = "model: llama-3.1-8b, gpu: rtx-3090, engine: vllm@0.6, gpu_memory_utilization: 0.9"


def test_a12_a13_a14_the_longest_length_lies_beyond_a_gap() -> None:
    """vllm-project/vllm#10517: 20k starts, 29k does not, 35k does."""
    ds = gridplan.solve(grid_of(OLD), "max_context", context="max_model_len")
    assert answer(ds) >= 35_000
    assert 20_000 < ds.gap_from_tokens <= 29_000
    assert ds.gap_to_tokens == 32_768
    lengths = [20_000, 29_000, 35_000, *(int(x) for x in (ds.gap_from_tokens - 1, ds.gap_from_tokens, 32_768, 32_769))]
    lengths += [int(answer(ds)), int(answer(ds)) + 1]
    forward = gridplan.evaluate(grid_of(OLD, f"axes: {{max_model_len: {lengths}}}"))
    assert forward.concurrency_memory_worst.values.tolist() == [1, 0, 1, 1, 0, 0, 1, 1, 0]


def test_what_is_stated_of_batched_tokens_closes_the_gap() -> None:
    ds = gridplan.solve(grid_of(f"{OLD}, max_num_batched_tokens: 2048"), "max_context", context="max_model_len")
    assert np.isnan(ds.gap_from_tokens)


@pytest.mark.parametrize(
    "change",
    [
        "{activation_bytes: {multiply: 1.3}}",
        "{activation_bytes: {add: 0.7 GiB}}",
        "{activation_bytes: 1 GiB}",
        "{max_num_batched_tokens: {multiply: 2}}",
        "{max_num_batched_tokens: {add: 777}}",
        "{workspace_bytes: {multiply: 1.1}}",
        "{sliding_policy: engine_admission}",
        "{gpu_memory_utilization: 0.85}",
    ],
)
def test_a_scenario_changes_what_follows_the_length(change: str) -> None:
    scenarios = f"scenarios: {{other: {change}}}\naxes: {{model: [llama-3.1-8b, gemma-3-4b]}}"
    deployment = "gpu: rtx-3090, engine: vllm@0.6"
    ds = gridplan.solve(grid_of(deployment, scenarios), "max_context", concurrency=2, context="max_model_len")
    for scenario in ("nominal", "other"):
        for model in ("llama-3.1-8b", "gemma-3-4b"):
            cell = ds.sel(model=model)
            cell = cell.sel(scenario=scenario) if "scenario" in cell.dims else cell
            longest = int(cell.max_context_tokens)
            lengths = sorted({min(longest, 32_768), longest, longest + 1})
            axis = f"{scenarios.splitlines()[0]}\naxes: {{max_model_len: {lengths}}}"
            worst = gridplan.evaluate(grid_of(f"{deployment}, model: {model}", axis)).concurrency_memory_worst
            holds = (worst.sel(scenario=scenario) if "scenario" in worst.dims else worst) >= 2
            assert holds.sel(max_model_len=longest)
            beyond = bool(holds.sel(max_model_len=longest + 1))
            assert not beyond or cell.fails_reason == "context_exceeds_model"


def test_how_an_input_follows_from_its_default() -> None:
    changes = "{a: {reserve_bytes: {multiply: 3}}, b: {reserve_bytes: {add: 5}}, c: {reserve_bytes: 7}}"
    text = f"{HEAD}workload: {PLAIN}\nscenarios: {changes}\n"
    resolver = Resolver(gridplan.loads_grid(text + "deployment: {gpu: l4, model: llama-3.1-8b}"))
    share, part = resolver.over_default("reserve_bytes")
    assert share.data.ravel().tolist() == [1, 3, 1, 0]
    assert part.data.ravel().tolist() == [0, 0, 5, 7]
    default: Field = resolver.space.constant(11.0, np.float64)
    assert resolver.resolve("reserve_bytes", default).data.ravel().tolist() == [11, 33, 16, 7]
    stated = Resolver(gridplan.loads_grid(text + "deployment: {gpu: l4, model: llama-3.1-8b, reserve_bytes: 2}"))
    share, part = stated.over_default("reserve_bytes")
    assert share.data.ravel().tolist() == [0, 0, 0, 0]
    assert part.data.ravel().tolist() == [2, 6, 7, 7]


# ------------------------------------------------------------------------------------------------ degrees, concurrency


def test_the_smallest_tensor_parallelism_and_the_one_below() -> None:
    grid = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25")
    ds = gridplan.solve(grid, "min_tensor_parallel", concurrency=16, tokens=8192)
    assert (answer(ds), ds.fails_at_tensor_parallel.item()) == (4, 2)  # 3 does not divide 64 heads
    assert ds.concurrency_at_answer >= 16 > ds.concurrency_at_failure
    none = gridplan.solve(grid, "min_tensor_parallel", concurrency=16, tokens=8192, max_tensor_parallel=2)
    assert (answer(none), none.no_answer_reason.item(), none.fails_at_tensor_parallel.item()) == (
        None,
        "concurrency_exceeds_pool",
        2,
    )


def test_candidates_of_the_grid_and_the_fabric_of_an_instance_are_kept() -> None:
    axes = "axes: {tensor_parallel: [3, 8, 2]}"
    grid = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25", axes)
    assert answer(gridplan.solve(grid, "min_tensor_parallel", concurrency=16, tokens=8192)) == 8
    only = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25", "axes: {tensor_parallel: [3, 5]}")
    ds = gridplan.solve(only, "min_tensor_parallel", tokens=8192)
    assert (answer(ds), ds.no_answer_reason.item()) == (None, "tensor_parallel_illegal")
    assert np.isnan(ds.fails_at_tensor_parallel)
    small = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25, scale_up_gpus: 2")
    ds = gridplan.solve(small, "min_tensor_parallel", concurrency=16, tokens=8192)
    assert (answer(ds), ds.fails_at_tensor_parallel.item()) == (None, 2)


def test_the_fewest_gpus_over_all_degrees() -> None:
    axes = "axes: {tensor_parallel: [1, 2, 4], pipeline_parallel: [1, 2], data_parallel: [1, 2]}"
    grid = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25", axes)
    ds = gridplan.solve(grid, "min_gpus", concurrency=16, tokens=8192)
    chosen = [ds[f"chosen_{name}_parallel"].item() for name in ("tensor", "pipeline", "data")]
    assert answer(ds) == np.prod(chosen) == 4
    assert not ds.sizes


def test_the_largest_concurrency_at_a_context_and_the_cap() -> None:
    grid = grid_of(pool(1, ", max_num_seqs: 2"))
    ds = gridplan.solve(grid, "max_concurrency", tokens=2720)
    assert (answer(ds), ds.fails_at_concurrency.item(), ds.fails_reason.item()) == (3, 4, "concurrency_exceeds_pool")
    capped = gridplan.solve(grid, "max_concurrency", tokens=2720, scheduler=True)
    assert (answer(capped), capped.fails_reason.item()) == (2, "scheduler_cap")
    assert answer(gridplan.solve(grid, "max_concurrency")) == 8  # the contract's own 1,000 tokens are 63 blocks
    over = gridplan.solve(grid, "max_context", concurrency=3)
    assert "scheduler's cap of 2" in over.attrs["warnings"]
    ds = gridplan.solve(grid, "max_context", concurrency=3, scheduler=True)
    assert (answer(ds), ds.no_answer_reason.item()) == (None, "scheduler_cap")


# ------------------------------------------------------------------------------------------------------- dimensions


AXES = """
scenarios: {tight: {reserve_bytes: 8 GiB}}
axes: {model: [llama-3.1-8b, llama-3.3-70b], gpu: [h100-sxm, h200-sxm], tensor_parallel: [1, 2, 4],
       rho_target: [0.5, 0.7], context_tokens: [1000, 4000]}
"""


def many() -> Grid:
    text = f"schema: 1\nworkload: {{output_tokens: 100, arrival_rate: 1}}\ndeployment: {{engine: vllm@0.25}}{AXES}"
    return gridplan.loads_grid(text)


def test_r3_answers_stand_on_the_axes_that_change_them() -> None:
    ds = gridplan.solve(many(), "max_context", concurrency=4)
    assert set(ds.sizes) == {"scenario", "model", "gpu", "tensor_parallel"}
    ds = gridplan.solve(many(), "max_context", concurrency=4, context="max_model_len")
    assert set(ds.sizes) == {"scenario", "model", "gpu", "tensor_parallel"}
    ds = gridplan.solve(many(), "min_tensor_parallel", concurrency=4)
    assert set(ds.sizes) == {"scenario", "model", "gpu", "context_tokens"}


def test_folding_takes_the_best_of_what_is_chosen_and_the_worst_of_the_rest() -> None:
    every = gridplan.solve(many(), "max_context", concurrency=64).max_context_tokens
    ds = gridplan.solve(many(), "max_context", concurrency=64, by=["model"])
    assert set(ds.sizes) == {"model"}
    assert (ds.worst_scenario == "tight").all()
    expected = every.min("scenario", skipna=False).max(["gpu", "tensor_parallel"])
    np.testing.assert_array_equal(ds.max_context_tokens, expected)
    at = every.sel(scenario="tight", model="llama-3.3-70b", gpu=ds.best_gpu[1].item())
    assert at.sel(tensor_parallel=ds.best_tensor_parallel[1]) == ds.max_context_tokens[1]


def test_a_fold_without_any_answer_names_the_reason_that_came_furthest() -> None:
    grid = grid_of("model: llama-3.3-70b, gpu: h100-sxm, engine: vllm@0.25", "axes: {tensor_parallel: [1, 3, 2]}")
    ds = gridplan.solve(grid, "max_context", concurrency=10_000, by=[])
    assert (ds.no_answer_reason.item(), ds.best_tensor_parallel.item()) == ("concurrency_exceeds_pool", 2)


@pytest.mark.parametrize("by", [["gpu", "rho_target"], "gpu, rho_target"])
def test_named_axes_stay_though_they_change_nothing(by: Any) -> None:
    ds = gridplan.solve(many(), "max_context", concurrency=4, by=by)
    assert dict(ds.sizes) == {"gpu": 2, "rho_target": 2}
    assert (ds.max_context_tokens.isel(rho_target=0) == ds.max_context_tokens.isel(rho_target=1)).all()


@pytest.mark.parametrize(
    ("deployment", "reason"),
    [
        ("model: llama-3.1-8b, gpu: b200, engine: vllm@0.25, tensor_parallel: 3", "tensor_parallel_illegal"),
        (pool(1, ", max_model_len: 8193"), "sequence_exceeds_pool"),
        (pool(900, ", max_model_len: 200000"), "context_exceeds_model"),
        ("model: llama-3.3-70b, gpu: l4, engine: vllm@0.25", "weights_exceed_memory"),
    ],
)
def test_what_does_not_start_holds_nothing(deployment: str, reason: str) -> None:
    ds = gridplan.solve(grid_of(deployment), "max_context")
    assert (ds.fails_reason.item(), ds.concurrency_at_failure.item()) == (reason, 0)


def test_what_starts_tells_what_it_holds() -> None:
    ds = gridplan.solve(grid_of(pool(1)), "max_context", concurrency=10_000)
    assert (ds.fails_reason.item(), ds.concurrency_at_failure.item()) == ("concurrency_exceeds_pool", 512)
    ds = gridplan.solve(grid_of(pool(100)), "max_context")
    assert (ds.fails_reason.item(), ds.concurrency_at_failure.item()) == ("context_exceeds_model", 6)
    # The length would be too long for the model, but the weights do not fit either.
    unfit = grid_of("model: llama-3.3-70b, gpu: l4, engine: vllm@0.25")
    ds = gridplan.solve(unfit, "min_tensor_parallel", tokens=200_000, context="max_model_len", max_tensor_parallel=1)
    assert (ds.no_answer_reason.item(), ds.concurrency_at_failure.item()) == ("context_exceeds_model", 0)


def test_of_equal_answers_and_of_none_the_label_stands_that_holds_most() -> None:
    axes = "axes: {gpu: [l40s, h100-sxm, b200, h200-sxm]}"
    grid = grid_of("model: llama-3.1-8b, engine: vllm@0.25", axes)
    ds = gridplan.solve(grid, "max_context", by=[])
    assert (ds.max_context_tokens.item(), ds.best_gpu.item()) == (131_072, "b200")
    ds = gridplan.solve(grid, "max_context", concurrency=10**6, by=[])
    assert (ds.no_answer_reason.item(), ds.best_gpu.item()) == ("concurrency_exceeds_pool", "b200")
    every = gridplan.solve(grid, "max_context", concurrency=10**6)
    assert ds.concurrency_at_failure == every.concurrency_at_failure.max()


def test_the_answer_says_which_context_and_cap_it_counts() -> None:
    grid = grid_of(pool(1))
    own = gridplan.solve(grid, "max_concurrency").attrs
    assert (own["tokens"], own["tokens_from"]) == (1000, "contract")
    for measure in ("concurrency_memory_expected", "concurrency_memory"):
        assert gridplan.solve(grid, "max_concurrency", measure=measure).attrs["tokens"] == 1000
    asked = gridplan.solve(grid, "max_concurrency", tokens=50, scheduler=True).attrs
    assert (asked["tokens"], asked["tokens_from"], asked["scheduler"]) == (50, "question", "max_num_seqs")
    assert "scheduler" not in own
    several = gridplan.solve(grid_of(pool(1), "axes: {max_model_len: [2000, 4000]}"), "max_concurrency").attrs
    assert several["tokens_from"] == "contract"
    assert "tokens" not in several
    assert "tokens_from" not in gridplan.solve(grid, "max_context").attrs


def test_a_cap_that_is_not_known_is_said() -> None:
    grid = grid_of("model: llama-3.1-8b, gpu: h100-sxm", "axes: {engine: [vllm@0.25, sglang@0.4]}")
    said = gridplan.solve(grid, "max_context", scheduler=True).attrs["warnings"]
    assert "max_num_seqs of sglang@0.4 is not known: the scheduler limits nothing there" in said


# ----------------------------------------------------------------------------------------------------- wrong questions


CLASSES = (
    "{arrival_rate: 1, classes: [{name: a, weight: 0.5, prompt_tokens: 10, output_tokens: 10}, "
    "{name: b, weight: 0.5, prompt_tokens: 90, output_tokens: 10}]}"
)


@pytest.mark.parametrize(
    ("grid", "asked", "message"),
    [
        (grid_of(pool(1)), {"target": "max_contxt"}, "did you mean max_context"),
        (grid_of(pool(1)), {"target": "max_context", "concurrency": 0}, "concurrency: must be from 1"),
        (grid_of(pool(1)), {"target": "max_context", "tokens": 5}, "tokens: leave it out: max_context solves"),
        (
            grid_of(pool(1)),
            {"target": "max_concurrency", "concurrency": 5},
            "concurrency: leave it out: max_concurrency",
        ),
        (grid_of(pool(1)), {"target": "max_concurrency", "context": "max_model_len"}, "tokens: needed with context"),
        (grid_of(pool(1)), {"target": "max_context", "measure": "concurrency_memory_wrst"}, "did you mean concurr"),
        (grid_of(pool(1)), {"target": "max_context", "by": "gpuu"}, "gpuu is not an axis"),
        (many(), {"target": "min_gpus", "by": "tensor_parallel"}, "tensor_parallel cannot stay: min_gpus chooses"),
        (grid_of(pool(1)), {"target": "min_tensor_parallel"}, "is the pool at one tensor_parallel"),
        (
            grid_of(pool(1)),
            {"target": "max_context", "max_tensor_parallel": 4},
            "max_tensor_parallel: bounds the candidates",
        ),
        (
            grid_of(pool(1), "scenarios: {long: {max_model_len: 9}}"),
            {"target": "max_context", "context": "max_model_len"},
            "scenario long changes max_model_len, which is solved for",
        ),
        (
            grid_of(pool(1), workload=CLASSES),
            {"target": "max_context", "measure": "concurrency_memory"},
            "one context cannot be that of several classes",
        ),
        (
            grid_of(pool(1)),
            {"target": "max_concurrency", "tokens": 100, "measure": "concurrency_memory"},
            "tokens: 100 leaves no prompt",
        ),
        (grid_of("model: llama-3.1-8b"), {"target": "max_context"}, "a KV pool is needed"),
        (grid_of("gpu: l4, model: llama-3.1-8b, engine: tensorrt-llm"), {"target": "max_context"}, "no default for it"),
        (grid_of("kv_pool_bytes_given: 1 GiB"), {"target": "max_context"}, "kv_bytes_per_token_given is needed"),
    ],
)
def test_questions_that_cannot_be_asked(grid: Grid, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(gridplan.ContractError, match=message):
        gridplan.solve(grid, **asked)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(gridplan.ContractError) as caught:
        gridplan.solve(grid_of(pool(1)), "max_contxt", concurrency=0, by="gpuu")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 3


def test_a_contract_cannot_give_an_answer() -> None:
    with pytest.raises(gridplan.ContractError, match="is an answer of `gridplan solve`"):
        grid_of("max_context_tokens: 5, model: llama-3.1-8b")


def test_a_measured_rate_does_not_matter() -> None:
    capacity = "capacity: {capacity_model: measured, lambda_instance_given: 3}\n"
    ds = gridplan.solve(grid_of(pool(1), capacity + "axes: {kv_dtype: [bf16, fp8]}"), "max_context", concurrency=3)
    assert ds.max_context_tokens.values.tolist() == [2720, 5456]


@pytest.mark.parametrize("guess", [np.nan, 0.0, 3.0, 4.0, 99.0, 1e6])
def test_a_wrong_guess_costs_time_only(guess: float) -> None:
    squares = np.array([10.0, 0.0, 1e6, 17.0])
    found = largest_true(lambda x: x * x <= squares, np.ones(4), np.full(4, 100.0), np.full(4, guess))
    assert found.tolist() == [3, 0, 100, 4]


def test_a_hundred_thousand_cells_in_one_call() -> None:
    axes = """axes: {model: [llama-3.1-8b, gemma-3-27b], gpu: [h100-sxm, b200],
      gpu_memory_utilization: {linspace: [0.5, 0.97, 160]}, reserve_bytes: {linspace: [0, 8e9, 160]}}"""
    ds = gridplan.solve(grid_of("engine: vllm@0.25, tensor_parallel: 2", axes), "max_context", concurrency=16)
    assert ds.max_context_tokens.size == 102_400
    held = ds.max_context_tokens.fillna(0)
    assert (held.diff("reserve_bytes") <= 0).all()
    assert (held.diff("gpu_memory_utilization") >= 0).all()
