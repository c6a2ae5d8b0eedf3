"""What a node-hour costs by how it is bought, which nodes are on spot, and what is left without those.

Kinds of purchase that no cell uses are not read, so that a price never carries a dimension of one that is not paid.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gridplan.chain import cost, fleet
from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.graph import Array, Step, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import as_it_is
from gridplan.rounding import floor_exact

__all__ = ["BILL", "PRICES", "PRICE_RANGE", "WITHOUT_SPOT", "purchase_steps"]

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


def spot_share_used(purchase_code: Array, spot_share: Array) -> Array:
    """Share of the nodes on spot [1]: all of them where the purchase is spot."""
    return np.where(purchase_code == code("purchase", "spot"), 1.0, spot_share)


def price_flag_code(
    purchase_code: Array,
    base_usd_per_node_hour: Array,
    base_usd_per_gpu_hour: Array,
    reserved_discount: Array,
    spot_usd_per_node_hour: Array,
    spot_share_used: Array,
    gpus_per_node: Array,
    price_stale: Array,
) -> Array:
    """Why a price is null or doubtful, the first reason that holds; null where it is neither."""
    node, gpu, unsized = base_usd_per_node_hour, base_usd_per_gpu_hour, np.isnan(gpus_per_node)
    listed = np.isin(purchase_code, [code("purchase", name) for name in _LISTED])
    reserved, owned = (purchase_code == code("purchase", name) for name in ("reserved", "owned"))
    missing, on_spot = np.isnan(node) & np.isnan(gpu), spot_share_used > 0
    discounted = reserved & ~np.isnan(reserved_discount)
    least, most = PRICE_RANGE
    paid = np.where(np.isnan(node), gpu, node / gpus_per_node)
    of_spot = spot_usd_per_node_hour / gpus_per_node
    reasons = {
        "no_price": (listed | discounted) & missing,
        "no_spot_price": on_spot & np.isnan(spot_usd_per_node_hour),
        "no_reserved_price": reserved & missing,
        "needs_node_size": unsized & (owned | on_spot | np.isnan(gpu)),
        "absurd": (paid < least) | (paid > most) | (on_spot & ((of_spot < least) | (of_spot > most))),
        "stale": price_stale == 1.0,
    }
    codes = [choices("price_flag").index(name) for name in reasons]
    return np.select(np.broadcast_arrays(*reasons.values()), codes, NULL)


def nodes_base(nodes: Array, nodes_spot: Array) -> Array:
    """Nodes that are not on spot [nodes]."""
    return nodes - nodes_spot


def _held(nodes: Array, node_replicas: Array, replica_nodes: Array) -> Array:
    """Whole replicas in so many nodes [replicas]; null without a node size."""
    return np.asarray(floor_exact(nodes / replica_nodes) * np.maximum(node_replicas, 1.0))


def replicas_without_spot(
    nodes_base: Array, replicas_deployed: Array, node_replicas: Array, replica_nodes: Array, spot_share_used: Array
) -> Array:
    """Whole replicas on nodes that are not on spot [replicas]."""
    left = _held(nodes_base, node_replicas, replica_nodes)
    return np.where(spot_share_used == 0, replicas_deployed, left)


def spot_share_max(arrival_rate: Array, replicas_deployed: Array, lambda_instance: Array, slots_basis: Array) -> Array:
    """Largest share on spot with which limits hold when all of it goes [1]; null where the rate counts slots only."""
    share = kernels.spot_share_max(arrival_rate, replicas_deployed, lambda_instance)
    return np.where(slots_basis == 1, np.nan, share)


def gpus_base(
    gpus: Array,
    gpus_per_replica: Array,
    nodes_spot: Array,
    node_replicas: Array,
    replica_nodes: Array,
    spot_share_used: Array,
) -> Array:
    """GPUs of the replicas that are not on spot [GPUs], for a fleet whose other nodes are rented GPU by GPU."""
    left = gpus - _held(nodes_spot, node_replicas, replica_nodes) * gpus_per_replica
    return np.where(spot_share_used == 0, gpus, np.maximum(left, 0.0))


def nodes_given_base(nodes_given: Array, nodes_spot: Array, spot_share_used: Array) -> Array:
    """Nodes already bought that are not on spot [nodes]."""
    return np.where(spot_share_used == 0, nodes_given, nodes_given - nodes_spot)


def usd_spot_per_hour(nodes_spot: Array, spot_usd_per_node_hour: Array, spot_share_used: Array) -> Array:
    """Bill of the nodes on spot [USD/h]."""
    return np.where(spot_share_used == 0, 0.0, nodes_spot * spot_usd_per_node_hour)


def usd_per_hour_mixed(usd_base_per_hour: Array, usd_spot_per_hour: Array) -> Array:
    """Bill of an hour [USD/h]."""
    return usd_base_per_hour + usd_spot_per_hour


def usd_committed(
    purchase_code: Array, usd_base_per_hour: Array, hours_per_month: Array, commitment_years: Array
) -> Array:
    """Sum that the commitment binds [USD]; null where nothing is reserved."""
    bound = kernels.usd_committed(usd_base_per_hour, hours_per_month, commitment_years)
    return np.where(purchase_code == code("purchase", "reserved"), bound, np.nan)


def _plain_bill(output: str, **renamed: str) -> Step:
    """The bill of nodes at one price each."""
    prices = {name: f"base_{name}" for name in ("usd_per_node_hour", "usd_per_gpu_hour")}
    return step(output, cost.usd_per_hour, **prices, **renamed)


def _price_steps(kinds: Collection[str], mixed: bool) -> dict[str, Step]:
    """Steps that make the prices of the kinds in use, by what they make; a price that no kind reads is not given."""
    nothing = {name: "nothing" for name, readers in _READS.items() if not set(readers) & set(kinds)}

    def reads(*names: str) -> dict[str, str]:
        return {name: nothing[name] for name in names if name in nothing}

    node = reads(*(name for name in _READS if name not in ("usd_per_gpu_hour", "reserved_discount")))
    spot = {} if mixed or "spot" in kinds else {"spot_usd_per_node_hour": "nothing"}
    return {
        "base_usd_per_node_hour": step("base_usd_per_node_hour", base_usd_per_node_hour, **node),
        "base_usd_per_gpu_hour": step(
            "base_usd_per_gpu_hour", base_usd_per_gpu_hour, **reads("usd_per_gpu_hour", "reserved_discount")
        ),
        "price_flag_code": step("price_flag_code", price_flag_code, **reads("reserved_discount"), **spot),
    }


PRICES: tuple[Step, ...] = (
    step("on_demand_usd_per_node_hour", as_it_is, value="usd_per_node_hour"),
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

WITHOUT_SPOT: tuple[Step, ...] = (
    step("nodes_spot", kernels.nodes_spot, share="spot_share_used", nodes_per_replica="replica_nodes"),
    step("nodes_base", nodes_base),
    step("replicas_without_spot", replicas_without_spot),
    step("arrival_rate_safe_without_spot", fleet.carried, replicas_count="replicas_without_spot", rate="lambda_safe"),
    step(
        "headroom_kept_without_spot",
        fleet.headroom_kept_after_loss,
        arrival_rate_safe_after_loss="arrival_rate_safe_without_spot",
    ),
    step("slo_held_without_spot", fleet.slo_held_after_loss, replicas_after_loss="replicas_without_spot"),
    step("spot_share_max", spot_share_max),
)
"""Nodes on spot, and what the others carry when those are taken back."""

BILL: tuple[Step, ...] = (
    step("gpus_base", gpus_base),
    step("nodes_given_base", nodes_given_base),
    _plain_bill("usd_base_per_hour", nodes="nodes_base", gpus="gpus_base", nodes_given="nodes_given_base"),
    step("usd_spot_per_hour", usd_spot_per_hour),
    step("usd_per_hour", usd_per_hour_mixed),
    step("usd_committed", usd_committed),
)
"""The bill of an hour: nodes on spot at the price of spot, the others at the price by purchase."""


def purchase_steps(kinds: Collection[str], mixed: bool) -> dict[str, Step]:
    """Shorter steps for a cube that uses these kinds of purchase, by their result.

    `mixed` says that some cell puts a share of its nodes on spot beside another purchase.
    """
    chosen = _price_steps(kinds, mixed)
    if set(kinds) <= set(_LISTED):
        chosen["base_usd_per_node_hour"] = step("base_usd_per_node_hour", as_it_is, value="on_demand_usd_per_node_hour")
        chosen["base_usd_per_gpu_hour"] = step("base_usd_per_gpu_hour", as_it_is, value="usd_per_gpu_hour")
    if not mixed:
        chosen |= {name: _plain_bill(name) for name in ("usd_base_per_hour", "usd_per_hour")}
    return chosen
