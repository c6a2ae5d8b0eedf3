"""The load over a month, and what a portfolio buys for it: by hand, by enumeration, by the newsvendor's rule."""

from __future__ import annotations

import numpy as np
import pytest

from gridplan.formulas import load_levels, load_means, portfolio, portfolio_bill

NAN = np.nan
HOURS = [8.0, 4.0, 2.0, 2.0]
LIMITS = [6.0, 3.0, 1.0, 1.0]
QUARTERS = [0.25] * 4


@pytest.mark.parametrize("ratio", [1.0, 1.2, 2.0, 3.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("levels", [1, 5, 24, 730])
def test_the_curve_starts_at_the_peak_falls_and_has_the_mean(ratio: float, share: float, levels: int) -> None:
    floor = share / ratio
    highest, mean = load_levels(ratio, floor, levels), load_means(ratio, floor, levels)
    assert highest[0] == pytest.approx(1.0, rel=1e-15)
    assert mean.mean() == pytest.approx(1 / ratio, rel=1e-12)
    assert (np.diff(highest) <= 0).all()
    assert (mean <= highest * (1 + 1e-12)).all()
    assert (mean[:-1] >= highest[1:] * (1 - 1e-12)).all()
    assert (mean >= floor * (1 - 1e-12)).all()


def test_a_curve_by_hand() -> None:
    # PAR 2 with a floor of 0.2: b = 0.8 / 0.3 - 1 = 5/3, so half way through L = 0.2 + 0.8 * 0.5 ** (5/3).
    np.testing.assert_allclose(load_levels(2, 0.2, 2), [1.0, 0.2 + 0.8 * 0.5 ** (5 / 3)], rtol=1e-14)
    assert load_levels(1, 0.7, 3).tolist() == [1.0, 1.0, 1.0]


def test_a_floor_that_is_not_below_the_mean_leaves_no_curve() -> None:
    assert np.isnan(load_levels(2, 0.5)).all()
    assert np.isnan(load_levels(NAN, 0.0)).all()
    assert np.isnan(load_means(3, 0.4)).all()


def test_levels_stand_before_the_axes_of_their_arguments() -> None:
    ratios, floors = np.array([[2.0], [3.0]]), np.array([0.0, 0.1, 0.2])
    levels = load_levels(ratios, floors)
    assert levels.shape == (24, 2, 3)
    np.testing.assert_array_equal(levels[:, 1, 2], load_levels(3.0, 0.2))


@pytest.mark.parametrize(
    ("prices", "share", "expected"),
    [
        # At 6 of 10 USD a node pays when it is needed for more than 60% of the time: two are always, four half of it.
        ((6.0, 10.0, NAN), 0.0, (2, 2.0, 0.0, 32.0)),
        # At 4 of 10 USD the four that are needed half of the time pay, too.
        ((4.0, 10.0, NAN), 0.0, (4, 1.0, 0.0, 26.0)),
        # At half of the price four cost what two do: the smaller commitment.
        ((5.0, 10.0, NAN), 0.0, (2, 2.0, 0.0, 30.0)),
        # Nothing reserved is offered, or it costs as much as on demand.
        ((NAN, 10.0, NAN), 0.0, (0, 4.0, 0.0, 40.0)),
        ((10.0, 10.0, NAN), 0.0, (0, 4.0, 0.0, 40.0)),
        # Nothing on demand: the whole peak is committed; with spot all but its share of the peak, which is 2.
        ((6.0, NAN, NAN), 0.0, (8, 0.0, 0.0, 48.0)),
        ((6.0, NAN, 3.0), 0.25, (6, 0.0, 0.5, 37.5)),
        # Spot may hold half of the nodes, and yet no more than the limits can do without: 2, 1, 1 and 1.
        ((NAN, 10.0, 3.0), 0.5, (0, 2.75, 1.25, 31.25)),
        # Dearer than on demand, and as dear: unused.
        ((6.0, 10.0, 11.0), 0.5, (2, 2.0, 0.0, 32.0)),
        ((6.0, 10.0, 10.0), 0.5, (2, 2.0, 0.0, 32.0)),
    ],
)
def test_small_portfolios_by_hand(
    prices: tuple[float, float, float], share: float, expected: tuple[float, ...]
) -> None:
    bought = portfolio(HOURS, LIMITS, QUARTERS, *prices, share)
    assert tuple(map(float, bought[:4])) == expected


def test_what_nobody_sells_is_null() -> None:
    assert np.isnan(portfolio(HOURS, LIMITS, QUARTERS, NAN, NAN, NAN)).all()
    assert np.isnan(portfolio(HOURS, LIMITS, QUARTERS, NAN, NAN, 3.0, 0.5)).all()  # spot holds no peak alone
    assert np.isnan(portfolio([8.0, NAN], [8.0, 2.0], [0.5, 0.5], 6.0, 10.0, NAN)).all()


def test_a_fleet_of_nothing_costs_nothing() -> None:
    assert tuple(map(float, portfolio([0.0, 0.0], [0.0, 0.0], [0.5, 0.5], 6.0, NAN, NAN))) == (0, 0, 0, 0, 0)


def test_no_commitment_costs_less_than_the_one_chosen() -> None:
    """All commitments up to the peak, in 2,000 random fleets and price lists."""
    rng = np.random.default_rng(20261130)
    for _ in range(2000):
        count = rng.integers(1, 7)
        needed = rng.integers(0, 13, count).astype(float)
        slo = np.minimum(needed, rng.integers(0, 13, count)) if rng.random() < 0.8 else needed + 1
        weights = rng.random(count) + 0.01
        weights = np.full(count, 1 / count) if rng.random() < 0.3 else weights / weights.sum()
        reserved, on_demand, spot = (float(rng.choice([NAN, *range(1, 11)])) for _ in range(3))
        offers = (reserved, on_demand, spot, float(rng.choice([0.0, 0.1, 0.25, 0.5, 1.0])))
        bought = portfolio(needed, slo, weights, *offers)
        bills = portfolio_bill(np.arange(14.0), needed[:, None], slo[:, None], weights[:, None], *offers)
        if np.isnan(bills).all():
            assert np.isnan(bought).all()
            continue
        least = float(np.nanmin(bills))
        assert float(bought.usd_per_hour) == pytest.approx(least, rel=1e-9, abs=1e-12)
        smallest = np.flatnonzero(bills <= least * (1 + 1e-9) + 1e-12)[0]
        assert float(bought.nodes_committed) == smallest


def test_without_spot_the_commitment_is_the_quantile_of_the_critical_ratio() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        needed = np.sort(rng.integers(0, 40, 24)).astype(float)
        on_demand = rng.uniform(1, 50)
        critical = rng.uniform(0.01, 0.99)
        if abs(critical * 24 - round(critical * 24)) < 1e-6:
            continue  # two quantiles cost the same
        bought = portfolio(needed, needed, [1 / 24] * 24, (1 - critical) * on_demand, on_demand, NAN)
        assert float(bought.nodes_committed) == needed[int(np.ceil(critical * 24)) - 1]


def test_arrays_of_fleets_are_those_fleets_one_by_one() -> None:
    rng = np.random.default_rng(3)
    needed = rng.integers(1, 30, (24, 5, 1)).astype(float)
    slo = np.floor(needed * 0.7)
    reserved, share = np.array([4.0, 6.0, NAN]), np.linspace(0, 0.5, 5)[:, np.newaxis]
    together = portfolio(needed, slo, [1 / 24] * 24, reserved, 10.0, 3.0, share)
    for fleet in range(5):
        for offer in range(3):
            alone = portfolio(
                needed[:, fleet, 0], slo[:, fleet, 0], [1 / 24] * 24, reserved[offer], 10.0, 3.0, share[fleet, 0]
            )
            np.testing.assert_allclose([item[fleet, offer] for item in together], np.array(alone), rtol=1e-12)
