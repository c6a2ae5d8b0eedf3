"""What one replica sustains, by hand: limits, ties, Little's law with a given, an SLO's and a predicted latency.

The machine: a decode step reads weights in 10 ms and 0.1 us per resident token, prefill takes 10 us a token. A request
of 1,000 + 100 tokens is read at 1,050 tokens on average and costs d = 1000 x 10 us + 100 x 1050 x 0.1 us = 20.5 ms of
a replica. The pool holds 110,000 tokens: 100 sequences of 1,100.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import gridplan

D = 0.0205
MACHINE: dict[str, Any] = {
    "workload": {"prompt_tokens": 1000, "output_tokens": 100, "arrival_rate": 100},
    "slo": {"tpot": {"limit": 0.05, "percentile": "mean"}},
    "deployment": {
        **{"step_weights_s": 0.01, "step_per_context_token_s": 1e-7, "prefill_per_token_s": 1e-5},
        **{"kv_pool_tokens_given": 110_000},
    },
    "policy": {"rho_target": 0.5, "redundancy": 0},
}
SLOTS: dict[str, Any] = {
    "workload": {"arrival_rate": 500},
    "deployment": {
        **{"kv_pool_bytes_given": "50 GB", "kv_bytes_per_sequence_given": "500 MB", "weight_dtype": "bf16"},
        **{"machine_intensity": 300, "compute_ceiling_model": "weights_only"},
    },
    "capacity": {"capacity_model": "littles_law", "e2e_latency_s": 4.0},
    "policy": {"rho_target": 0.7, "redundancy": 0},
}


def plan(base: dict[str, Any], **more: Any) -> xr.Dataset:
    """The cube of `base` with inputs added to its sections; a value of None takes an input out."""
    text: dict[str, Any] = {"schema": 1, **{name: dict(section) for name, section in base.items()}}
    for name, section in more.items():
        merged = {**text.get(name, {}), **section}
        text[name] = {key: value for key, value in merged.items() if value is not None}
    return gridplan.evaluate(gridplan.loads_grid(json.dumps(text)))


def mean(limit: float) -> dict[str, Any]:
    return {"limit": limit, "percentile": "mean"}


def capped(sequences: float) -> float:
    """Rate of a replica that holds so many sequences: L / (O t_w + L d)."""
    return sequences / (100 * 0.01 + sequences * D)


@pytest.mark.parametrize(
    ("more", "rate", "binds", "after", "margin"),
    [
        ({}, capped(100), "memory", "tpot", (0.8 / D) / capped(100) - 1),
        ({"deployment": {"kv_pool_tokens_given": 1e9}}, 0.8 / D, "tpot", "memory", capped(909_090) * D / 0.8 - 1),
        ({"deployment": {"max_num_seqs": 50}}, capped(50), "scheduler", "memory", capped(100) / capped(50) - 1),
        ({"slo": {"e2e": mean(2.0)}}, (1 - 1 / 1.99) / D, "e2e", "memory", capped(100) * D / (1 - 1 / 1.99) - 1),
        ({"slo": {"tpot": None}}, capped(100), "memory", None, None),
    ],
    ids=["memory", "tpot", "scheduler", "e2e", "memory alone"],
)
def test_replica_seconds_takes_the_lowest_limit(
    more: dict[str, Any], rate: float, binds: str, after: str | None, margin: float | None
) -> None:
    """ "Inference system design chains": share over d, and L / (O t_w + L d) for every cap."""
    cube = plan(MACHINE, **more)
    assert cube["request_work_s"] == pytest.approx(D, rel=1e-13)
    assert cube["lambda_instance"] == cube["lambda_analytical"] == pytest.approx(rate, rel=1e-12)
    assert cube["binding_constraint"] == cube["binding_ties"] == binds
    assert cube["binding_next"].item() == after
    if margin is None:
        assert math.isnan(cube["margin_to_next"])
    else:
        assert cube["margin_to_next"] == pytest.approx(margin, rel=1e-9)
    assert cube["lambda_basis"] == "mean_tpot"
    assert cube["capacity_source"] == "analytical"


def test_the_rates_in_figures() -> None:
    """The same by calculator: 100 / 3.05, 0.8 / 0.0205, 50 / 2.025."""
    assert plan(MACHINE)["lambda_instance"] == pytest.approx(32.786885245901644)
    assert plan(MACHINE)["tpot_share"] == pytest.approx(0.8)
    assert plan(MACHINE)["concurrency_slo"] == 380  # 40 ms over 105 us is 380.95
    assert plan(MACHINE)["replicas_active"] == 7  # 100 / 16.39 = 6.1
    assert plan(MACHINE, deployment={"max_num_seqs": 50})["lambda_instance"] == pytest.approx(24.691358024691358)


def test_two_caps_that_tie_are_both_named() -> None:
    cube = plan(MACHINE, deployment={"max_num_seqs": 100})
    assert cube["binding_constraint"] == "memory"
    assert cube["binding_ties"] == "memory+scheduler"
    assert cube["binding_next"] == "tpot"
    assert cube["margin_to_next"] == pytest.approx((0.8 / D) / capped(100) - 1)


@pytest.mark.parametrize(
    ("intensity", "binds", "ties", "after"),
    [
        (100, "balanced", "memory+compute", None),
        (100 * (1 + 5e-10), "balanced", "memory+compute", None),
        (100 * (1 + 1e-5), "memory", "memory", "compute"),
        (99.5, "compute", "compute", "memory"),
    ],
)
def test_memory_and_compute_within_1e9_are_balanced(intensity: float, binds: str, ties: str, after: str | None) -> None:
    """ "Sizing a Serving Cluster End to End", which constraint binds: 100 sequences against I b / 2 = I at BF16."""
    cube = plan(SLOTS, deployment={"machine_intensity": intensity})
    assert (cube["binding_constraint"].item(), cube["binding_ties"].item()) == (binds, ties)
    assert cube["binding_next"].item() == after
    assert cube["concurrency"] == (99 if intensity < 100 else 100)
    assert cube["concurrency_compute"] == pytest.approx(intensity)


def test_a_margin_is_the_rise_when_the_limit_is_lifted() -> None:
    """Compute allows 99.5, so 99 run; without that limit 100 would: 1 / 99 more, not 0.5 / 99.5."""
    cube = plan(SLOTS, deployment={"machine_intensity": 99.5})
    assert cube["lambda_instance"] == 99 / 4
    assert cube["margin_to_next"] == pytest.approx(100 / 99 - 1)


def test_a_compute_knee_under_replica_seconds() -> None:
    """With weights_only and I = 60 the knee is at 60 sequences: 60 / (1 + 60 d)."""
    deployment = {"machine_intensity": 60, "compute_ceiling_model": "weights_only", "weight_dtype": "bf16"}
    cube = plan(MACHINE, deployment=deployment)
    assert cube["concurrency_compute"] == 60
    assert cube["lambda_instance"] == pytest.approx(capped(60))
    assert (cube["binding_constraint"], cube["binding_next"]) == ("compute", "memory")


def test_littles_law_with_a_given_latency() -> None:
    """ "Sizing a Serving Cluster End to End": eta 0.9 of 40 GB holds 72, 72 / 4 s is 18, and 500 / 12.6 is 40."""
    deployment = {"kv_pool_bytes_given": "40 GB", "kv_efficiency": 0.9}
    cube = plan(SLOTS, deployment=deployment)
    assert (cube["concurrency_memory"], cube["concurrency"], cube["lambda_instance"]) == (72, 72, 18)
    assert (cube["replicas_active"], cube["in_flight"]) == (40, 2000)
    assert cube["lambda_basis"] == "slots"
    assert cube["slo_basis"].item() is None
    assert math.isnan(cube["slo_held_after_loss"])
    assert cube["headroom_kept_after_loss"] == 1


def test_littles_law_with_the_latency_of_the_slo() -> None:
    """e2e_latency_basis slo takes the E2E limit as W; the same 18 req/s, and it is not the default."""
    deployment = {"kv_pool_bytes_given": "40 GB", "kv_efficiency": 0.9}
    basis = {"e2e_latency_s": None, "e2e_latency_basis": "slo"}
    cube = plan(SLOTS, deployment=deployment, capacity=basis, slo={"e2e": mean(4.0)})
    assert (cube["lambda_instance"], cube["e2e_latency_used_s"]) == (18, 4)
    with pytest.raises(gridplan.ContractError, match="e2e_latency_s is needed"):
        plan(SLOTS, capacity={"e2e_latency_s": None}, slo={"e2e": mean(4.0)})
    with pytest.raises(gridplan.ContractError, match="e2e_latency_s is needed"):
        plan(SLOTS, capacity=basis)


def test_littles_law_predicts_its_latency_at_the_cap() -> None:
    """W = O t_w + L d = 1 + 100 x 0.0205 = 3.05 s, so 100 / 3.05 a second: what replica_seconds says of that cap."""
    cube = plan(MACHINE, capacity={"capacity_model": "littles_law"})
    assert cube["concurrency"] == 100
    assert cube["e2e_latency_used_s"] == pytest.approx(3.05)
    assert cube["lambda_instance"] == pytest.approx(100 / 3.05)
    assert cube["in_flight"] == pytest.approx(305)
    assert cube["lambda_basis"] == "slots"
    assert cube["binding_constraint"] == "memory"


def test_littles_law_refuses_a_latency_beyond_the_limit() -> None:
    assert plan(SLOTS, slo={"e2e": mean(3.9)})["infeasible_reason"] == "e2e_unreachable"
    assert plan(SLOTS, slo={"e2e": mean(4.0)})["status"] == "ok"


def test_a_measured_decode_rate_is_shared_by_the_batch() -> None:
    """ "Capacity Planning", the opening: 1,000 tok/s a GPU at 500 tokens in 2 s is 4 sequences and 2 req/s."""
    deployment = {"kv_pool_tokens_given": 1e6}
    capacity = {
        **{"capacity_model": "littles_law", "e2e_latency_s": 2.0},
        **{"decode_tokens_per_s": 1000, "decode_tokens_at_concurrency": 4},
    }
    workload = {"prompt_tokens": 500, "output_tokens": 500, "arrival_rate": 50}
    base = {name: MACHINE[name] for name in ("policy",)}
    cube = plan(base, workload=workload, deployment=deployment, capacity=capacity, slo={"e2e": mean(2.0)})
    assert (cube["concurrency_slo"], cube["concurrency"], cube["lambda_instance"]) == (4, 4, 2)
    assert cube["lambda_basis"] == "throughput_measured"
    assert cube["binding_constraint"] == "e2e"
    assert (cube["in_flight"], cube["replicas_active"]) == (100, 50)


@pytest.mark.parametrize(
    ("slo", "reason"),
    [
        ({"tpot": mean(0.01)}, "tpot_unreachable"),  # the weight read alone
        ({"tpot": mean(0.0101)}, "tpot_unreachable"),  # one sequence needs 10.105 ms
        ({"tpot": mean(0.0102)}, None),
        ({"ttft": mean(0.0099)}, "ttft_unreachable"),  # the prompt takes 10 ms
        ({"ttft": mean(0.0101)}, None),
        ({"e2e": mean(1.0)}, "e2e_unreachable"),  # 10 ms and 100 steps of 10 ms
        ({"e2e": mean(1.02)}, None),
        ({"tpot": mean(0.01), "ttft": mean(0.001), "e2e": mean(0.1)}, "tpot_unreachable"),  # the first that applies
    ],
)
@pytest.mark.parametrize("model", ["replica_seconds", "littles_law"])
def test_gates_of_the_latency_limits(model: str, slo: dict[str, Any], reason: str | None) -> None:
    """Even a lone request breaks the limit: t_w against TPOT, p P against TTFT, p P + O t_w against E2E."""
    cube = plan(MACHINE, slo=slo, capacity={"capacity_model": model})
    assert cube["infeasible_reason"].item() == reason
    assert cube["status"] == ("ok" if reason is None else "infeasible")
    assert (cube["lambda_instance"] > 0) == (reason is None)


@pytest.mark.parametrize("limit", [1.01, 1.0099999999999998, 1.0100000000000002])
def test_a_limit_met_by_an_idle_replica_alone_has_a_reason(limit: float) -> None:
    """At E2E = p P + O t_w no load at all is left: infeasible, and the cell says why."""
    text = {"schema": 1, **MACHINE, "slo": {**MACHINE.get("slo", {}), "e2e": mean(limit)}}
    # A rate just above 0 needs more replicas than float64 counts.
    cube = gridplan.evaluate(gridplan.loads_grid(json.dumps(text)), ["status", "infeasible_reason"])
    assert (cube["status"] == "ok") == (cube["infeasible_reason"].item() is None)


@pytest.mark.parametrize(("tokens", "reason"), [(1099, "sequence_exceeds_pool"), (1100, None), (2199, None)])
def test_a_pool_holds_at_least_one_whole_request(tokens: int, reason: str | None) -> None:
    cube = plan(MACHINE, deployment={"kv_pool_tokens_given": tokens})
    assert cube["infeasible_reason"].item() == reason
    assert cube["concurrency_memory"] == cube["concurrency_memory_worst"] == tokens // 1100


def test_the_longest_request_decides_whether_a_pool_is_large_enough() -> None:
    """100 requests of 1,100 tokens fit on average, the one of 120,000 never."""
    rows = [
        {"name": "short", "weight": 0.999, "prompt_tokens": 1000, "output_tokens": 100},
        {"name": "long", "weight": 0.001, "prompt_tokens": 119_900, "output_tokens": 100},
    ]
    cube = plan(MACHINE, workload={"prompt_tokens": None, "output_tokens": None, "classes": rows})
    assert cube["concurrency_memory"] == 90  # 110,000 / 1,218.9
    assert cube["concurrency_memory_worst"] == 0
    assert cube["infeasible_reason"] == "sequence_exceeds_pool"


def test_the_quoted_step_keeps_the_limit_that_set_the_batch() -> None:
    """A step of B sequences takes t_w + B (k c + t_seq); the batch of a TPOT limit must count t_seq too."""
    deployment = {"kv_pool_tokens_given": 1e9, "step_per_sequence_s": 5e-5}
    cube = plan(MACHINE, deployment=deployment)
    assert cube["decode_step_s"] <= 0.05
    assert cube["concurrency_slo"] == 258  # 40 ms over 155 us is 258.06


def test_capacity_models_side_by_side_as_an_axis() -> None:
    models = ["littles_law", "replica_seconds", "measured"]
    capacity = {"e2e_latency_s": 5.0, "lambda_instance_given": 30.0, "applies_to": "any"}
    cube = plan(MACHINE, capacity=capacity, axes={"capacity_model": models})
    assert cube["lambda_instance"].values.tolist() == [pytest.approx(20), pytest.approx(capped(100)), 30]
    assert cube["lambda_basis"].values.tolist() == ["slots", "mean_tpot", "percentile_measured"]
    assert cube["binding_constraint"].values.tolist() == ["memory", "memory", "measured"]
    assert cube["slo_basis"].values.tolist() == ["mean", "mean", "percentile"]


def test_prefix_hits_save_prefill_and_not_memory() -> None:
    """Half of the prompt hits: d = 5 ms + 10.5 ms; the pool still holds 100 whole sequences."""
    cube = plan(MACHINE, workload={"prefix_hit_ratio": 0.5})
    assert cube["request_work_s"] == pytest.approx(0.0155)
    assert cube["concurrency_memory"] == 100
    assert cube["lambda_instance"] == pytest.approx(100 / 2.55)


def test_ranks_of_data_parallel_attention_add_their_slots() -> None:
    """Two ranks: twice the scheduler's cap, and one prompt still runs on one rank."""
    deployment = {"data_parallel": 2, "max_num_seqs": 20, "prefill_per_token_s": 1e-5}
    cube = plan(MACHINE, deployment=deployment)
    assert cube["concurrency"] == 40
    assert cube["gpus_per_replica"] == 2
    assert cube["prefill_longest_s"] == pytest.approx(0.02)


def test_a_sweep_above_first_principles_leaves_no_infinite_time(tmp_path: Path) -> None:
    """Measured 60 req/s, where 1 / d is 48.8: a model that is busy 123% has no mean step."""
    capacity = {"capacity_model": "measured", "lambda_instance_given": 60.0}
    cube = plan(MACHINE, capacity=capacity, policy={"rho_target": 1.0}, workload={"arrival_rate": 600})
    assert (cube["status"], cube["replicas_active"], cube["lambda_instance"]) == ("ok", 10, 60)
    assert cube["busy"] == pytest.approx(60 * D)
    for name in ("tpot_s", "batch_mean", "in_flight", "e2e_latency_used_s"):
        assert math.isnan(cube[name]), name
    finite_in_a_run(MACHINE, tmp_path, capacity=capacity, policy={"rho_target": 1.0}, workload={"arrival_rate": 600})


def test_a_short_latency_in_littles_law_leaves_no_infinite_time(tmp_path: Path) -> None:
    """100 slots at W = 1 s are 100 req/s, twice what the machine model carries."""
    capacity = {"capacity_model": "littles_law", "e2e_latency_s": 1.0}
    more: dict[str, Any] = {"capacity": capacity, "policy": {"rho_target": 1.0}}
    cube = plan(MACHINE, **more)
    assert (cube["lambda_instance"], cube["in_flight"]) == (100, 100)
    assert math.isnan(cube["tpot_s"])
    finite_in_a_run(MACHINE, tmp_path, **more)


def test_a_measured_rate_beside_an_unreachable_limit_has_no_decode_price(tmp_path: Path) -> None:
    """The sweep met 5 ms, the model cannot: it has no batch to quote, so no price of one, and never an infinite one."""
    more: dict[str, Any] = {
        "capacity": {"capacity_model": "measured", "lambda_instance_given": 20.0},
        "slo": {"tpot": mean(0.005)},
        "deployment": {"usd_per_gpu_hour": 2.5},
    }
    cube = plan(MACHINE, **more)
    assert cube["status"] == "ok"
    assert not math.isinf(cube["usd_per_mtok_decode_full"])
    finite_in_a_run(MACHINE, tmp_path, **more)


def finite_in_a_run(base: dict[str, Any], tmp_path: Path, **more: Any) -> None:
    """The same grid can be written: a store refuses infinities."""
    text: dict[str, Any] = {"schema": 1, **{name: {**base.get(name, {}), **more.get(name, {})} for name in base}}
    text |= {name: section for name, section in more.items() if name not in base}
    gridplan.run(gridplan.loads_grid(json.dumps(text)), tmp_path / "out")


def test_slots_of_a_measured_rate_with_an_unknown_latency_have_a_reason() -> None:
    """MI210: no FLOP/s in the catalog, so W cannot be predicted, whatever the measured decode rate."""
    deployment = {"gpu": "mi210", "model": "qwen3-14b", "weight_dtype": "int8", "workspace_bytes": "1 GB"}
    capacity = {"capacity_model": "littles_law", "decode_tokens_per_s": 555, "decode_tokens_at_concurrency": 8}
    base = {name: MACHINE[name] for name in ("workload", "slo", "policy")}
    cube = plan(base, deployment=deployment, capacity=capacity)
    assert cube["status"] == "infeasible"
    assert cube["infeasible_reason"] == "catalog_value_missing"
