"""A portfolio of nodes: base committed, swing on demand, tail on spot, at the least mean bill.

Committed nodes are paid every hour, the others only in hours that need them, so a node is worth a commitment where it
is needed for more than the share c_r / c_o of the time: the newsvendor's critical ratio, by which the commitment is the
(1 - c_r / c_o) quantile of the nodes needed. Source: Porteus, "Foundations of Stochastic Inventory Theory", 2002,
chapter 1, for the rule; that spot is a cheaper tail of the same demand, and holds nothing that the limits need, is of
this project (2026-11-30).

Spot splits the need of an hour in two: a part n - m that on-demand nodes would fill, and m nodes above it that spot
would. A committed node in the first part saves c_o, one in the second c_s. As c_s < c_o, the bill is convex in the
commitment, and its least is where the saving of one more node no longer exceeds c_r: a quantile again, of both parts
together with these savings as weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gridplan.formulas._types import Value
from gridplan.rounding import floor_exact

__all__ = ["Portfolio", "portfolio", "portfolio_bill"]

TIE = 1e-12
"""Relative rounding error of summed savings that does not make one more node worth its commitment (policy)."""

_Array = npt.NDArray[np.float64]


class Portfolio(NamedTuple):
    """What is bought, in nodes, and the mean bill; NaN where nothing that is for sale covers the need."""

    nodes_committed: _Array
    nodes_on_demand_mean: _Array
    nodes_spot_mean: _Array
    usd_per_hour: _Array
    nodes_committed_used_mean: _Array
    """Committed nodes that are needed, over all hours."""


def portfolio(
    nodes_needed: Value,
    nodes_slo: Value,
    weights: Value,
    reserved: Value,
    on_demand: Value,
    spot: Value,
    spot_share: Value = 0.0,
) -> Portfolio:
    """The commitment with the least mean bill, and what is bought beside it; of equal bills the smaller commitment.

    The first axis of nodes_needed, nodes_slo and weights is that of levels of load: nodes needed with spares, nodes
    that the limits need [nodes], and the share of time at that level [1], which sum to 1. Prices `reserved`,
    `on_demand` and `spot` [USD/h of a node] are NaN where there is no such offer; `spot_share` [1] is the largest share
    of the nodes that may be on spot. Arrays broadcast; NaN nodes give NaN.

    Eight nodes in a quarter of the time, four in the next and two otherwise, at 10 USD on demand: at 6 committed, a
    node pays when it is needed for more than 60% of the time, which two are. The bill is 2 x 6 + 10 (6 + 2) / 4.

    >>> committed, on_demand, _, bill, _ = portfolio([8, 4, 2, 2], [6, 3, 1, 1], [0.25] * 4, 6.0, 10.0, np.nan)
    >>> print(committed, on_demand, bill)
    2.0 2.0 32.0

    A quarter of the nodes on spot at 3 USD, two of eight and one of four, takes 2 x 7 and 1 x 7 USD off those hours:

    >>> print(*portfolio([8, 4, 2, 2], [6, 3, 1, 1], [0.25] * 4, 6.0, 10.0, 3.0, 0.25)[:4])
    2.0 1.25 0.75 26.75
    """
    with np.errstate(all="ignore"):
        need = _need(nodes_needed, nodes_slo, weights, (reserved, on_demand, spot), spot_share)
        return _bought(_least_commitment(need), need)


def portfolio_bill(
    nodes_committed: Value,
    nodes_needed: Value,
    nodes_slo: Value,
    weights: Value,
    reserved: Value,
    on_demand: Value,
    spot: Value,
    spot_share: Value = 0.0,
) -> Value:
    """Mean bill of any commitment [USD/h]: c_r K + sum w (c_o od + c_s spot), the rest as for `portfolio`.

    spot = min(max(n - max(s, K), 0), floor(spot_share n)) and od = max(n - K - spot, 0) at a level that needs n nodes,
    s of them for the limits. Committing four nodes of the example there costs 4 x 6 + 10 x 4 / 4:

    >>> print(portfolio_bill(4, [8, 4, 2, 2], [6, 3, 1, 1], [0.25] * 4, 6.0, 10.0, np.nan))
    34.0
    """
    with np.errstate(all="ignore"):
        need = _need(nodes_needed, nodes_slo, weights, (reserved, on_demand, spot), spot_share)
        return _bought(np.asarray(nodes_committed, dtype=np.float64), need).usd_per_hour


class _Need(NamedTuple):
    """Nodes needed, those for the limits and the most on spot, by level; the time of each; and what a node costs."""

    needed: _Array
    slo: _Array
    most_spot: _Array
    share: _Array
    committed: _Array
    swing: _Array
    tail: _Array

    def on_spot(self, held: Any) -> Any:
        """Nodes on spot at each level: what is above the nodes held otherwise, up to the share that may be."""
        return np.minimum(np.maximum(self.needed - held, 0.0), self.most_spot)


def _need(needed: Value, slo: Value, share: Value, prices: tuple[Value, Value, Value], spot_share: Value) -> _Need:
    reserved, on_demand, spot, most_share = (np.asarray(x, dtype=np.float64) for x in (*prices, spot_share))
    by_level = [np.asarray(x, dtype=np.float64) for x in (needed, slo, share)]
    rank = max(*(x.ndim for x in by_level), *(x.ndim + 1 for x in (reserved, on_demand, spot, most_share)))
    # An array with fewer axes varies with the level alone.
    by_level = [x.reshape(x.shape[0], *[1] * (rank - x.ndim), *x.shape[1:]) for x in by_level]
    # What nobody sells costs more than anything.
    committed, swing = (np.where(np.isnan(price), np.inf, price) for price in (reserved, on_demand))
    offered = spot < swing  # a spot price that saves nothing is no reason to lose nodes
    most = np.where(offered, floor_exact(most_share * by_level[0]), 0.0)
    return _Need(by_level[0], by_level[1], most, by_level[2], committed, swing, np.where(offered, spot, 0.0))


def _least_commitment(need: _Need) -> Any:
    """The smallest commitment at which one more node saves no more than it costs."""
    shape = np.broadcast_shapes(*(item.shape for item in need))
    on_spot = need.on_spot(need.slo)
    parts = _both(need.needed - on_spot, need.needed, shape)
    saved = _both(_paid(need.swing - need.tail, need.share), _paid(need.tail, need.share), shape)
    order = np.argsort(-parts, axis=0, kind="stable")
    parts, saved = (np.take_along_axis(item, order, axis=0) for item in (parts, saved))
    above = np.cumsum(saved, axis=0)
    limit = need.committed * (1.0 + TIE)
    # Savings of the parts above each one: of equal parts the first has the whole sum, the others too much.
    enough = np.concatenate([np.zeros_like(above[:1]), above[:-1]]) <= limit
    lowest = np.min(np.where(enough, parts, np.inf), axis=0)
    return np.where(np.isnan(parts).any(axis=0), np.nan, np.where(above[-1] <= limit, 0.0, lowest))


def _both(lower: Any, upper: Any, shape: tuple[int, ...]) -> Any:
    """Two arrays one behind the other along the axis of levels."""
    return np.concatenate([np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)])


def _paid(price: Any, amount: Any) -> Any:
    """Price times amount; nothing costs nothing, also where it is not for sale."""
    return np.where(amount == 0.0, 0.0, price * amount)


def _bought(kept: Any, need: _Need) -> Portfolio:
    """What a commitment leaves to buy, and the mean bill."""
    on_spot = need.on_spot(np.maximum(need.slo, kept))
    swing = np.maximum(need.needed - kept - on_spot, 0.0)
    amounts = (swing, on_spot, np.minimum(need.needed, kept))
    swing_mean, spot_mean, used = (np.sum(need.share * amount, axis=0) for amount in amounts)
    bill = _paid(need.committed, kept) + _paid(need.swing, swing_mean) + _paid(need.tail, spot_mean)
    known = np.isfinite(bill)
    return Portfolio(*(np.where(known, item, np.nan)[()] for item in (kept, swing_mean, spot_mean, bill, used)))
