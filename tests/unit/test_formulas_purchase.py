"""Prices of a node by purchase, the loss of spot nodes, power and energy, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gridplan.formulas import (
    energy_j_per_token,
    energy_kwh_per_month,
    energy_kwh_per_mtok,
    energy_usd_per_mtok,
    facility_power_kw,
    it_power_kw,
    nodes_spot,
    owned_usd_per_node_hour,
    reserved_usd_per_hour,
    spot_share_max,
    usd_committed,
    usd_energy_per_month,
)


def capital_alone(capital: float, years: float, residual: float, interest: float) -> float:
    """What the capital takes in a month."""
    return float(owned_usd_per_node_hour(capital, years, residual, interest, 0, 0, 1, 0, 730)) * 730


def test_a_straight_write_off_is_the_lost_value_over_the_months() -> None:
    assert capital_alone(288_000, 4, 0, 0) == pytest.approx(6000)
    assert capital_alone(288_000, 4, 0.25, 0) == pytest.approx(4500)
    assert capital_alone(300_000, 2.5, 0, 0) == pytest.approx(10_000)


def test_an_annuity_pays_the_loan_back_and_no_more() -> None:
    """Month by month: the debt grows by a twelfth of the interest, falls by the payment, and ends at the residual."""
    for capital, years, residual, interest in ((10_000, 1, 0, 0.12), (300_000, 4, 0.2, 0.08), (5e5, 5, 0.1, 0.6)):
        payment, debt = capital_alone(capital, years, residual, interest), float(capital)
        for _ in range(12 * years):
            debt += debt * interest / 12 - payment
        assert debt == pytest.approx(residual * capital, abs=1e-6 * capital)
    assert capital_alone(10_000, 1, 0, 0.12) == pytest.approx(888.49, abs=0.005)  # the textbook loan at 1% a month


def test_a_small_interest_is_close_to_none() -> None:
    straight = capital_alone(288_000, 4, 0.1, 0)
    assert capital_alone(288_000, 4, 0.1, 1e-12) == pytest.approx(straight, rel=1e-9)
    assert capital_alone(288_000, 4, 0.1, 1e-3) > straight


def test_hosting_and_energy_come_on_top() -> None:
    """730 USD of hosting are 1 USD/h; 10 kW x 1.25 x 0.08 USD/kWh are 1 USD/h as well."""
    assert owned_usd_per_node_hour(0, 4, 0, 0, 730, 10, 1.25, 0.08, 730) == pytest.approx(2.0)
    found = owned_usd_per_node_hour(288_000, np.array([2, 4]), 0, np.array([[0.0], [0.05]]), 0, 0, 1, 0, 730)
    assert found.shape == (2, 2)
    assert np.isnan(owned_usd_per_node_hour(np.nan, 4, 0, 0, 0, 1, 1, 1, 730))


def test_reserved_and_committed() -> None:
    assert reserved_usd_per_hour(40.0, 0.4) == pytest.approx(24.0)
    assert usd_committed(24.0, 730, 3) == pytest.approx(24 * 730 * 36)


@pytest.mark.parametrize(
    ("nodes", "share", "wide", "expected"),
    [
        (10, 0.0, 1, 0),
        (10, 0.3, 1, 3),  # 0.3 x 10 is 3 on paper
        (100, 0.29, 1, 29),  # and 0.29 x 100 is 28.999999999999996 in binary
        (10, 0.39, 1, 3),
        (10, 0.39, 2, 2),  # 5 groups of two: 1.95 are one group
        (11, 0.5, 4, 4),  # two groups, and three nodes that hold nothing
        (11, 1.0, 4, 11),
    ],
)
def test_spot_nodes_are_whole_groups(nodes: int, share: float, wide: int, expected: int) -> None:
    assert nodes_spot(nodes, share, wide) == expected


def test_the_largest_share_on_spot() -> None:
    assert spot_share_max(60, 16, 10.0) == pytest.approx(0.625)
    assert spot_share_max(160, 16, 10.0) == 0
    assert spot_share_max(200, 16, 10.0) == 0  # the fleet cannot carry the peak as it is
    assert spot_share_max(60, 0, 10.0) == 0


def test_case_e12_power_of_a_facility() -> None:
    """llm-d-planner issue 70: 8 x 700 W x 1.3 = 7.28 kW, and 730 h at 0.12 USD/kWh are 637.73 USD."""
    facility = facility_power_kw(it_power_kw(8, 700, 1.0, 1, 0), 1.3)
    assert facility == pytest.approx(7.28, abs=1e-3)
    assert usd_energy_per_month(energy_kwh_per_month(facility, 730), 0.12) == pytest.approx(637.73, abs=0.01)
    assert it_power_kw(8, 700, 0.5, 1, 1000) == pytest.approx(3.8)


def test_case_e05_joules_of_a_token() -> None:
    """InferenceX pull request 2323: 0.58799 J at 0.1 USD/kWh are 0.016333 USD and 0.16333 kWh a million tokens."""
    joules = energy_j_per_token(0.58799 * 1e6 / 3.6e6, 1e6)
    assert joules == pytest.approx(0.58799)
    assert energy_kwh_per_mtok(joules) == pytest.approx(0.16333, abs=1e-4)
    assert energy_usd_per_mtok(joules, 0.1) == pytest.approx(0.016333, abs=1e-5)
