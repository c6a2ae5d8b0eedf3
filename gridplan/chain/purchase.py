"""What a node-hour and a GPU-hour cost by how they are bought, and what is doubtful about it.

Kinds of purchase that no cell uses are not read, so that a price never carries a dimension of one that is not paid.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import as_it_is, first_given
from gridplan.chain.spot import plain_bill

__all__ = ["PRICES", "PRICE_RANGE", "purchase_steps"]

PRICE_RANGE = (0.01, 1000.0)
"""USD per GPU-hour outside which a price is taken for a slip (policy, 2026-11-30; the catalog's lie in 0.22 to 27)."""

_LISTED = ("on_demand", "portfolio")
"""Kinds that pay the list price for what is neither committed nor on spot."""

_READS = {
    "on_demand_usd_per_node_hour": _LISTED,
    "spot_usd_per_node_hour": ("spot",),
    "reserved_usd_per_node_hour": ("reserved",),
    "owned_usd_per_node_hour": ("owned",),
    "usd_per_gpu_hour": (*_LISTED, "reserved"),
    "reserved_discount": ("reserved",),
}
"""Prices, and the kinds of purchase that read them."""


def node_power_kw(
    gpus_per_node: Array, power_w_per_gpu: Array, power_utilization: Array, power_w_per_node: Array
) -> Array:
    """IT power of one node [kW]."""
    result: Array = kernels.it_power_kw(gpus_per_node, power_w_per_gpu, power_utilization, 1.0, power_w_per_node)
    return result


def base_usd_per_node_hour(
    purchase_code: Array,
    on_demand_usd_per_node_hour: Array,
    reserved_usd_per_node_hour: Array,
    spot_usd_per_node_hour: Array,
    owned_usd_per_node_hour: Array,
) -> Array:
    """Price of an hour of a node that `spot_share` does not put on spot [USD/h]."""
    others = {
        "reserved": reserved_usd_per_node_hour,
        "spot": spot_usd_per_node_hour,
        "owned": owned_usd_per_node_hour,
    }
    is_kind = [purchase_code == code("purchase", name) for name in others]
    return np.select(is_kind, list(others.values()), on_demand_usd_per_node_hour)


def base_usd_per_gpu_hour(purchase_code: Array, usd_per_gpu_hour: Array, reserved_discount: Array) -> Array:
    """The same of a GPU that is rented by itself [USD/h]: listed or reserved; spot and own hardware come as nodes."""
    reserved = kernels.reserved_usd_per_hour(usd_per_gpu_hour, reserved_discount)
    listed = np.isin(purchase_code, [code("purchase", name) for name in _LISTED])
    kinds = [listed, purchase_code == code("purchase", "reserved")]
    return np.select(kinds, [usd_per_gpu_hour, reserved], np.nan)


def committed_usd_per_node_hour(
    reserved_usd_per_node_hour: Array, reserved_discount: Array, on_demand_usd_per_node_hour: Array
) -> Array:
    """Price of a node-hour under a commitment [USD/h]: as given, else the list price less the discount."""
    return first_given(reserved_usd_per_node_hour, (1.0 - reserved_discount) * on_demand_usd_per_node_hour)


def spot_share_used(purchase_code: Array, spot_share: Array) -> Array:
    """Share of the nodes on spot [1]: all of them where the purchase is spot.

    Null for a portfolio, whose share differs by the hour and never holds what limits need.
    """
    kinds = [purchase_code == code("purchase", name) for name in ("spot", "portfolio")]
    return np.select(kinds, [1.0, np.nan], spot_share)


def price_flag_code(
    purchase_code: Array,
    base_usd_per_node_hour: Array,
    base_usd_per_gpu_hour: Array,
    reserved_discount: Array,
    spot_usd_per_node_hour: Array,
    spot_share_used: Array,
    spot_share: Array,
    committed_usd_per_node_hour: Array,
    gpus_per_node: Array,
    price_stale: Array,
) -> Array:
    """Why a price is null or doubtful, the first reason that holds; null where it is neither.

    A portfolio pays three prices: each of them may be absurd.
    """
    node, gpu, unsized = base_usd_per_node_hour, base_usd_per_gpu_hour, np.isnan(gpus_per_node)
    listed = np.isin(purchase_code, [code("purchase", name) for name in _LISTED])
    reserved, owned = (purchase_code == code("purchase", name) for name in ("reserved", "owned"))
    missing, on_spot = np.isnan(node) & np.isnan(gpu), spot_share_used > 0
    discounted = reserved & ~np.isnan(reserved_discount)
    least, most = PRICE_RANGE
    paid = np.where(np.isnan(node), gpu, node / gpus_per_node)
    of_spot = spot_usd_per_node_hour / gpus_per_node
    several = purchase_code == code("purchase", "portfolio")
    bound = np.where(several, committed_usd_per_node_hour / gpus_per_node, np.nan)
    tail = np.where(on_spot | (several & (spot_share > 0)), of_spot, np.nan)
    reasons = {
        "no_price": (listed | discounted) & missing,
        "no_spot_price": on_spot & np.isnan(spot_usd_per_node_hour),
        "no_reserved_price": reserved & missing,
        "needs_node_size": unsized & (owned | on_spot | np.isnan(gpu)),
        "absurd": np.any(
            [(price < least) | (price > most) for price in np.broadcast_arrays(paid, bound, tail)], axis=0
        ),
        "stale": price_stale == 1.0,
    }
    codes = [choices("price_flag").index(name) for name in reasons]
    return np.select(np.broadcast_arrays(*reasons.values()), codes, NULL)


def _price_steps(kinds: Collection[str], mixed: bool) -> dict[str, Step]:
    """Steps that make the prices of the kinds in use, by what they make; a price that no kind reads is not given."""
    nothing = {name: "nothing" for name, readers in _READS.items() if not set(readers) & set(kinds)}

    def reads(*names: str) -> dict[str, str]:
        return {name: nothing[name] for name in names if name in nothing}

    node = reads(*(name for name in _READS if name not in ("usd_per_gpu_hour", "reserved_discount")))
    spot = {} if mixed or "spot" in kinds else {"spot_usd_per_node_hour": "nothing"}
    if "portfolio" not in kinds:
        spot |= {"committed_usd_per_node_hour": "nothing", "spot_share": "nothing"}
    return {
        "base_usd_per_node_hour": step("base_usd_per_node_hour", base_usd_per_node_hour, **node),
        "base_usd_per_gpu_hour": step(
            "base_usd_per_gpu_hour", base_usd_per_gpu_hour, **reads("usd_per_gpu_hour", "reserved_discount")
        ),
        "price_flag_code": step("price_flag_code", price_flag_code, **reads("reserved_discount"), **spot),
    }


PRICES: tuple[Step, ...] = (
    step("on_demand_usd_per_node_hour", as_it_is, value="usd_per_node_hour"),
    step("committed_usd_per_node_hour", committed_usd_per_node_hour),
    step("node_power_kw", node_power_kw),
    step(
        "owned_usd_per_node_hour",
        kernels.owned_usd_per_node_hour,
        **{
            "capital": "capital_usd_per_node",
            "years": "amortization_years",
            "residual": "residual_share",
            "interest": "interest_rate",
            "hosting_month": "hosting_usd_per_node_month",
            "power_kw_it": "node_power_kw",
        },
    ),
    *(item for name, item in _price_steps(choices("purchase"), mixed=True).items() if name != "price_flag_code"),
    step("spot_share_used", spot_share_used),
    _price_steps(choices("purchase"), mixed=True)["price_flag_code"],
)
"""Prices of a node and of a GPU, on the few dimensions of what sets them."""


def purchase_steps(kinds: Collection[str], mixed: bool) -> dict[str, Step]:
    """Shorter steps for a cube that uses these kinds of purchase, by their result.

    `mixed` says that some cell puts a share of its nodes on spot beside another purchase.
    """
    chosen = _price_steps(kinds, mixed)
    if set(kinds) <= set(_LISTED):
        chosen["base_usd_per_node_hour"] = step("base_usd_per_node_hour", as_it_is, value="on_demand_usd_per_node_hour")
        chosen["base_usd_per_gpu_hour"] = step("base_usd_per_gpu_hour", as_it_is, value="usd_per_gpu_hour")
    if not mixed:
        chosen |= {name: plain_bill(name) for name in ("usd_base_per_hour", "usd_per_hour")}
    return chosen
