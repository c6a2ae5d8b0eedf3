"""A portfolio costs no more than what it is chosen from, and follows its prices."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridplan.formulas import load_levels, load_means, portfolio

SLACK = 1 + 1e-9
PRICE = st.floats(0.5, 100)
SHARE = st.floats(0, 1)
FLEET = st.lists(st.tuples(st.integers(0, 200), SHARE), min_size=1, max_size=30)
Levels = list[tuple[int, float]]


def levels_of(fleet: Levels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    needed = np.array([float(nodes) for nodes, _ in fleet])
    slo = np.floor(needed * [share for _, share in fleet])
    return needed, slo, np.full(len(fleet), 1 / len(fleet))


@given(FLEET, PRICE, PRICE, PRICE, SHARE)
def test_it_costs_no_more_than_the_offers_alone(
    fleet: Levels, reserved: float, on_demand: float, spot: float, share: float
) -> None:
    needed, slo, weights = levels_of(fleet)
    bought = portfolio(needed, slo, weights, reserved, on_demand, spot, share)
    assert bought.usd_per_hour <= on_demand * needed.max() * SLACK
    assert bought.usd_per_hour <= on_demand * needed.mean() * SLACK
    assert bought.usd_per_hour <= reserved * needed.max() * SLACK
    assert 0 <= bought.nodes_committed <= needed.max()
    assert bought.nodes_committed_used_mean <= bought.nodes_committed * SLACK
    served = bought.nodes_committed_used_mean + bought.nodes_on_demand_mean + bought.nodes_spot_mean
    np.testing.assert_allclose(served, needed.mean(), rtol=1e-9)


@given(FLEET, st.tuples(PRICE, PRICE, PRICE), SHARE, st.integers(0, 2), st.floats(0.01, 1))
def test_a_lower_price_makes_no_bill_higher(
    fleet: Levels, prices: tuple[float, float, float], share: float, offer: int, cut: float
) -> None:
    levels = levels_of(fleet)
    lower = [*prices]
    lower[offer] *= cut
    before = portfolio(*levels, *prices, share)
    after = portfolio(*levels, lower[0], lower[1], lower[2], share)
    assert after.usd_per_hour <= before.usd_per_hour * SLACK


@given(FLEET, PRICE, PRICE, PRICE, SHARE, st.floats(1, 3))
def test_a_dearer_commitment_is_no_larger(
    fleet: Levels, reserved: float, on_demand: float, spot: float, share: float, rise: float
) -> None:
    levels = levels_of(fleet)
    cheap = portfolio(*levels, reserved, on_demand, spot, share)
    dear = portfolio(*levels, reserved * rise, on_demand, spot, share)
    assert dear.nodes_committed <= cheap.nodes_committed


@given(FLEET, PRICE, PRICE, PRICE, SHARE, st.floats(0.1, 10))
def test_prices_scale_the_bill_and_nothing_else(
    fleet: Levels, reserved: float, on_demand: float, spot: float, share: float, factor: float
) -> None:
    levels = levels_of(fleet)
    one = portfolio(*levels, reserved, on_demand, spot, share)
    other = portfolio(*levels, reserved * factor, on_demand * factor, spot * factor, share)
    np.testing.assert_allclose(other.usd_per_hour, one.usd_per_hour * factor, rtol=1e-9)


@given(st.floats(1.01, 50), st.floats(0, 0.95), st.integers(1, 60))
def test_no_curve_leaves_its_ends(ratio: float, share: float, levels: int) -> None:
    floor = share / ratio
    highest, means = load_levels(ratio, floor, levels), load_means(ratio, floor, levels)
    assert (highest >= floor * (1 - 1e-12)).all()
    assert (highest <= SLACK).all()
    np.testing.assert_allclose(means.mean(), 1 / ratio, rtol=1e-9)
