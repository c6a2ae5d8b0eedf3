"""Routing: what is known of its gain by binding constraint, what a credit plans, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import gridplan
from gridplan.catalog.routing_gains import routing_gains
from gridplan.chain.codes import LIMITS, choices
from gridplan.chain.routing import gain_interval
from gridplan.dictionary import dictionary
from gridplan.engine.inputs import build_inputs
from gridplan.engine.routing import gain_warnings

GAINS = ["default", "routing_gain_low", "routing_gain_high"]
SLOTS = """
schema: 1
deployment: {{kv_pool_bytes_given: 40 GB, kv_bytes_per_sequence_given: 500 MB, kv_efficiency: 0.9}}
capacity: {{capacity_model: littles_law, e2e_latency_s: 4.0}}
policy: {{redundancy: 0, rho_target: 0.9, {0}}}
axes: {{arrival_rate: [{1}]}}
"""
"""72 slots, 4 s: 18 req/s a replica, 16.2 at 0.9, 31 replicas for 500 req/s; memory binds."""
CHAINS = """
schema: 1
workload: {{prompt_tokens: 2000, output_tokens: 300, arrival_rate: 200}}
slo: {{tpot: {{limit: 50 ms, percentile: mean}}}}
deployment: {{model: llama-3.3-70b, gpu: h100-sxm, weight_dtype: fp8, tensor_parallel: 4}}
policy: {{redundancy: 0, rho_target: 0.65, {0}}}
{1}
"""
"""TPOT binds."""


def cube(base: str, policy: str = "", rest: str = "") -> xr.Dataset:
    return gridplan.evaluate(gridplan.loads_grid(base.format(policy, rest)), GAINS)


def test_a_table_row_says_what_it_is() -> None:
    for row in routing_gains():
        assert row.routing in choices("routing")
        assert set(row.constraints) <= set(dictionary()["binding_constraint"].labels)
        assert 0 < row.low <= row.high
        assert row.replicas_from >= 2
        assert row.cls in ("measurement", "assumption")
        assert row.source
        assert row.as_of
        assert row.valid_where


def test_intervals_by_routing_and_constraint() -> None:
    known = {(row.routing, name): (row.low, row.high) for row in routing_gains() for name in row.constraints}
    for routing in ("round_robin", "least_tokens"):
        assert known[routing, "tpot"] == known[routing, "e2e"] == (1.02, 1.16)
        assert known[routing, "ttft"] == known[routing, "prefill"] == (1.05, 1.66)
        assert (routing, "memory") not in known
    assert known["join_shortest_queue", "ttft"] == (0.80, 1.66)
    assert known["join_shortest_queue", "memory"] == known["join_shortest_queue", "scheduler"] == (1.10, 1.25)
    assert ("join_shortest_queue", "tpot") not in known


def test_the_cube_takes_the_interval_of_what_binds() -> None:
    found = cube(CHAINS, "", "axes: {routing: [random, round_robin, least_tokens, join_shortest_queue]}")
    assert found["binding_constraint"] == "tpot"
    np.testing.assert_array_equal(found["routing_gain_low"], [1, 1.02, 1.02, np.nan])
    np.testing.assert_array_equal(found["routing_gain_high"], [1, 1.16, 1.16, np.nan])
    # Gains are known, not credited.
    assert np.unique(found["lambda_safe"]).size == np.unique(found["replicas_active"]).size == 1


def test_pooled_slots_are_known_for_2_to_34_replicas() -> None:
    found = cube(SLOTS, "routing: join_shortest_queue", "16, 17, 550, 560")
    assert found["replicas_active"].values.tolist() == [1, 2, 34, 35]
    np.testing.assert_array_equal(found["routing_gain_low"], [1, 1.1, 1.1, np.nan])
    np.testing.assert_array_equal(found["routing_gain_high"], [1, 1.25, 1.25, np.nan])


def test_no_plan_no_gain() -> None:
    code = np.array([choices("routing").index("random"), choices("routing").index("round_robin")])
    none, unknown = np.array([-1, -1]), np.array([np.nan, np.nan])
    for end in gain_interval(code, none, none, unknown, unknown):
        assert np.isnan(end).all()
    tpot = np.array([LIMITS.index("tpot")])
    alone = gain_interval(code[1:], tpot, tpot, np.array([0.1]), np.array([1.0]))
    assert [end.tolist() for end in alone] == [[1.0], [1.0]]


def test_the_next_limit_caps_a_gain() -> None:
    """TTFT may gain 1.66, but TPOT lies 5.5% further and gains 1.16 at most: 1.055 x 1.16."""
    routed = np.array([choices("routing").index("round_robin")])
    ttft, tpot = (np.array([LIMITS.index(name)]) for name in ("ttft", "tpot"))
    low, high = gain_interval(routed, ttft, tpot, np.array([0.055]), np.array([8.0]))
    assert (float(low[0]), float(high[0])) == (1.05, pytest.approx(1.055 * 1.16))


def test_a_credit_multiplies_the_planned_rate_alone() -> None:
    """0.9 x 1.2 x 18 = 19.44 req/s, so ceil(500 / 19.44) = 26 replicas instead of 31."""
    plain, credited = (
        cube(SLOTS, policy, "500") for policy in ("", "routing: join_shortest_queue, routing_credit: 1.2")
    )
    assert (plain["replicas_active"], credited["replicas_active"]) == (31, 26)
    assert credited["lambda_safe"] == pytest.approx(19.44, rel=1e-12)
    assert credited["lambda_instance"] == plain["lambda_instance"] == 18
    assert credited["utilization_safe"] == pytest.approx(500 / (26 * 19.44))
    # Of the rate that a random split sustains: more than all of it.
    assert credited["utilization_peak"] == pytest.approx(500 / (26 * 18))
    assert "warnings" not in credited.attrs


def warnings(base: str, policy: str, rest: str = "") -> list[str]:
    return [item for item in build_inputs(gridplan.loads_grid(base.format(policy, rest))).warnings if "routing" in item]


def test_a_credit_beyond_what_is_known_is_said() -> None:
    (outside,) = warnings(CHAINS, "routing: round_robin, routing_credit: 1.3")
    assert outside == (
        "routing_credit 1.3 lies outside 1.02 to 1.16, the gain of round_robin that is known where tpot binds"
    )
    (unknown,) = warnings(CHAINS, "routing: join_shortest_queue, routing_credit: 1.1")
    assert "no gain of join_shortest_queue was measured where tpot binds" in unknown
    (many,) = warnings(SLOTS, "routing: join_shortest_queue, routing_credit: 1.1", "500, 900")
    assert "measured where memory binds at so many replicas" in many
    (lone,) = warnings(SLOTS, "routing: join_shortest_queue, routing_credit: 1.1", "5, 500")
    assert lone == "routing_credit 1.1: a lone replica leaves join_shortest_queue nothing to choose, and gains 1"
    assert warnings(CHAINS, "routing: round_robin, routing_credit: 1.1") == []
    assert warnings(CHAINS, "routing: round_robin") == []


def test_a_cube_too_large_to_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridplan.engine.routing.MOST_CHECKED", 1)
    (said,) = warnings(SLOTS, "routing: join_shortest_queue, routing_credit: 1.2", "500, 501")
    assert said.startswith("routing_credit is not compared with what is known of each of 2 cells")
    assert warnings(SLOTS, "routing: least_tokens", "500, 501") == []


def test_a_loss_that_nothing_charges_is_said() -> None:
    """Joining the shortest queue piles prompts up on one replica: 0.80 to 0.92 were measured where TTFT binds."""
    low, high = np.array([0.8, 0.8]), np.array([1.66, 1.66])
    (said,) = gain_warnings("join_shortest_queue", "ttft", low, high, np.array([1.0, 0.8]))
    assert said.startswith("routing join_shortest_queue can lose where ttft binds (gain 0.8 to 1.66)")
    assert "routing_credit 1 does not charge the loss: state routing_credit 0.8" in said
    assert gain_warnings("join_shortest_queue", "ttft", low, high, np.array([0.8, 0.85])) == []


def test_explain_shows_the_interval_and_the_warning_of_its_cell() -> None:
    policy, axis = "routing: round_robin", "axes: {routing_credit: [1.1, 1.3]}"
    grid = gridplan.loads_grid(CHAINS.format(policy, axis))
    inside, outside = (gridplan.explain(grid, routing_credit=credit) for credit in (1.1, 1.3))
    values = inside.to_dict()["values"]
    assert isinstance(values, dict)
    assert (values["routing_gain_low"], values["routing_gain_high"]) == (1.02, 1.16)
    assert not any("routing_credit" in item for item in inside.warnings)
    assert sum("routing_credit 1.3 lies outside" in item for item in outside.warnings) == 1
    page = str(inside)
    assert "rho_target * routing_credit * lambda_instance" in page
    assert "routing_gain" not in str(gridplan.explain(gridplan.loads_grid(CHAINS.format("", ""))))


def test_a_credit_may_differ_by_routing() -> None:
    credit = "routing_credit: {by: routing, random: 1, least_tokens: 1.1}"
    found = cube(CHAINS, credit, "axes: {routing: [random, least_tokens]}")
    rates = found["lambda_safe"].values
    assert rates[1] == pytest.approx(1.1 * rates[0])
