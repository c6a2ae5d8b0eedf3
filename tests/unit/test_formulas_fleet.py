"""Replicas, nodes and the planned point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gridplan.formulas import (
    batch_mean,
    busy,
    gpus_stranded,
    holds,
    implied_tpot_s,
    nodes_for,
    nodes_per_replica,
    replicas_active,
    replicas_cold_start,
    replicas_in_nodes,
    replicas_needed,
    replicas_per_node,
    utilization,
)


def test_replicas_needed_edges() -> None:
    assert replicas_needed(0, 4, 0.7, 72) == 0
    assert replicas_needed(1e-9, 4, 0.7, 72) == 1
    assert math.isnan(replicas_needed(500, 4, 0.7, math.nan))
    # Public trap L29: a load of 1e13 requests is a count of 1e13, not a wrapped integer.
    assert replicas_needed(1e13, 1, 1.0, 1) == 10**13


@pytest.mark.parametrize(
    ("load", "rate", "rho", "replicas"),
    [(2.1, 1, 0.7, 3), (21, 1, 0.7, 30), (63, 10, 0.7, 9), (70, 10, 0.7, 10), (3.9, 1.3, 0.6, 5), (60, 8, 0.65, 12)],
)
def test_whole_quotients_need_no_extra_replica(load: float, rate: float, rho: float, replicas: int) -> None:
    assert replicas_active(load, rate * rho) == replicas_active(load, rho * rate) == replicas


def test_small_fleets_round_up() -> None:
    # Public trap L30: a tenth of three replicas is one replica, not none.
    assert replicas_active(0.1 * 3, 1.0) == 1
    assert replicas_cold_start(0, 6, 7.39) == 1


@pytest.mark.parametrize(
    ("per_node", "per_replica", "in_a_node", "reach"),
    [(8, 1, 8, 1), (8, 3, 2, 1), (8, 8, 1, 1), (8, 12, 0, 2), (8, 16, 0, 2), (4, 8, 0, 2), (72, 8, 9, 1)],
)
def test_replicas_and_nodes_of_each_other(per_node: int, per_replica: int, in_a_node: int, reach: int) -> None:
    assert replicas_per_node(per_node, per_replica) == in_a_node
    assert nodes_per_replica(per_node, per_replica) == reach
    for replicas in range(30):
        # the smallest number of nodes that holds them, by counting
        nodes = next(n for n in range(200) if (n // reach if in_a_node == 0 else n * in_a_node) >= replicas)
        assert nodes_for(replicas, per_node, per_replica) == nodes
        held = replicas_in_nodes(nodes, per_node, per_replica)
        assert held >= replicas
        stranded = gpus_stranded(nodes, per_node, per_replica)
        assert stranded == nodes * per_node - held * per_replica
        assert stranded >= 0


def test_planned_point_is_consistent() -> None:
    load, replicas, work, weights, output = 200.0, 34.0, 0.0923, 0.00702, 300.0
    share = busy(load, replicas, work)
    tpot = implied_tpot_s(weights, share)
    # in one second a replica spends its busy share on work and the rest on weight reads
    steps = load / replicas * output / batch_mean(load, replicas, output, tpot)
    assert share + steps * weights == pytest.approx(1.0, rel=1e-12)
    assert implied_tpot_s(weights, 1.0) == implied_tpot_s(weights, 1.3) == math.inf


def test_utilization_of_two_denominators_differs_by_rho() -> None:
    assert utilization(90, 16, 10.0) / utilization(90, 16, 7.0) == pytest.approx(0.7)


def test_holds_is_a_tolerant_comparison_with_null() -> None:
    assert holds(0.3, 3, 0.1) == 1.0  # 0.30000000000000004
    assert holds(3 * 0.1, 1, 0.3) == 1.0  # the other way round
    assert holds(0.3000001, 3, 0.1) == 0.0
    assert holds(1.0, 0, 5.0) == 0.0
    result = holds(np.array([1.0, np.nan, 1.0]), np.array([2.0, 2.0, np.nan]), 1.0)
    np.testing.assert_array_equal(result, [1.0, np.nan, np.nan])
