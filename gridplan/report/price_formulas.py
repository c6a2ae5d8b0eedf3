"""Formulas of prices and bills as the purchase of a cell has them, and which of them the cell has nothing to say of."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gridplan.dictionary import dictionary

__all__ = ["price_formulas", "silent"]

_OF_SPOT = (
    *("nodes_spot", "replicas_without_spot", "arrival_rate_safe_without_spot", "headroom_kept_without_spot"),
    *("slo_held_without_spot", "spot_share_max"),
)
_OWNED = "owned_usd_per_node_hour"


def price_formulas(known: Mapping[str, float]) -> dict[str, str]:
    """The branch of each formula that the cell uses."""
    kind = _kind(known)
    shared = kind != "spot" and known.get("spot_share_used", 0.0) > 0
    listed = kind in ("on_demand", "portfolio")
    node = "usd_per_node_hour" if listed else "base_usd_per_node_hour"
    gpu = "usd_per_gpu_hour" if listed else "usd_per_gpu_hour * (1 - reserved_discount)"
    priced = not math.isnan(known.get("base_usd_per_node_hour", math.nan))
    by_nodes = priced and not math.isnan(known.get("nodes", math.nan))
    bill = f"nodes * {node}" if by_nodes else f"gpus * {gpu}"
    if shared:
        rest = f"(nodes - nodes_spot) * {node}" if by_nodes else f"gpus_base * {gpu}"
        bill = f"nodes_spot * spot_usd_per_node_hour + {rest}"
    by_kind = dict(part.split(": ", 1) for part in dictionary()["base_usd_per_node_hour"].formula.split("; "))
    reserved = "usd_per_node_hour * (1 - reserved_discount)" if _discounted(known) else "reserved_usd_per_node_hour"
    return {
        "usd_per_hour": bill,
        "usd_per_gpu_hour_used": f"{node} / gpus_per_node" if priced else gpu,
        "base_usd_per_node_hour": reserved if kind == "reserved" else by_kind.get(kind, "usd_per_node_hour"),
        "nodes_spot": "nodes" if known.get("spot_share_used") == 1 else dictionary()["nodes_spot"].formula,
        _OWNED: _owned(known),
    }


def silent(name: str, known: Mapping[str, float]) -> bool:
    """Whether a measure says nothing in this cell: no spot nodes, one zone alone, no power usage effectiveness."""
    kind = _kind(known)
    return (
        (name in _OF_SPOT and known.get("spot_share_used", 0.0) == 0)
        or (name == "base_usd_per_node_hour" and kind in ("on_demand", "portfolio"))
        or (name == _OWNED and kind != "owned")
        or (name == "replicas_slo" and known.get("redundancy_basis_code", 0) == 0)
        or (name.startswith("survives_zone_loss_") and known.get("zones", 1.0) == 1.0)
        or (name == "it_power_kw" and math.isnan(known.get("pue", math.nan)))
    )


def _kind(known: Mapping[str, float]) -> str:
    return dictionary()["purchase"].labels[int(known.get("purchase_code", 0))]


def _discounted(known: Mapping[str, float]) -> bool:
    """Whether the reserved price is the list price less the discount."""
    price, discount = known.get("usd_per_node_hour", math.nan), known.get("reserved_discount", math.nan)
    return math.isclose(known.get("reserved_usd_per_node_hour", math.nan), price * (1 - discount), rel_tol=1e-12)


def _owned(known: Mapping[str, float]) -> str:
    """The straight write-off, or the annuity in its place."""
    straight, _, annuity = dictionary()[_OWNED].formula.partition("; with interest_rate the first term is ")
    if known.get("interest_rate", 0.0) == 0:
        return straight
    first, _, where = annuity.partition(": ")[2].partition(", where ")
    return f"({first} + hosting{straight.partition(' + hosting')[2]}, {where}"
