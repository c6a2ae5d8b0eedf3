"""Answers that were established in public for planner questions, with their tolerances, and how a test states them.

A memory budget, B cache, C traffic, D fleet, E price, F load sweeps, G reference texts. `near` is |got - value| <=
tol_abs + tol_rel |value|, `same` is equality, `within` includes both ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import xarray as xr

import gridplan

GIB = 2**30


class Expected(NamedTuple):
    """Bounds of a right answer, or the very answer where it is not a measured number."""

    value: Any
    tol_abs: float = 0.0
    tol_rel: float = 0.0
    low: float | None = None
    high: float | None = None

    def admits(self, got: Any) -> bool:
        if self.low is not None and self.high is not None:
            return bool(self.low <= got <= self.high)
        if self.tol_abs or self.tol_rel:
            return bool(abs(got - self.value) <= self.tol_abs + self.tol_rel * abs(self.value))
        return bool(got == self.value)


def near(value: float, tol_abs: float = 0.0, tol_rel: float = 0.0) -> Expected:
    return Expected(value, tol_abs, tol_rel)


def same(value: Any) -> Expected:
    return Expected(value)


def within(low: float, high: float) -> Expected:
    return Expected(None, low=low, high=high)


def verify(case_id: str, **answers: Any) -> None:
    """Every quantity of a case, and no other, within its tolerance."""
    expected = {name: row for (case, name), row in EXPECTED.items() if case == case_id}
    assert answers.keys() == expected.keys()
    wrong = {name: got for name, got in answers.items() if not expected[name].admits(got)}
    assert not wrong, wrong


def plan(text: str) -> xr.Dataset:
    """The cube of a text, with one service at 1 req/s planned by slots where the text does not say otherwise."""
    defaults = {
        "workload": "{prompt_tokens: 100, output_tokens: 100, arrival_rate: 1}",
        "capacity": "{capacity_model: littles_law, e2e_latency_s: 1}",
        "policy": "{rho_target: 1, redundancy: 0}",
    }
    head = [f"{section}: {value}\n" for section, value in defaults.items() if f"\n{section}:" not in f"\n{text}"]
    return gridplan.evaluate(gridplan.loads_grid(f"schema: 1\n{''.join(head)}{text}"))


def pool_gib(ds: xr.Dataset) -> float:
    """KV pool of one GPU [GiB], negative by what is missing."""
    return float(ds.kv_pool_bytes_per_gpu - ds.memory_shortfall_bytes_per_gpu) / GIB


EXPECTED: dict[tuple[str, str], Expected] = {
    ("A01", "kv_pool_gib_per_gpu"): near(51.38, tol_abs=0.03),
    ("A02", "kv_pool_gib_per_gpu"): near(32.0, tol_abs=0.03),
    ("A03", "kv_pool_gib_per_gpu"): near(4.45, tol_abs=0.03),
    ("A06", "kv_pool_gib_per_gpu"): near(50.28, tol_abs=0.03),
    ("A07", "kv_pool_replica_ratio_tp2_over_tp1"): near(15.5, tol_rel=0.02),
    ("A08", "kv_pool_gib"): near(28.2, tol_abs=0.03),
    ("A08", "kv_bytes_per_token"): same(163840),
    ("A08", "kv_tokens"): near(184832, tol_rel=0.0012),
    ("A08", "concurrency_worst"): same(11),
    ("A08", "blocks_for_15049_tokens"): same(118),
    ("A08", "kv_usage_fraction_one_request"): near(0.0817, tol_abs=0.0002),
    ("A09", "profile_consistent"): same(False),
    ("A09", "kv_pool_at_claimed_util_gib"): near(-0.63, tol_abs=0.02),
    ("A09", "util_that_explains_claim"): near(0.95, tol_abs=0.0005),
    ("A10", "feasible"): same(False),
    ("A10", "concurrency"): same(0),
    ("A10", "kv_pool_gib_raw"): near(-1.43, tol_abs=0.02),
    ("A10", "infeasible_reason"): same("weights_exceed_memory"),
    ("A12", "kv_pool_gib"): near(3.81, tol_abs=0.02),
    ("A12", "blocks"): near(1952, tol_abs=4),
    ("A12", "concurrency_ratio"): near(1.56, tol_abs=0.01),
    ("A13", "kv_pool_gib"): near(2.89, tol_abs=0.02),
    ("A13", "kv_tokens"): near(23648, tol_rel=0.003),
    ("A13", "concurrency_worst"): same(0),
    ("A13", "feasible"): same(False),
    ("A14", "kv_pool_gib"): within(5.7, 5.9),
    ("A14", "concurrency_worst"): same(1),
    ("A14", "feasible"): same(True),
    ("A16", "kv_pool_gib_before"): near(10.53, tol_abs=0.02),
    ("A16", "kv_pool_gib_after"): near(17.72, tol_abs=0.02),
    ("A16", "concurrency_ratio_before"): near(8.43, tol_abs=0.01),
    ("A16", "concurrency_ratio_after"): near(14.18, tol_abs=0.01),
    ("A16", "kv_per_request_gib"): same(1.25),
    ("A18", "gpu_total_gib_implied"): near(23.68, tol_abs=0.1),
    ("A18", "util_to_keep_old_pool"): near(0.8352, tol_abs=0.0002),
    ("A19", "warn_util_ge_0_99"): same(True),
    ("A19", "ceiling_memory_gib"): near(165.6, tol_abs=0.1),
    ("A19", "bs96_feasible_at_0_92"): same(False),
    ("A19", "bs_over_estimate_factor"): within(3.2, 3.4),
    ("B01", "kv_per_request_gib"): near(0.65446, tol_abs=5e-06),
    ("B01", "kv_bytes_per_token"): same(70272),
    ("B02", "kv_per_request_gib"): near(0.64373, tol_abs=5e-06),
    ("B04", "tp_legal_by_heads"): same([1, 2, 14]),
    ("B04", "kv_heads_per_gpu_at_tp14"): same(1),
    ("B04", "kv_replication_at_tp14"): same(7),
    ("B07", "kv_capacity_ratio_dp8_over_tp8"): within(7.0, 8.0),
    ("B08", "kv_bytes_per_token"): same(73728),
    ("B08", "kv_tokens"): near(78384, tol_rel=0.001),
    ("B10", "observed_kib_per_token"): near(108.2, tol_abs=0.1),
    ("B10", "observed_kib_per_token_nvfp4_weights"): near(108.2, tol_abs=0.1),
    ("B10", "estimate_self_consistent"): same(False),
    ("B10", "estimate_implied_kib_per_token"): near(80.8, tol_abs=0.1),
    ("B10", "planner_kib_per_token_bounds"): within(80, 880),
    ("B12", "effective_tokens"): near(1082655, tol_abs=400),
    ("B12", "ratio"): near(3.72, tol_abs=0.01),
    ("B13", "concurrency"): same(3),
    ("B13", "concurrency_naive"): same(148),
    ("B15", "kv_bytes_per_token"): same(98304),
    ("B15", "kv_gib"): near(152.88, tol_abs=0.02),
    ("B17", "kv_tokens"): same(2042016),
    ("B17", "concurrency_ratio"): near(997.08, tol_abs=0.01),
    ("B17", "concurrency_worst"): same(997),
    ("B18", "concurrency_avg"): within(46, 47),
    ("B20", "kv_per_request_gib"): same(0.625),
    ("B20", "kv_per_request_gib_if_mha"): same(5.0),
    ("B20", "concurrency"): same(0),
    ("B20", "feasible"): same(False),
    ("B21", "kv_tokens"): same(8112),
    ("B21", "concurrency_worst"): same(0),
    ("B21", "feasible"): same(False),
    ("B23", "implied_weights_in_requests"): near(6.77, tol_abs=0.01),
    ("B23", "fleet_2xTP4"): near(15.12, tol_abs=0.01),
    ("B23", "fleet_4xTP2"): near(1.58, tol_abs=0.05),
    ("B23", "fleet_8xTP1_feasible"): same(False),
    ("B25", "weights_gib"): near(37.1, tol_rel=0.02),
    ("B25", "naive_gib"): near(32.9, tol_rel=0.01),
    ("C01", "concurrency_full"): same(49),
    ("C01", "concurrency_mean_resident"): same(85),
    ("C01", "demand_over_pool"): near(1.5, tol_abs=0.01),
    ("C01", "preemption_expected"): same(True),
    ("C07", "prompt_mean"): near(99.2, tol_abs=1e-09),
    ("C07", "output_mean"): near(121.6, tol_abs=1e-09),
    ("C07", "total_mean"): near(220.8, tol_abs=1e-09),
    ("C07", "total_max"): same(768),
    ("D01", "replicas"): same(12),
    ("D03", "replicas"): same(30),
    ("D04", "concurrency"): same(12),
    ("D06", "nodes_per_replica"): same(2),
    ("D06", "nodes"): same(6),
    ("D08", "active"): same(9),
    ("D08", "resilient_gpu_domain"): same(10),
    ("D08", "nodes"): same(2),
    ("D08", "safe_rate_after_gpu_loss"): same(105),
    ("D08", "safe_rate_after_node_loss"): same(56),
    ("D08", "slo_held_after_node_loss"): same(True),
    ("D08", "nodes_for_node_n_plus_1"): same(3),
    ("D08", "headroom_kept_after_node_loss"): same(False),
    ("D09", "headroom_rps"): same(6),
    ("D09", "headroom_replicas"): near(0.81, tol_abs=0.005),
    ("D11", "rps"): near(14.7059, tol_abs=0.001),
    ("D11", "in_flight"): near(58.82, tol_abs=0.01),
    ("D12", "c_memory"): same(43),
    ("D12", "concurrency"): same(4),
    ("D12", "binding_constraint"): same("scheduler"),
    ("D13", "binding_constraint"): same("prefill"),
    ("D13", "scale_down_allowed"): same(False),
    ("E01", "usd_per_1m"): near(0.992, tol_abs=0.001),
    ("E01", "usd_per_1m_low"): near(9.92, tol_abs=0.01),
    ("E03", "usd_per_1m_output"): near(86.17, tol_abs=0.05),
    ("E03", "output_over_blended"): within(70, 80),
    ("E05", "usd_per_1m"): near(0.016333, tol_abs=1e-05),
    ("E05", "kwh_per_1m"): near(0.16333, tol_abs=0.0001),
    ("E07", "usd_720"): near(58982.4, tol_abs=0.01),
    ("E07", "usd_732"): near(59965.44, tol_abs=0.01),
    ("E07", "usd_744"): near(60948.48, tol_abs=0.01),
    ("E08", "monthly_output_tokens"): near(21960000000.0, tol_rel=1e-06),
    ("E08", "monthly_cost"): near(119930.88, tol_abs=0.01),
    ("E08", "usd_per_1m_output"): near(5.461, tol_abs=0.002),
    ("E09", "monthly_output_tokens"): near(6408800000.0, tol_rel=0.0001),
    ("E09", "aws_monthly"): near(59965.44, tol_abs=0.01),
    ("E09", "aws_usd_per_1m"): near(9.357, tol_abs=0.002),
    ("E09", "frac_monthly"): near(18226.8, tol_abs=0.01),
    ("E09", "frac_usd_per_1m"): near(2.844, tol_abs=0.002),
    ("E10", "monthly"): near(13834.8, tol_abs=0.01),
    ("E10", "tokens"): near(5127000000.0, tol_rel=0.0005),
    ("E10", "usd_per_1m"): near(2.698, tol_abs=0.002),
    ("E12", "facility_kw"): near(7.28, tol_abs=0.001),
    ("E12", "binding_constraint"): same("power"),
    ("E12", "max_gpus_in_budget"): same(7),
    ("E12", "monthly_energy_usd"): near(637.73, tol_abs=0.01),
    ("F01", "lambda_star"): same(10.0),
    ("F01", "lambda_star_ttft_400"): same(8.0),
    ("F01", "first_slo_to_break"): same("ttft,tpot,e2e all at 12"),
    ("F03", "under_estimate"): near(4.585, tol_abs=0.01),
    ("F03", "flag_short_run"): same(True),
    ("F05", "saturated"): same(True),
    ("F05", "efficiency"): near(0.9286, tol_abs=0.001),
    ("G01", "concurrency"): same(66),
    ("G01", "compute_ceiling"): same(300.0),
    ("G01", "replicas"): same(105),
    ("G01", "binding_constraint"): same("memory"),
    ("G02", "concurrency"): same(72),
    ("G02", "replica_rps"): near(12.6, tol_abs=1e-09),
    ("G02", "replicas"): same(40),
    ("G02", "replicas_fp8"): same(20),
    ("G02", "replicas_rho09"): same(31),
    ("G02", "queue_ratio"): near(3.857, tol_abs=0.001),
    ("G03", "kv_pool_gib"): near(55.035, tol_abs=0.006),
    ("G03", "kv_tokens"): near(450847, tol_abs=60),
    ("G03", "c_avg"): near(1970, tol_abs=1),
    ("G03", "c_worst"): same(587),
    ("G04", "kv_pool_gib"): near(19.17, tol_abs=0.001),
    ("G04", "kv_tokens"): near(157040, tol_abs=2),
    ("G04", "c_avg"): same(148),
    ("G05", "c_slo"): same(4),
    ("G05", "in_flight"): same(100),
    ("G05", "active"): same(25),
    ("G05", "resilient"): same(26),
    ("G05", "nodes"): same(4),
    ("G05", "usd_per_hour"): near(163.84, tol_abs=0.001),
    ("G05", "active_with_rho_0_7"): same(36),
    ("G06", "prefill_us_per_token"): near(35.65, tol_abs=0.05),
    ("G06", "prefill_demand"): near(14.26, tol_abs=0.05),
    ("G06", "decode_demand"): near(4.2, tol_abs=0.05),
    ("G06", "replicas"): same(34),
    ("G06", "gpus"): same(136),
    ("G07", "active"): same(12),
    ("G07", "resilient_n_plus_1"): same(13),
    ("G08", "multiplier_at_0_7"): near(1.435, tol_abs=0.002),
    ("G08", "multiplier_at_0_9"): near(11.0, tol_abs=0.01),
}
