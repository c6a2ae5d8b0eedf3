"""The fleet's steps take short cuts over the whole cube; the formulas they stand for say the same, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from gridplan import formulas
from gridplan.chain import cost, fleet, redundancy
from gridplan.chain.graph import Array, spread
from gridplan.chain.memory import first_given

# The chain itself runs under an errstate of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")

NAN = np.nan
REPLICAS = np.array([[0.0, 1, 3, 8, 9, 1000, 10**9, NAN]])
SIZES = [[[8.0], [8], [8], [8]], [[8.0], [NAN], [4], [1]], [[NAN], [NAN], [NAN], [NAN]]]
NO_ZONE_LOST, ONE_ZONE = np.zeros((1, 1)), np.ones((1, 1))
WIDTHS = [[[1.0], [3], [8], [16]], [[8.0], [8], [4], [1]], [[1.0], [1], [1], [1]]]


def prepared(gpus_per_node: Array, gpus_per_replica: Array) -> tuple[Array, Array]:
    return (
        formulas.replicas_per_node(gpus_per_node, gpus_per_replica),
        formulas.nodes_per_replica(gpus_per_node, gpus_per_replica),
    )


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("given", [[NAN] * 4, [NAN, 5, NAN, 7], [2, 2, 2, 2]])
def test_nodes_and_what_they_hold(sizes: list[list[float]], widths: list[list[float]], given: list[float]) -> None:
    node, replica, bought = np.array(sizes), np.array(widths), np.array(given)[:, np.newaxis]
    narrow, wide = prepared(node, replica)
    planned = formulas.nodes_for(REPLICAS, node, replica)
    expected = np.where(np.isnan(planned) | np.isnan(bought), planned, bought)
    nodes = redundancy.nodes(REPLICAS, NO_ZONE_LOST, ONE_ZONE, narrow, wide, bought)
    np.testing.assert_array_equal(nodes, expected)
    held = formulas.replicas_in_nodes(nodes, node, replica)
    deployed = fleet.replicas_deployed(nodes, REPLICAS, narrow, wide)
    np.testing.assert_array_equal(deployed, np.where(np.isnan(held), REPLICAS, held))
    sufficient = fleet.fleet_sufficient(REPLICAS, deployed, REPLICAS, deployed, NO_ZONE_LOST)
    np.testing.assert_array_equal(sufficient, np.where(np.isnan(REPLICAS), NAN, deployed >= REPLICAS))


def test_shares_of_a_capacity() -> None:
    rate, each = np.array([[0.5], [60.0], [NAN]]), np.array([[[0.7]], [[1e-3]], [[NAN]]])
    capacity = fleet.carried(REPLICAS, each)
    counted = np.where(REPLICAS == 0, NAN, REPLICAS)
    for replicas in (REPLICAS, REPLICAS[:, 1:]):
        expected = formulas.utilization(rate, counted[:, -replicas.size :], each)
        np.testing.assert_array_equal(fleet.utilization(rate, fleet.carried(replicas, each)), expected)
    np.testing.assert_array_equal(fleet.headroom_kept_after_loss(rate, capacity), formulas.holds(rate, REPLICAS, each))
    factor = formulas.burst_to_slo(rate, REPLICAS, each)
    np.testing.assert_array_equal(fleet.burst_to_slo(capacity, rate), factor)
    slots = np.array([[[0.0]], [[1.0]], [[0.0]]])
    np.testing.assert_array_equal(fleet.burst_to_slo(capacity, rate, slots), np.where(slots == 1, NAN, factor))


def test_a_step_takes_no_time_that_the_work_does_not_leave() -> None:
    for busy in ([0.0, 0.3, 1 - 2**-53, NAN], [0.3, 1.0, 1.5, NAN]):
        sustained = np.where(np.array(busy) < 1, busy, NAN)
        np.testing.assert_array_equal(fleet.tpot_dense_s(np.array(0.01), np.array(busy)), 0.01 / (1 - sustained))


@pytest.mark.parametrize("per_node", [[NAN, NAN, NAN], [20.0, 20, 20], [20.0, NAN, 20]])
@pytest.mark.parametrize("bought", [[NAN, NAN, NAN], [3.0, 3, 3], [NAN, 3, 3]])
@pytest.mark.parametrize("size", [[8.0, 8, 8], [8.0, 8, NAN]])
def test_the_bill_by_node_or_by_gpu(per_node: list[float], bought: list[float], size: list[float]) -> None:
    column = [np.array(values)[:, np.newaxis] for values in (per_node, bought, size)]
    price, given, gpus_per_node = column
    narrow, wide = prepared(gpus_per_node, np.array([[2.0]]))
    nodes = redundancy.nodes(REPLICAS, NO_ZONE_LOST, ONE_ZONE, narrow, wide, given)
    gpus = REPLICAS * 2
    found = cost.usd_per_hour(nodes, price, gpus, np.array([[2.5]]), given, gpus_per_node)
    for place in np.ndindex(found.shape):
        row, cell = place
        billed = given[row, 0] * gpus_per_node[row, 0]
        counted = gpus[0, cell] if np.isnan(billed) or np.isnan(gpus[0, cell]) else billed
        by_nodes = nodes[place] * price[row, 0]
        np.testing.assert_equal(found[place], counted * 2.5 if np.isnan(by_nodes) else by_nodes)


def test_what_nobody_gave_costs_no_choice_but_keeps_its_shape() -> None:
    computed = np.array([[1.0, 2.0]])
    assert first_given(np.array([[NAN]]), computed) is computed
    assert first_given(np.array([[NAN], [NAN]]), computed).tolist() == [[1, 2], [1, 2]]
    assert first_given(np.array([[NAN], [7.0]]), computed).tolist() == [[1, 2], [7, 7]]
    assert spread(computed, np.ones((3, 1)), np.ones(())).shape == (3, 2)
