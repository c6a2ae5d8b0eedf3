"""Laws that a whole plan obeys, asked through `gridplan.evaluate`: order, money, additivity, fixed latency.

Which law of latency a grid uses does not matter to them: they concern replicas and what replicas cost.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.formulas import operating_point, rate_littles_law, replicas_active, replicas_needed

GRID = """
schema: 1
workload: {{{workload}}}
slo: {{{slo}}}
deployment: {{gpu: h100-sxm, workspace_bytes: 4 GiB, gpu_memory_utilization: 0.9, {deployment}}}
capacity: {{{capacity}}}
policy: {{redundancy: 0, {policy}}}
axes: {{{axes}}}
"""

MODELS = "[llama-3.1-8b, qwen3-14b, qwen3-32b]"

STATED = {
    "workload": {"prompt_tokens": "1000", "output_tokens": "300", "arrival_rate": "900"},
    "slo": {"tpot": "{limit: 60 ms}", "ttft": "{limit: 10 s}", "e2e": "{limit: 60 s}"},
    "deployment": {"model": "llama-3.1-8b", "max_num_seqs": "64"},
    "capacity": {"capacity_model": "replica_seconds"},
    "policy": {"rho_target": "0.7"},
}


def evaluated(axes: str, **changes: dict[str, str | None]) -> xr.Dataset:
    """The cube of the grid above; a change to None leaves an input out."""
    sections = {name: {**stated, **changes.get(name, {})} for name, stated in STATED.items()}
    text = {
        name: ", ".join(f"{key}: {value}" for key, value in stated.items() if value is not None)
        for name, stated in sections.items()
    }
    return gridplan.evaluate(gridplan.loads_grid(GRID.format(axes=axes, **text)))


# --------------------------------------------------------------------------------------------------- more and less

BOTH = f"model: {MODELS}, capacity_model: [replica_seconds, littles_law], "


def falls(ds: xr.Dataset, axis: str) -> np.ndarray:
    """By how much `replicas` falls from label to label; no plan counts as 1e9 replicas."""
    counts = ds.replicas.fillna(1e9).transpose(..., axis).values
    return -np.diff(counts, axis=-1)


@pytest.mark.parametrize(
    ("axis", "labels", "section", "instead_of"),
    [
        ("kv_pool_tokens_given", "[2000, 5000, 8000, 16000, 32000, 64000]", "", ""),
        ("gpu_memory_bytes", "{linspace: [40e9, 200e9, 41]}", "", ""),
        ("memory_bandwidth_bytes_per_s", "{geomspace: [8e11, 8e12, 41]}", "", ""),
        ("peak_flops", "{geomspace: [5e13, 4e15, 41]}", "", ""),
        ("tpot_slo_s", "{geomspace: [0.002, 0.5, 41]}", "slo", "tpot"),
        ("ttft_slo_s", "{geomspace: [0.005, 5, 41]}", "slo", "ttft"),
        ("e2e_slo_s", "{geomspace: [1, 100, 41]}", "slo", "e2e"),
        ("rho_target", "{linspace: [0.05, 1, 41]}", "policy", "rho_target"),
    ],
)
def test_more_never_needs_more_replicas(axis: str, labels: str, section: str, instead_of: str) -> None:
    changes: dict[str, dict[str, str | None]] = {"deployment": {"model": None}, "capacity": {"capacity_model": None}}
    if section:
        changes[section] = {instead_of: None}
    ds = evaluated(BOTH + f"{axis}: {labels}", **changes)
    steps = falls(ds, axis)
    assert (steps >= 0).all()
    assert (steps > 0).any()


def test_more_load_never_needs_fewer_replicas() -> None:
    changes = {"deployment": {"model": None}, "capacity": {"capacity_model": None}, "workload": {"arrival_rate": None}}
    ds = evaluated(BOTH + "arrival_rate: {geomspace: [0.01, 10000, 121]}", **changes)
    steps = falls(ds, "arrival_rate")
    assert (steps <= 0).all()
    assert (steps < 0).any(axis=-1).all()


def test_two_fleets_need_as_many_replicas_as_one_or_one_more() -> None:
    """R(a) + R(b) - 1 <= R(a + b) <= R(a) + R(b) for every pair of loads of a grid of 60 with even steps."""
    changes = {"deployment": {"model": None}, "capacity": {"capacity_model": None}, "workload": {"arrival_rate": None}}
    ds = evaluated(BOTH + "arrival_rate: {linspace: [7, 420, 60]}", **changes)
    active = ds.replicas_active.transpose(..., "arrival_rate").values.reshape(-1, 60)
    assert np.isfinite(active).all()
    saved = set()
    for a in range(30):
        for b in range(30):
            # Labels are 7 (i + 1), so the loads of places a and b add up to that of a + b + 1.
            saved |= set((active[:, a] + active[:, b] - active[:, a + b + 1]).tolist())
    assert saved == {0.0, 1.0}


# ----------------------------------------------------------------------------------------------------- sums and shares

BY_TPOT: dict[str, dict[str, str | None]] = {
    "slo": {"tpot": "{limit: 25 ms}", "ttft": None, "e2e": None},
    "deployment": {"model": None, "max_num_seqs": "4096", "tensor_parallel": "4"},
}
"""Replicas with so much room that nothing but the limit on TPOT binds."""

CLASSES = {"chat": (0.5, 300, 200), "code": (0.3, 2000, 100), "reports": (0.2, 6000, 1500)}


def test_demand_of_a_mix_is_that_of_its_classes() -> None:
    """Each class alone at its part of the rate asks for its part of prefill, decode and replicas."""
    listed = ", ".join(
        f"{{name: {name}, weight: {w}, prompt_tokens: {p}, output_tokens: {o}}}" for name, (w, p, o) in CLASSES.items()
    )
    mix = evaluated(
        f"model: {MODELS}",
        workload={"classes": f"[{listed}]", "prompt_tokens": None, "output_tokens": None},
        **BY_TPOT,
    )
    parts = [
        evaluated(
            f"model: {MODELS}",
            workload={"prompt_tokens": str(p), "output_tokens": str(o), "arrival_rate": repr(900 * w)},
            **BY_TPOT,
        )
        for w, p, o in CLASSES.values()
    ]
    for ds in (mix, *parts):
        assert (ds.binding_constraint == "tpot").all()
    for name in ("prefill_demand", "decode_demand", "replicas_fractional"):
        together = sum(part[name] for part in parts)
        np.testing.assert_allclose(mix[name], together, rtol=1e-12, err_msg=name)
        assert (mix[name] > 0).all()


def test_price_times_tokens_is_the_bill() -> None:
    ds = evaluated(
        "arrival_rate: [0.3, 20, 900], usd_per_gpu_hour: [1.1, 4]",
        workload={"arrival_rate": None, "peak_to_average": "2.5"},
        policy={"rho_target": "0.7", "hours_per_month": "730"},
    )
    requests = ds.arrival_rate_average * 3600 * 730
    np.testing.assert_allclose(ds.arrival_rate / 2.5, ds.arrival_rate_average, rtol=1e-12)
    bill = (ds.gpus * ds.usd_per_gpu_hour * 730).broadcast_like(ds.usd_per_month)
    for paid in (
        ds.usd_per_month,
        ds.usd_per_mtok_output * requests * 300 / 1e6,
        ds.usd_per_mtok_input * requests * 1000 / 1e6,
        ds.usd_per_mtok_total * requests * 1300 / 1e6,
        ds.usd_per_request * requests,
    ):
        np.testing.assert_allclose(paid.transpose(*bill.dims), bill, rtol=1e-12)


def test_burst_times_busy_is_the_share_that_the_limit_leaves() -> None:
    """n lam* / lam times lam d / n is lam* d, the share: at the limit a replica is busy that share of the time."""
    ds = evaluated(
        f"model: {MODELS}, rho_target: [0.3, 0.7, 1], arrival_rate: {{geomspace: [0.1, 1000, 9]}}",
        workload={"arrival_rate": None},
        policy={"rho_target": None},
        **BY_TPOT,
    )
    assert (ds.binding_constraint == "tpot").all()
    product = ds.burst_to_slo * ds.busy
    assert product.notnull().all()
    np.testing.assert_allclose(product, ds.tpot_share.broadcast_like(product), rtol=1e-12)


# -------------------------------------------------------------------------------------------------- fixed latency


def test_the_operating_point_without_kv_and_prefill_is_littles_law_at_a_fixed_latency() -> None:
    """k, p -> 0: every step takes t_w, W is n t_w, a replica with L slots serves L/W, and R = ceil(lam W/(rho L))."""
    step, n, slots = 0.010, 5000, np.array([16.0, 72.0, 500.0])
    rate = 0.6 * slots / (n * step)
    point = operating_point(rate, [1.0], [1], [1], [n + 1], step, 1e-18, 1e-18, slots=slots, token_budget=8192)
    np.testing.assert_allclose(point._state.tpot[0], step, rtol=1e-9)
    np.testing.assert_allclose(rate / point.slot_share, rate_littles_law(slots, n * step), rtol=1e-9)
    for load in (3.0, 77.7, 900.0):
        needed = replicas_needed(load, n * step, 0.7, slots)
        np.testing.assert_array_equal(replicas_active(load, 0.7 * rate / point.slot_share), needed)


def test_a_plan_without_kv_reads_and_prefill_is_littles_law_at_a_fixed_latency() -> None:
    """The same through a plan: 64 slots of 3 s, whatever the limit on TPOT."""
    changes: dict[str, dict[str, str | None]] = {
        "workload": {"arrival_rate": None},
        "deployment": {
            "step_weights_s": "10 ms",
            "step_per_sequence_s": "1e-15",
            "step_per_context_token_s": "1e-15",
            "prefill_per_token_s": "1e-15",
            "chunk_layer_overhead_s": "0",
        },
        "capacity": {"capacity_model": "littles_law", "e2e_latency_basis": "operating_point"},
    }
    ds = evaluated("arrival_rate: [0.5, 10, 77, 900]", **changes)
    wait = 300 * 0.010
    np.testing.assert_allclose(ds.lambda_instance, 64 / wait, rtol=1e-7)
    np.testing.assert_allclose(ds.tpot_s, 0.010, rtol=1e-6)
    expected = np.ceil(np.array([0.5, 10, 77, 900]) * wait / (0.7 * 64))
    np.testing.assert_array_equal(ds.replicas, expected)
