"""The second half of the scalar oracle: fleet, planned point and cost, in exact arithmetic, by counting."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from gridplan.catalog import Instance, load_catalog

__all__ = ["UNKNOWN", "Unknown", "add_cost", "add_fleet"]

Cell = dict[str, Any]


class Unknown:
    """A number that nobody knows: arithmetic with it is unknown, a comparison with it is false."""

    def _same(self, *_: object) -> Unknown:
        return self

    def _never(self, _: object) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __neg__ = __floor__ = __ceil__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _never


UNKNOWN: Any = Unknown()


def add_fleet(x: Cell, m: Cell) -> None:
    """Replicas, nodes, what a loss leaves, and the planned point."""
    shape, x["node_price"], x["gpu_price"], m["priced_by"], m["price_as_of"], m["price_kind"] = _price(x)
    size = x.get("gpus_per_node", Fraction(shape.gpus_per_node) if shape else UNKNOWN)
    x["gpus_per_node"] = size
    rate, lam, wide = x["arrival_rate"], m["lambda_instance"], m["gpus_per_replica"]
    safe = x["rho_target"] * lam * x["routing_credit"]
    m["lambda_safe"], m["replicas_fractional"] = safe, rate / safe
    m["prefill_demand"], m["decode_demand"] = (
        UNKNOWN if lam is UNKNOWN else rate * m[name] for name in ("_prefill", "_decode")
    )
    active = ceil(rate / safe)
    in_node, reach = floor(size / wide), ceil(wide / size)
    groups = wide / x["tensor_parallel"]
    if size is not UNKNOWN and in_node == 0 and x["tensor_parallel"] <= size:
        # Tensor-parallel groups stay in one node: so many whole ones in each.
        reach = ceil(groups / floor(size / x["tensor_parallel"]))
    in_unit = 1 if in_node is UNKNOWN or in_node < 1 else in_node

    def left(units: int, each: int, domain: str, lost: Any) -> Any:
        """Replicas left of full units of `each` replicas, spread evenly over the zones, after the worst loss."""
        if lost == 0:
            return units * each
        if domain == "zone":
            zones = int(x["zones"])
            held = sorted(units // zones + (zone < units % zones) for zone in range(zones))
            return sum(held[: max(zones - int(lost), 0)]) * each
        taken = UNKNOWN if domain == "node" and in_node is UNKNOWN else (in_unit if domain == "node" else 1)
        n = units * each - lost * taken
        return 0 if n < 0 else n

    def least(each: int) -> int:
        """Units of a plan that keeps the active replicas."""
        return next(
            n for n in range(10**6) if left(n, each, x["failure_domain"], x["redundancy"]) >= active or active == 0
        )

    unplanned = active is UNKNOWN or left(1, 1, x["failure_domain"], x["redundancy"]) is UNKNOWN
    m["replicas_active"] = active
    m["replicas"] = UNKNOWN if unplanned else least(1)
    m["gpus"] = m["replicas"] * wide
    planned = UNKNOWN if unplanned else least(in_unit) * (1 if in_node > 0 else reach)
    m["nodes"] = UNKNOWN if size is UNKNOWN or active is UNKNOWN else x.get("nodes_given", planned)
    held = m["nodes"] * in_node if in_node > 0 else floor(m["nodes"] / reach)
    deployed = m["replicas"] if m["nodes"] is UNKNOWN else held
    m["replicas_deployed"] = deployed
    m["gpus_deployed"] = m["nodes"] * size
    m["gpus_stranded"] = m["gpus_deployed"] - deployed * wide

    def after(domain: str, lost: Any) -> Any:
        return UNKNOWN if deployed is UNKNOWN else left(int(deployed) // in_unit, in_unit, domain, lost)

    left_over = after(x["lost_domain"], x["lost_units"])
    m["replicas_after_loss"] = left_over
    m["arrival_rate_safe_deployed"], m["arrival_rate_safe_after_loss"] = deployed * safe, left_over * safe
    m["arrival_rate_next_step"] = after(x["failure_domain"], x["redundancy"]) * safe
    for name, need, have in (
        ("fleet_sufficient", m["replicas"], deployed),
        ("headroom_kept_after_loss", rate, left_over * safe),
        ("slo_held_after_loss", rate, left_over * lam),
    ):
        m[name] = UNKNOWN if have is UNKNOWN else need <= have
    m["utilization_peak"] = rate / (active * lam)
    m["utilization_safe"] = rate / (active * safe)
    m["utilization_deployed"] = rate / (deployed * lam) if deployed != 0 else UNKNOWN
    m["utilization_deployed_safe"] = rate / (deployed * safe) if deployed != 0 else UNKNOWN
    each = rate / active
    m["busy"] = each * m["request_work_s"]
    m["output_tokens_per_s_replica"] = each * m["output_tokens_mean"]
    settled = m["_reads"].batch_at_rate(m["output_tokens_per_s_replica"], m["busy"])
    m["tpot_s"] = m["_reads"].at(settled) / (1 - m["busy"])
    m["batch_mean"] = m["output_tokens_per_s_replica"] * m["tpot_s"]
    m["burst_to_slo"] = active * lam / rate
    planned_s = m["_alone"] + m["output_tokens_mean"] * m["tpot_s"]
    m["e2e_latency_used_s"], m["in_flight"] = planned_s, rate * planned_s


def _price(x: Cell) -> tuple[Instance | None, Any, Any, Any, Any, Any]:
    """The rentable shape, USD per node-hour, USD per GPU-hour, and what sets them, of which date and kind."""
    if "usd_per_gpu_hour" in x:
        return x["instance"], UNKNOWN, x["usd_per_gpu_hour"], "usd_per_gpu_hour", None, "given"
    if "usd_per_node_hour" in x:
        return x["instance"], x["usd_per_node_hour"], UNKNOWN, "usd_per_node_hour", None, "given"
    shape = x["instance"] or _cheapest(x)
    if shape is None or shape.usd_per_node_hour is None:
        return shape, UNKNOWN, UNKNOWN, None, None, None
    price = Fraction(repr(shape.usd_per_node_hour))
    kind = {"list": "on_demand", "range": "list_equivalent"}.get(shape.price_kind, shape.price_kind)
    return shape, price, UNKNOWN, shape.id, shape.as_of, kind


def _cheapest(x: Cell) -> Instance | None:
    """The lowest list price of a GPU-hour among shapes whose nodes hold whole replicas or divide one.

    A stated node size keeps the shapes of that size.
    """
    tp, wide = x["tensor_parallel"], x["tensor_parallel"] * x["pipeline_parallel"]
    fitting = [
        (Fraction(repr(shape.usd_per_node_hour)) / shape.gpus_per_node, shape.id, shape)
        for shape in load_catalog().instances.values()
        if shape.gpu == x["gpu"].id and shape.price_kind == "list" and shape.usd_per_node_hour is not None
        if shape.gpus_per_node == x.get("gpus_per_node", shape.gpus_per_node)
        if tp <= shape.scale_up_gpus and (shape.gpus_per_node % wide == 0 or wide % shape.gpus_per_node == 0)
    ]
    return min(fitting, key=lambda item: item[:2])[2] if fitting else None


def add_cost(x: Cell, m: Cell) -> None:
    """Bills, and prices per token at the average load."""
    bill = m["nodes"] * x["node_price"]
    bought = "nodes_given" in x and m["gpus"] is not UNKNOWN
    counted = x["nodes_given"] * x["gpus_per_node"] if bought else m["gpus"]
    bill = counted * x["gpu_price"] if bill is UNKNOWN else bill
    each = x["node_price"] / x["gpus_per_node"]
    each = x["gpu_price"] if each is UNKNOWN else each
    month = bill * x["hours_per_month"]
    requests = x["arrival_rate"] / x.get("peak_to_average", UNKNOWN) * 3600 * x["hours_per_month"]
    m["arrival_rate_average"] = x["arrival_rate"] / x.get("peak_to_average", UNKNOWN)
    m["requests_per_month"] = requests
    m["output_tokens_per_month"] = requests * m["output_tokens_mean"]
    m["usd_per_hour"], m["usd_per_day"], m["usd_per_month"] = bill, bill * 24, month
    m["usd_per_request"] = month / requests
    for name, tokens in (("output", "output"), ("input", "prompt"), ("total", "context")):
        m[f"usd_per_mtok_{name}"] = month * 10**6 / (requests * m[f"{tokens}_tokens_mean"])
    m["usd_per_gpu_hour_used"] = each
    second = each * m["gpus_per_replica"] * 10**6 / 3600
    m["usd_per_mtok_prefill_full"] = second * m["prefill_compute_per_token_s"]
    m["usd_per_mtok_decode_full"] = second * m["decode_step_s"] / m["decode_batch_quoted"]
