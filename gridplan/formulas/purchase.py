"""What a node-hour costs by the way it is bought, and what a fleet keeps when its spot nodes are taken back.

Source: linear depreciation and the annuity with monthly payments are textbook accounting; the rest is counting whole
nodes and replicas.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import count, formula
from gridplan.formulas._types import Value
from gridplan.rounding import floor_exact

__all__ = [
    "nodes_spot",
    "owned_usd_per_node_hour",
    "reserved_usd_per_hour",
    "spot_share_max",
    "usd_committed",
]

MONTHS_PER_YEAR = 12.0


@formula
def owned_usd_per_node_hour(
    capital: Value,
    years: Value,
    residual: Value,
    interest: Value,
    hosting_month: Value,
    power_kw_it: Value,
    pue: Value,
    usd_per_kwh: Value,
    hours_per_month: Value,
) -> Value:
    """Price of an hour of a node of one's own: capital, hosting and energy, all hours of a month alike [USD/h].

    Without interest the capital [USD] is written off in a straight line over n = 12 years [years] months,
    capital (1 - residual) / n a month. With it, each month pays the annuity of the capital less the present value of
    what is left: capital (1 - residual (1 + i)^-n) i / (1 - (1 + i)^-n), where i = interest / 12 is the rate of a
    month. Residual [1] is the share left at the end, interest [1] the nominal rate of a year, hosting_month
    [USD/month], power_kw_it [kW] the IT power of the node, which the facility takes `pue` times, usd_per_kwh [USD/kWh].

    288,000 USD over 4 years are 6,000 a month; with 2,300 for hosting and 10 kW x 1.25 x 0.08 USD/kWh x 730 h = 730
    for energy, 9,030 USD for 730 hours. At 12% a year a loan of 10,000 over a year takes 888.49 a month.

    >>> round(owned_usd_per_node_hour(288000, 4, 0, 0, 2300, 10, 1.25, 0.08, 730), 4)
    12.3699
    >>> round(730 * owned_usd_per_node_hour(10000, 1, 0, 0.12, 0, 0, 1, 0, 730), 2)
    888.49
    """
    months, monthly = MONTHS_PER_YEAR * years, interest / MONTHS_PER_YEAR
    grown = -np.expm1(-months * np.log1p(monthly))  # 1 - (1 + i)^-n, exact for a small rate too
    annuity = capital * (1.0 - residual * (1.0 - grown)) * monthly / grown
    straight = capital * (1.0 - residual) / months
    paid = np.where(monthly == 0.0, straight, annuity)
    return (paid + hosting_month) / hours_per_month + power_kw_it * pue * usd_per_kwh


@formula
def reserved_usd_per_hour(usd_per_hour: Value, discount: Value) -> Value:
    """Price under a commitment: (1 - discount) times the list price [USD/h], of a node or of a GPU.

    >>> round(reserved_usd_per_hour(40.96, 0.25), 9)
    30.72
    """
    return usd_per_hour * (1.0 - discount)


@formula
def usd_committed(usd_per_hour: Value, hours_per_month: Value, years: Value) -> Value:
    """Sum that a commitment binds: the hourly bill under it times all hours of its years [USD].

    >>> usd_committed(2 * 30, 730, 1)
    525600.0
    """
    return usd_per_hour * (hours_per_month * MONTHS_PER_YEAR * years)


@count
def nodes_spot(nodes: Value, share: Value, nodes_per_replica: Value) -> Value:
    """Nodes on spot: floor(share n) of the n groups of nodes that hold a replica, rounded down [count].

    A replica wider than a node is lost with any of its nodes, so its nodes are bought alike. All nodes at share 1.

    >>> nodes_spot(10, 0.29, 1), nodes_spot(10, 0.5, 4), nodes_spot(10, 1.0, 4)
    (2, 4, 10)
    """
    groups = floor_exact(nodes / nodes_per_replica)
    return np.where(share == 1.0, nodes, floor_exact(share * groups) * nodes_per_replica)


@formula
def spot_share_max(
    arrival_rate: Value, replicas_deployed: Value, lambda_instance: Value, replicas_out: Value = 0.0
) -> Value:
    """Largest share on spot with which limits hold when all spot nodes go, at least 0 [1].

    1 - (arrival_rate / lambda + replicas_out) / n, with replicas_out [count] in maintenance at the same time. 16
    replicas of 10 req/s at a peak of 60: ten may go, 62.5%; eight beside two in maintenance:

    >>> spot_share_max(60, 16, 10.0), spot_share_max(60, 16, 10.0, 2)
    (0.625, 0.5)
    """
    return np.maximum(1.0 - (arrival_rate / lambda_instance + replicas_out) / replicas_deployed, 0.0)
