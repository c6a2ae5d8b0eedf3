"""Fleets of two kinds of nodes: against every fleet in turn, and what a loss takes unit by unit."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridplan.formulas import Demand, NodeKind, cheapest_pair, nodes_of_one_kind, units_beside

ONE = np.ones(1)


def carries(units: list[int], rates: list[int], lost: int, arrival_rate: int) -> bool:
    """Whether what is left carries the rate when the units that carry most are lost one by one."""
    each = sorted((rate for count, rate in zip(units, rates, strict=True) for _ in range(count)), reverse=True)
    return sum(each[lost:]) >= arrival_rate


@given(st.integers(1, 60), st.integers(0, 12), st.integers(1, 9), st.integers(1, 9), st.integers(0, 4))
def test_the_least_units_beside_others(arrival_rate: int, units: int, own: int, other: int, lost: int) -> None:
    least = next(n for n in range(200) if carries([units, n], [own, other], lost, arrival_rate))
    assert units_beside(arrival_rate, units, own, other, lost) == least
    if least:
        assert not carries([units, least - 1], [own, other], lost, arrival_rate)


def test_rates_that_are_whole_on_paper_need_no_unit_more() -> None:
    # 0.1 x 3 + 0.7 x 2 is 1.7 on paper, and above it in float64.
    assert Fraction("0.1") * 3 + Fraction("0.7") * 2 == Fraction("1.7")
    assert units_beside(1.7, 3, 0.1, 0.7, 0) == 2
    assert units_beside(2.1, 0, 0.1, 0.7, 0) == 3


def fleets(seed: int, number: int) -> list[tuple[list[int], list[int], list[int], int, int, bool]]:
    """Of two kinds replicas of a node, rate of a replica and price; arrival rate, lost units, whether these are nodes.

    A price follows what the node carries, so that many cheapest fleets have both kinds.
    """
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        per_node, rates = [draw.choice([1, 2, 4, 8]) for _ in range(2)], [draw.randint(1, 9) for _ in range(2)]
        usd = [n * rate + draw.randint(0, 4) for n, rate in zip(per_node, rates, strict=True)]
        found.append((per_node, rates, usd, draw.randint(1, 150), draw.randint(0, 3), draw.random() < 0.5))
    return found


def cheapest(per_node: list[int], rates: list[int], usd: list[int], arrival: int, lost: int, by_node: bool) -> int:
    """The lowest bill of all fleets, each looked at unit by unit."""
    units = [1, 1] if by_node else per_node
    unit_rates = [n * rate for n, rate in zip(per_node, rates, strict=True)] if by_node else rates
    alone = [
        next(n for n in range(500) if carries([n * u], [r], lost, arrival))
        for u, r in zip(units, unit_rates, strict=True)
    ]
    return min(
        n * usd[0] + m * usd[1]
        for n in range(alone[0] + 1)
        for m in range(alone[1] + 1)
        if carries([n * units[0], m * units[1]], unit_rates, lost, arrival)
    )


def kinds_of(drawn: list[tuple[list[int], list[int], list[int], int, int, bool]]) -> tuple[NodeKind, NodeKind, Demand]:
    columns = [np.array(item, dtype=float) for item in zip(*drawn, strict=True)]
    per_node, rates, usd = (item.T for item in columns[:3])
    arrival, lost, by_node = columns[3], columns[4], columns[5] == 1
    units, of_unit = np.where(by_node, 1.0, per_node), np.where(by_node, per_node * rates, rates)
    return (
        NodeKind(units[0], usd[0]),
        NodeKind(units[1], usd[1]),
        Demand(arrival, lost, (of_unit[0], of_unit[1])),
    )


def test_no_fleet_of_two_kinds_is_cheaper() -> None:
    drawn = fleets(seed=7, number=800)
    first, second, demand = kinds_of(drawn)
    one, other, bill = cheapest_pair(first, second, [demand])
    mixed = 0
    for case, n, m, usd in zip(drawn, one.tolist(), other.tolist(), bill.tolist(), strict=True):
        per_node, rates, prices, arrival, lost, by_node = case
        units = [int(n), int(m)] if by_node else [int(n) * per_node[0], int(m) * per_node[1]]
        unit_rates = [k * rate for k, rate in zip(per_node, rates, strict=True)] if by_node else rates
        assert carries(units, unit_rates, lost, arrival)
        assert usd == n * prices[0] + m * prices[1] == cheapest(*case)
        mixed += n > 0 and m > 0
    assert mixed > 100


def test_the_rounds_of_many_trials_join(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, demand = kinds_of(fleets(seed=8, number=60))
    whole = cheapest_pair(first, second, [demand])
    monkeypatch.setattr("gridplan.formulas.two_kinds._TRIALS_AT_ONCE", 100)
    for a, b in zip(whole, cheapest_pair(first, second, [demand]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_kind_alone_is_a_pair_without_the_other() -> None:
    first, second, demand = kinds_of(fleets(seed=9, number=200))
    dear = NodeKind(second.units, second.usd_per_hour + 1e6)
    one, other, _ = cheapest_pair(first, dear, [demand])
    np.testing.assert_array_equal(one, nodes_of_one_kind(first, [demand], 0))
    assert not other.any()


def test_two_demands_are_both_met() -> None:
    # Without a loss 60 req/s at 5 each need 12 replicas, three nodes of four; at 8 each after the loss of five
    # replicas, 8 + 5 = 13, which is four nodes.
    kind = NodeKind(4 * ONE, ONE)
    before, after = Demand(60 * ONE, 0 * ONE, (5 * ONE, 5 * ONE)), Demand(60 * ONE, 5 * ONE, (8 * ONE, 8 * ONE))
    assert [nodes_of_one_kind(kind, demands, 0).item() for demands in ([before], [after], [before, after])] == [3, 4, 4]
    one, other, bill = cheapest_pair(kind, NodeKind(ONE, 10 * ONE), [before, after])
    assert (one.item(), other.item(), bill.item()) == (4, 0, 4)


def test_unknown_figures_give_no_fleet() -> None:
    demand = Demand(60 * np.ones(3), np.zeros(3), (5 * np.ones(3), 5 * np.ones(3)))
    known = NodeKind(np.ones(3), np.ones(3))
    none = NodeKind(np.ones(3), np.array([1.0, np.nan, np.nan]))
    found = cheapest_pair(known, none, [demand._replace(arrival_rate=np.array([60, 60, np.nan]))])
    np.testing.assert_array_equal(found[2], [12, np.nan, np.nan])


@given(st.integers(1, 200), st.integers(0, 3), st.integers(1, 9), st.integers(1, 9))
def test_more_load_never_costs_less(arrival_rate: int, lost: int, own: int, other: int) -> None:
    kinds = NodeKind(4 * ONE, 7 * ONE), NodeKind(ONE, 2 * ONE)
    rates = (own * ONE, other * ONE)
    bills = [
        cheapest_pair(*kinds, [Demand((arrival_rate + more) * ONE, (lost + fails) * ONE, rates)])[2].item()
        for more, fails in ((0, 0), (1, 0), (0, 1))
    ]
    assert bills[0] <= min(bills)
