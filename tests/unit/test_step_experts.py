"""Plans of mixtures of experts: the weight read follows the batch, in every limit that a plan names."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import gridplan
from gridplan import chain
from gridplan.catalog import load_catalog
from gridplan.engine.inputs import build_inputs
from gridplan.engine.prefill_fields import attention_of
from gridplan.formulas import batch_at_rate, batch_at_step_time, step_weights_at_batch_s

times = st.floats(1e-5, 0.1)
counts = st.tuples(st.integers(1, 16), st.integers(1, 64)).map(lambda pair: (pair[0] * pair[1], pair[0]))


@given(times, times, counts, st.floats(1e-7, 1e-3), st.floats(1e-4, 1.0))
def test_a_step_at_its_batch_takes_its_time(
    fixed: float, experts: float, of: tuple[int, int], each: float, limit: float
) -> None:
    batch = batch_at_step_time(limit, fixed, experts, *of, each)
    if limit <= fixed:
        assert batch == 0.0
        return
    took = step_weights_at_batch_s(fixed, experts, *of, batch) + batch * each
    if of[0] == of[1] and limit < fixed + experts:
        assert batch <= 1e-6  # every token takes every expert: the first sequence reads them all
        return
    assert took == pytest.approx(limit, rel=1e-9)


@given(times, times, counts, st.floats(0.1, 1e4), st.floats(0.0, 0.99))
def test_a_settled_batch_makes_itself(
    fixed: float, experts: float, of: tuple[int, int], rate: float, busy: float
) -> None:
    batch = batch_at_rate(rate, busy, fixed, experts, *of)
    made = rate / (1.0 - busy) * step_weights_at_batch_s(fixed, experts, *of, batch)
    assert batch == pytest.approx(made, rel=1e-6)


def test_batches_without_a_limit_or_without_time_left() -> None:
    assert math.isinf(batch_at_step_time(math.inf, 0.01, 0.02, 64, 2, 1e-4))
    assert math.isnan(batch_at_step_time(math.nan, 0.01, 0.02, 64, 2, 1e-4))
    assert math.isinf(batch_at_rate(10.0, 1.0, 0.01, 0.0, math.nan, math.nan))


def planned(**deployment: Any) -> dict[str, float]:
    """Every number of one plan of DeepSeek-V3 on a node of H200."""
    slo = {name: {"limit": limit, "percentile": "mean"} for name, limit in deployment.pop("slo", {}).items()}
    stated = {"gpu": "h200-sxm", "model": "deepseek-v3", "tensor_parallel": 8, "workspace_bytes": "8 GiB"}
    load = {"prompt_tokens": 1500, "output_tokens": 300, "arrival_rate": deployment.pop("arrival_rate", 1)}
    text = {
        **{"schema": 1, "workload": load, "slo": slo, "deployment": {**stated, "engine": "vllm", **deployment}},
        **{"policy": {"rho_target": 0.7, "redundancy": 0}, "capacity": {"latency_model": "mean_step"}},
    }
    inputs = build_inputs(gridplan.loads_grid(json.dumps(text)))
    found = chain.evaluate(inputs.steps, {name: item.data for name, item in inputs.values.items()})
    numbers = {name: np.asarray(array) for name, array in found.items()}
    return {
        name: float(array.ravel()[0]) for name, array in numbers.items() if array.size == 1 and array.dtype == float
    }


def t_w(plan: dict[str, float], batch: float) -> float:
    """The weight read at a batch, by hand: 8 of 256 experts a token."""
    return plan["step_fixed_s"] + plan["step_experts_s"] * (1 - (31 / 32) ** max(batch, 1.0))


def test_a_step_reads_what_is_not_routed_and_the_experts_it_touches() -> None:
    plan, model = planned(mbu=0.6), load_catalog().model("deepseek-v3")
    experts = model.params_routed_experts
    assert plan["step_experts_s"] == pytest.approx(experts / (8 * 4.8e12 * 0.6), rel=1e-3)
    # all but experts and input embedding: FP8 linear layers, lm_head and routers in 16 bits
    rest = model.params_total - experts - 2 * model.params_embedding
    assert plan["step_fixed_s"] == pytest.approx((rest + 2 * model.params_embedding) / (8 * 4.8e12 * 0.6), rel=0.02)
    assert plan["step_weights_least_s"] == pytest.approx(t_w(plan, 1), rel=1e-12)
    assert plan["step_weights_read_s"] == pytest.approx(t_w(plan, plan["concurrency"]), rel=1e-12)


def test_the_rate_at_the_tpot_limit_holds_the_batch_it_reads_for() -> None:
    plan = planned(slo={"tpot": "40 ms"})
    rate, work, output = plan["lambda_analytical"], plan["request_work_s"], 300.0
    # By the law of a loaded replica: t_w(n) / (1 - x d) = TPOT with n = x O TPOT.
    by_hand = brentq(lambda x: t_w(plan, x * output * 0.04) / (1 - x * work) - 0.04, 1e-6, (1 - 1e-9) / work)
    assert rate == pytest.approx(by_hand, rel=1e-9)
    assert rate > (1 - (plan["step_fixed_s"] + plan["step_experts_s"]) / 0.04) / work  # less than all experts


def test_the_rate_at_the_e2e_limit_holds_the_batch_it_reads_for() -> None:
    plan = planned(slo={"e2e": "9 s"}, max_num_seqs=4096)
    rate, work, output = plan["lambda_analytical"], plan["request_work_s"], 300.0

    def latency(x: float) -> float:
        step = brentq(lambda t: t - t_w(plan, x * output * t) / (1 - x * work), 1e-6, 10.0)
        return plan["prefill_latency_s"] + output * step

    assert latency(rate) == pytest.approx(9.0, rel=1e-9)


def test_the_rate_at_a_cap_reads_for_the_cap() -> None:
    plan = planned(max_num_seqs=16)
    by_hand = 1 / (300 * t_w(plan, 16) / 16 + plan["request_work_s"])
    assert plan["lambda_analytical"] == pytest.approx(by_hand, rel=1e-12)


def test_the_planned_step_settles_at_its_batch() -> None:
    plan = planned(slo={"tpot": "40 ms"}, arrival_rate=1)
    tpot, busy = plan["tpot_s"], plan["busy"]
    assert plan["batch_mean"] == pytest.approx(plan["planned_rate_per_replica"] * 300 * tpot, rel=1e-12)
    assert tpot == pytest.approx(t_w(plan, plan["batch_mean"]) / (1 - busy), rel=1e-6)


def test_bytes_of_a_step_leave_out_the_experts_that_nobody_chose() -> None:
    plan = planned(decode_batch=4)
    cache = 4 * plan["decode_context_quoted"] * plan["kv_read_bytes_per_token"]
    moved = plan["weights_read_bytes"] - plan["experts_read_bytes"] * (31 / 32) ** 4
    assert plan["decode_bytes"] == pytest.approx(moved + cache, rel=1e-12)


def test_gates_ask_for_the_least_step() -> None:
    """A limit between one sequence's step and that of all experts can be met at a small batch."""
    plan = planned()
    least, most = plan["step_weights_least_s"], plan["step_fixed_s"] + plan["step_experts_s"]
    assert planned(slo={"tpot": (least + most) / 2})["lambda_instance"] > 0
    assert math.isnan(planned(slo={"tpot": least * 0.99})["lambda_instance"])


def test_a_short_prompt_waits_for_the_experts_it_touches() -> None:
    plan = planned(mfu=0.4)
    alone, beside = plan["prefill_latency_s"], plan["prefill_work_s"]
    assert alone >= plan["step_experts_s"] * (1 - (31 / 32) ** 1500) * (1 - 1e-12)
    assert beside <= alone


def test_attention_ranks_share_the_experts() -> None:
    one, eight = planned(mbu=0.6), planned(mbu=0.6, tensor_parallel=1, data_parallel=8, expert_parallel=8)
    assert eight["step_experts_s"] == pytest.approx(one["step_experts_s"], rel=1e-12)
    assert eight["step_fixed_s"] == pytest.approx(8 * one["step_fixed_s"], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "full", "windowed", "window"),
    [
        ("llama-3.1-8b", 2 * 32 * 32 * 256, 0, 1),
        ("deepseek-v3", 2 * 61 * 128 * 320, 0, 1),
        ("deepseek-v3.2", 2 * 61 * 64 * 128, 2 * 61 * 128 * 320, 2048),
        ("gpt-oss-120b", 2 * 18 * 64 * 128, 2 * 18 * 64 * 128, 128),
        ("qwen3.5-397b-a17b", 2 * 15 * 32 * 512, 0, 1),
    ],
)
def test_attention_of_a_pair_follows_the_layers(name: str, full: float, windowed: float, window: float) -> None:
    """All query heads, keys and values: 2 L heads (d_qk + d_v); states have no pairs, an indexer scores them all."""
    assert attention_of(load_catalog().model(name)) == (full, windowed, window)
