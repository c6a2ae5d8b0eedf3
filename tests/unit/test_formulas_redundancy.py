"""Spares and losses, checked by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import xarray as xr

from gridplan.formulas import (
    FAILURE_DOMAINS,
    failure_domain_code,
    most_active,
    replicas,
    replicas_after_loss,
    spare_replicas,
)

CODE = {name: failure_domain_code(name) for name in FAILURE_DOMAINS}


def lost(n: int, redundancy: int, domain: str, per_node: int, zones: int) -> int:
    """Replicas that `redundancy` failing domains take of `n` at their worst, in integers."""
    return redundancy * {"gpu": 1, "replica": 1, "node": max(1, per_node), "zone": -(-n // zones)}[domain]


def test_codes_are_positions() -> None:
    assert FAILURE_DOMAINS == ("gpu", "replica", "node", "zone")
    assert CODE == {"gpu": 0.0, "replica": 1.0, "node": 2.0, "zone": 3.0}
    axis = xr.DataArray(["zone", "gpu"], dims="failure_domain", coords={"failure_domain": ["zone", "gpu"]})
    assert failure_domain_code(axis).equals(axis.copy(data=[3.0, 0.0]))
    with pytest.raises(ValueError, match="unknown failure domain 'rack': one of gpu, replica, node, zone"):
        failure_domain_code(["gpu", "rack"])


@pytest.mark.parametrize("domain", FAILURE_DOMAINS)
def test_plans_are_the_smallest_that_survive(domain: str) -> None:
    for redundancy, per_node, zones in itertools.product(range(4), (0, 1, 2, 8), range(1, 7)):
        if domain == "zone" and zones <= redundancy and redundancy:
            continue
        actives = np.arange(1, 41)
        planned = replicas(actives, redundancy, CODE[domain], per_node, zones)
        spares = spare_replicas(actives, redundancy, CODE[domain], per_node, zones)
        left = replicas_after_loss(planned, redundancy, CODE[domain], per_node, zones)
        for active, n, spare, kept in zip(actives.tolist(), planned.tolist(), spares, left, strict=True):
            smallest = next(m for m in range(active, 400) if m - lost(m, redundancy, domain, per_node, zones) >= active)
            assert n == smallest == active + spare
            assert kept == smallest - lost(smallest, redundancy, domain, per_node, zones) >= active


@pytest.mark.parametrize("domain", FAILURE_DOMAINS)
def test_most_active_is_the_largest_plan_that_fits(domain: str) -> None:
    for redundancy, per_node, zones in itertools.product(range(4), (0, 1, 3, 8), range(1, 7)):
        if domain == "zone" and zones <= redundancy and redundancy:
            continue
        plans = replicas(np.arange(61), redundancy, CODE[domain], per_node, zones).tolist()
        deployed = np.arange(60)
        found = most_active(deployed, redundancy, CODE[domain], per_node, zones)
        largest = [max((a for a, n in enumerate(plans) if n <= d), default=0) for d in deployed.tolist()]
        assert found.tolist() == largest


def test_zones_that_do_not_exceed_the_losses_have_no_plan() -> None:
    assert math.isnan(replicas(9, 1, CODE["zone"], 8, 1))
    assert math.isnan(replicas(9, 2, CODE["zone"], 8, 2))
    assert math.isnan(most_active(20, 2, CODE["zone"], 8, 2))
    assert replicas(9, 0, CODE["zone"], 8, 1) == 9
    assert most_active(9, 0, CODE["zone"], 8, 1) == 9


def test_node_size_and_zones_do_not_touch_other_domains() -> None:
    codes = np.array([CODE["gpu"], CODE["replica"], CODE["node"], CODE["zone"]])
    result = replicas(9, 1, codes, np.nan, np.nan)
    np.testing.assert_array_equal(result, [10, 10, np.nan, np.nan])
    np.testing.assert_array_equal(replicas_after_loss(16, 1, codes, np.nan, np.nan), [15, 15, np.nan, np.nan])
    np.testing.assert_array_equal(most_active(16, 1, codes, np.nan, np.nan), [15, 15, np.nan, np.nan])


def test_nan_active_has_nan_spares() -> None:
    for code in CODE.values():
        assert math.isnan(spare_replicas(math.nan, 1, code, 8, 3))
        assert math.isnan(replicas(math.nan, 1, code, 8, 3))


def test_losses_never_leave_less_than_nothing() -> None:
    assert replicas_after_loss(3, 5, CODE["gpu"], 8, 1) == 0
    assert replicas_after_loss(3, 1, CODE["node"], 8, 1) == 0
    assert replicas_after_loss(9, 2, CODE["zone"], 8, 3) == 3
    assert replicas_after_loss(9, 0, CODE["zone"], 8, 3) == 9
    # a replica over two nodes: either lost node takes it
    assert replicas_after_loss(3, 1, CODE["node"], 0, 1) == 2
