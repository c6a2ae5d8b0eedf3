"""What a portfolio of nodes needs, what contradicts it, and what in a contract it does not use."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gridplan.chain.codes import code
from gridplan.engine.field import Field
from gridplan.engine.resolve import Resolver

__all__ = ["check_portfolio", "portfolio_unused"]


def check_portfolio(resolver: Resolver, values: Mapping[str, Field]) -> None:
    """Note what keeps a cell that buys a portfolio from having one."""
    bought = values["purchase_code"].data == code("purchase", "portfolio")
    if not bought.any():
        return

    def has(name: str) -> np.ndarray:
        return np.asarray(~np.isnan(values[name].data))

    priced = has("usd_per_node_hour") | has("reserved_usd_per_node_hour")
    if (bought & ~has("peak_to_average")).any():
        resolver.problem(
            "purchase portfolio needs the load over the hours: peak_to_average (with load_floor), or hourly_load",
            "peak_to_average",
        )
    if (bought & has("nodes_given")).any():
        resolver.problem("purchase portfolio chooses the nodes to buy, and nodes_given has them bought", "nodes_given")
    if (bought & has("usd_per_gpu_hour")).any():
        resolver.problem(
            "purchase portfolio buys whole nodes: give usd_per_node_hour and gpus_per_node, or an instance, and not "
            "usd_per_gpu_hour",
            "usd_per_gpu_hour",
        )
    elif not (bought & priced).any():
        resolver.problem(
            "purchase portfolio needs the price of a node: an instance, or usd_per_node_hour", "usd_per_node_hour"
        )
    elif not (bought & has("gpus_per_node")).any():
        resolver.problem("purchase portfolio needs the size of a node: an instance, or gpus_per_node", "gpus_per_node")


def portfolio_unused(resolver: Resolver, values: Mapping[str, Field]) -> list[str]:
    """Offers that a portfolio was to choose from and does not have, one sentence each."""
    bought = values["purchase_code"].data == code("purchase", "portfolio")
    if not bought.any():
        return []
    said = []
    names = ("reserved_usd_per_node_hour", "reserved_discount", "spot_usd_per_node_hour", "usd_per_node_hour")
    reserved, discount, spot, listed = (~np.isnan(values[name].data) for name in names)
    if (bought & ~(reserved | (discount & listed))).any():
        said.append(
            "purchase portfolio commits nothing where no price of a commitment is known: give "
            "reserved_usd_per_node_hour, or reserved_discount"
        )
    on_spot = bought & (values["spot_share"].data > 0)
    if (on_spot & ~spot).any():
        said.append("spot_share is not used where no spot price is known: give spot_usd_per_node_hour")
    dearer = on_spot & listed & (values["spot_usd_per_node_hour"].data >= values["usd_per_node_hour"].data)
    if dearer.any():
        said.append("spot_share is not used where a spot price is no lower than the on-demand price")
    return said
