"""Inputs of a purchase that the contract states and no cell pays by."""

from __future__ import annotations

import numpy as np

from gridplan.engine.resolve import Resolver

__all__ = ["unused_purchase"]

_OWNED = (
    *("capital_usd_per_node", "amortization_years", "residual_share", "interest_rate"),
    "hosting_usd_per_node_month",
)
_RESERVED = ("reserved_usd_per_node_hour", "reserved_discount", "commitment_years")
_LIST = ("usd_per_node_hour", "usd_per_gpu_hour")


def unused_purchase(resolver: Resolver) -> list[str]:
    """One sentence for every such input, and for a commitment whose length is not stated."""
    kinds = set(resolver.fields["purchase"].unique)
    shared = resolver.fields["spot_share"].data > 0
    said = []
    if "owned" not in kinds:
        said += _not_used(resolver, _OWNED, "no cell has purchase owned")
    if not kinds & {"reserved", "portfolio"}:
        said += _not_used(resolver, _RESERVED, "no cell has purchase reserved")
    if not kinds & {"spot", "portfolio"} and not shared.any():
        said += _not_used(resolver, ("spot_usd_per_node_hour",), "no cell has purchase spot or a spot_share above 0")
    if (shared & (resolver.fields["purchase"].data == "spot")).any():
        where = ": every cell has" if kinds == {"spot"} else " in cells with"
        said.append(f"spot_share is not used{where} purchase spot, which is a share of 1")
    reserved = "reserved" in kinds
    stated = reserved and not np.isnan(resolver.peek("reserved_usd_per_node_hour").data).any()
    if stated and not resolver.is_given("usd_per_gpu_hour"):
        said += _not_used(resolver, ("reserved_discount",), "reserved_usd_per_node_hour is given")
    if kinds <= {"spot", "owned", *(("reserved",) if stated else ())}:
        said += _not_used(resolver, _LIST, f"the bill of every cell is by purchase {' or '.join(sorted(kinds))}")
    bound = sorted(kinds & {"reserved", "portfolio"})
    if bound and np.isnan(resolver.fields["commitment_years"].data).any():
        said.append(
            f"purchase {' and '.join(bound)} is a price without its commitment: give commitment_years, or "
            "usd_committed (on request) cannot say what is owed"
        )
    return [*said, *_power(resolver)]


def _power(resolver: Resolver) -> list[str]:
    """Power of GPUs alone is not that of the machines they sit in."""
    asked = resolver.is_given("power_budget_kw") or "owned" in resolver.fields["purchase"].unique
    if not asked or resolver.is_given("power_w_per_node"):
        return []
    return [
        "power counts GPUs alone: power_w_per_node (CPUs, memory, network and fans of a node) is taken as 0; an 8-GPU "
        "server draws some kW beside its GPUs"
    ]


def _not_used(resolver: Resolver, names: tuple[str, ...], why: str) -> list[str]:
    return [f"{name} is not used: {why}" for name in names if resolver.is_given(name)]
