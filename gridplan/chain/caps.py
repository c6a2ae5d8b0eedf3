"""A budget and a limit of power: plans beyond them are no plans, and what fits them is the rate that can be carried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gridplan.chain.codes import NULL, choices, code
from gridplan.chain.graph import Array, Step, needed, step
from gridplan.chain.kernels import kernels
from gridplan.chain.memory import as_it_is
from gridplan.formulas.fleet import HOLDS_TOLERANCE
from gridplan.rounding import floor_exact

__all__ = ["CAPS", "least_rate", "with_caps"]

_LOAD = "replicas_fractional"
"""The first figure of a fleet that the load decides: what a cap refuses is null from there on."""

_JUDGED = ("usd_per_month", "facility_power_kw")
"""What the plan would cost and draw."""

_WANTED = "wanted_"

_CONSTRAINTS = choices("fleet_constraint")
_PORTFOLIO = code("purchase", "portfolio")


def cap_reason_code(
    wanted_usd_per_month: Array, budget_usd_per_month: Array, wanted_facility_power_kw: Array, power_budget_kw: Array
) -> Array:
    """Position of the cap that the plan exceeds among the labels of `infeasible_reason`, -1 where it keeps all."""
    over = [
        wanted_usd_per_month > budget_usd_per_month * (1.0 + HOLDS_TOLERANCE),
        wanted_facility_power_kw > power_budget_kw * (1.0 + HOLDS_TOLERANCE),
    ]
    labels = [code("infeasible_reason", name) for name in ("budget_exceeded", "power_exceeded")]
    return np.select(np.broadcast_arrays(*over), labels, NULL)


def plan_reason_code(infeasible_reason_code: Array, cap_reason_code: Array) -> Array:
    """The first reason why no plan exists: that of the replica, else that of the fleet."""
    return np.where(infeasible_reason_code == NULL, cap_reason_code, infeasible_reason_code)


def within(cap_reason_code: Array, wanted: Array) -> Array:
    """What is wanted where the caps allow it, else null."""
    return np.where(cap_reason_code == NULL, wanted, np.nan)


def shortfall(wanted: Array, allowed: Array) -> Array:
    """What the plan would need beyond a cap, 0 where it keeps it; null without a cap."""
    return np.asarray(np.maximum(wanted - allowed, 0.0))


def nodes_in_budget(
    budget_usd_per_month: Array,
    hours_per_month: Array,
    purchase_code: Array,
    base_usd_per_node_hour: Array,
    spot_usd_per_node_hour: Array,
    spot_share_used: Array,
    replica_nodes: Array,
) -> Array:
    """Most nodes whose bill keeps the budget [nodes]; null for a portfolio, whose bill is not that of its nodes.

    Nodes of a wide replica are bought together.
    """
    budget = budget_usd_per_month / hours_per_month
    group = base_usd_per_node_hour * replica_nodes
    alone = floor_exact(budget / group, rtol=HOLDS_TOLERANCE) * replica_nodes
    mixed = (spot_share_used > 0.0) & np.isfinite(budget)
    if not np.any(mixed):
        return np.where(purchase_code == _PORTFOLIO, np.nan, alone)

    def bill(groups: Array) -> Array:
        nodes = groups * replica_nodes
        on_spot: Array = kernels.nodes_spot(nodes, spot_share_used, replica_nodes)
        rest = nodes - on_spot
        return on_spot * spot_usd_per_node_hour + np.where(rest > 0.0, rest * base_usd_per_node_hour, 0.0)

    least = np.fmin(base_usd_per_node_hour, spot_usd_per_node_hour) * replica_nodes
    found = _most(bill, budget, np.floor(budget / least) + 1.0) * replica_nodes
    return np.where(purchase_code == _PORTFOLIO, np.nan, np.where(mixed, found, alone))


def _most(bill: Callable[[Array], Array], budget: Array, beyond: Array) -> Array:
    """The largest whole number below `beyond` whose bill keeps the budget, by halving, then one by one.

    One group more may move one from the dearer offer to the cheaper, so a bill may fall by less than one group costs:
    the numbers just above the one found are tried as well.
    """
    known = np.isfinite(beyond) & ~np.isnan(bill(np.ones_like(beyond)))
    low, high = np.zeros_like(beyond), np.where(known, beyond + 1.0, 1.0)
    kept_budget = budget * (1.0 + HOLDS_TOLERANCE)
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        kept = bill(middle) <= kept_budget
        low, high = np.where(kept, middle, low), np.where(kept, high, np.maximum(middle, low + 1.0))
    for more in (1.0, 2.0):
        low = np.where(bill(low + more) <= kept_budget, low + more, low)
    return np.where(known, low, np.nan)


def gpus_in_caps(
    budget_usd_per_month: Array,
    hours_per_month: Array,
    base_usd_per_gpu_hour: Array,
    spot_share_used: Array,
    nodes_in_budget: Array,
    power_budget_kw: Array,
    pue: Array,
    power_w_per_gpu: Array,
    power_utilization: Array,
    power_w_per_node: Array,
    gpus_per_node: Array,
    nodes_given: Array,
) -> tuple[Array, Array, Array, Array]:
    """GPUs that every cap allows [GPUs] and the code of the least cap; then GPUs rented one by one, and held in nodes.

    Null and -1 where there is no cap, or one that cannot be judged. Where GPUs are rented by themselves the budget buys
    GPUs (with some nodes on spot it is not judged), and power feeds nodes. A fleet that is bought already and exceeds a
    cap leaves nothing.
    """
    unsized = np.isnan(gpus_per_node)
    size = np.where(unsized, 1.0, gpus_per_node)
    node_w = size * power_w_per_gpu * power_utilization + np.where(unsized, 0.0, power_w_per_node)
    fed = floor_exact(power_budget_kw * 1e3 / (pue * node_w), rtol=HOLDS_TOLERANCE) * size
    rented = floor_exact(budget_usd_per_month / (hours_per_month * base_usd_per_gpu_hour), rtol=HOLDS_TOLERANCE)
    one_by_one = ~np.isnan(base_usd_per_gpu_hour)
    paid = np.where(one_by_one, np.where(spot_share_used > 0.0, np.nan, rented), nodes_in_budget * size)
    owned = nodes_given * size
    paid, fed = (np.where(cap < owned, 0.0, cap) for cap in (paid, fed))
    by_cap = {"nodes_given": owned, "budget": paid, "power": fed}
    each = np.stack(np.broadcast_arrays(*(by_cap[name] for name in _CONSTRAINTS)))
    known = np.where(np.isnan(each), np.inf, each)
    least = known.min(axis=0)
    unjudged = (np.isnan(paid) & ~np.isnan(budget_usd_per_month)) | (np.isnan(fed) & ~np.isnan(power_budget_kw))
    capped = np.isfinite(least) & ~unjudged

    def of(gpus: Array) -> Array:
        """A number that no cap sets is endless."""
        return np.where(capped, np.where(np.isnan(gpus), np.inf, gpus), np.nan)

    held = np.fmin(owned, np.where(one_by_one, fed, np.fmin(paid, fed)))
    alone = np.where(one_by_one & np.isnan(owned), paid, np.nan)
    constraint = np.where(capped, np.argmin(known, axis=0), NULL)
    return np.where(capped, least, np.nan), constraint, of(alone), of(held)


def replicas_in_caps(
    gpus_rented_in_caps: Array,
    gpus_held_in_caps: Array,
    gpus_per_replica: Array,
    gpus_per_node: Array,
    node_replicas: Array,
    replica_nodes: Array,
) -> tuple[Array, Array, Array]:
    """Whole replicas of those GPUs [replicas]: what every cap allows, of GPUs rented one by one, and held in nodes."""
    alone = np.floor(gpus_rented_in_caps / gpus_per_replica)
    nodes = np.floor(gpus_held_in_caps / gpus_per_node)
    in_nodes = np.floor(nodes / replica_nodes) * np.maximum(node_replicas, 1.0)
    held = np.where(np.isnan(gpus_per_node), np.floor(gpus_held_in_caps / gpus_per_replica), in_nodes)
    least = np.fmin(alone, held)
    return np.where(np.isfinite(least), least, np.nan), alone, held


def least_rate(rate_in_rented: Array, rate_in_held: Array) -> Array:
    """Largest rate whose plan keeps every cap [req/s]."""
    least = np.fmin(rate_in_rented, rate_in_held)
    return np.where(np.isfinite(least), least, np.nan)


CAPS: tuple[Step, ...] = (
    *(step(f"{_WANTED}{name}", as_it_is, value=name) for name in _JUDGED),
    step("cap_reason_code", cap_reason_code),
    step("plan_reason_code", as_it_is, value="infeasible_reason_code"),
    step("budget_shortfall_usd_per_month", shortfall, wanted="wanted_usd_per_month", allowed="budget_usd_per_month"),
    step("power_shortfall_kw", shortfall, wanted="wanted_facility_power_kw", allowed="power_budget_kw"),
    step("nodes_in_budget", nodes_in_budget),
    step("gpus_within_caps fleet_constraint_code gpus_rented_in_caps gpus_held_in_caps", gpus_in_caps),
    step("replicas_within_caps replicas_rented_in_caps replicas_held_in_caps", replicas_in_caps),
)
"""Figures of caps, and the reason why there is no plan, in a cube where no cell has a cap."""


def with_caps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same plan where some cell has a cap: the fleet is planned as it is wanted, judged, and left out beyond a cap.

    What is wanted has names of its own. Steps that it needs and the load does not decide (prices) come before it.
    """
    start = next(place for place, item in enumerate(steps) if _LOAD in item.outputs)
    by_load = {_LOAD}
    judged = [item for item in needed(steps, _JUDGED) if item in steps[start:]]
    before, wanted = [], []
    for item in judged:
        if by_load.isdisjoint(item.inputs) and _LOAD not in item.outputs:
            before.append(item)
            continue
        by_load.update(item.outputs)
        wanted.append(item)

    def own(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{_WANTED}{name}" if name in by_load else name for name in names)

    copies = [replace(item, outputs=own(item.outputs), inputs=own(item.inputs)) for item in wanted]
    gate = next(item for item in CAPS if "cap_reason_code" in item.outputs)
    allowed = step(_LOAD, within, wanted=f"{_WANTED}{_LOAD}")
    reason = step("plan_reason_code", plan_reason_code)
    gone = {*(name for item in before for name in item.outputs), _LOAD, "cap_reason_code"}
    gone |= {f"{_WANTED}{name}" for name in _JUDGED}
    rest = [item for item in steps[start:] if gone.isdisjoint(item.outputs)]
    rest = [reason if "plan_reason_code" in item.outputs else item for item in rest]
    return (*steps[:start], *before, *copies, gate, allowed, *rest)
