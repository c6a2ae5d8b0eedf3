"""The second half of the plain script: from the rate of one replica to replicas, nodes and the bill."""

from __future__ import annotations

from math import ceil
from typing import Any

__all__ = ["add_cost", "add_fleet"]

_FLEET = (
    *("lambda_safe", "replicas_fractional", "replicas_active", "replicas", "gpus", "nodes", "replicas_deployed"),
    *("gpus_deployed", "gpus_stranded", "fleet_sufficient", "utilization_peak", "utilization_safe"),
    *("utilization_deployed", "utilization_deployed_safe", "arrival_rate_safe_deployed", "replicas_after_loss"),
    *("arrival_rate_safe_after_loss", "headroom_kept_after_loss", "slo_held_after_loss", "arrival_rate_next_step"),
    *("busy", "tpot_s", "output_tokens_per_s_replica", "batch_mean", "burst_to_slo", "prefill_demand"),
    *("decode_demand", "e2e_latency_used_s", "in_flight"),
)
_BILL = ("usd_per_hour", "usd_per_day", "usd_per_month", "usd_per_request")
_MTOK = {"output": "output_tokens_mean", "input": "prompt_tokens_mean", "total": "context_tokens_mean"}


def ceil_guarded(x: float) -> float:
    """Ceiling that takes a value a rounding error above a whole number for that number."""
    return float(ceil(x - min(abs(x) * 1e-14, 0.49)))


def add_fleet(x: dict[str, Any], m: dict[str, Any], feasible: bool) -> None:
    """Replicas with spare GPUs, the nodes that hold them, and the planned point."""
    if not feasible:
        m.update(dict.fromkeys(_FLEET))
        return
    load, rate, gpus_per_replica = x["arrival_rate"], m["lambda_instance"], m["gpus_per_replica"]
    safe = rate * x["rho_target"]
    active = ceil_guarded(load / safe)
    replicas = active + x["redundancy"]
    per_node = float(max(x["gpus_per_node"] // gpus_per_replica, 1))
    nodes_each = float(ceil(gpus_per_replica / x["gpus_per_node"]))
    nodes = ceil(replicas / per_node) * nodes_each
    deployed = nodes // nodes_each * per_node
    m.update(
        lambda_safe=safe,
        replicas_fractional=load / safe,
        replicas_active=active,
        replicas=replicas,
        gpus=replicas * gpus_per_replica,
        nodes=nodes,
        replicas_deployed=deployed,
        gpus_deployed=nodes * x["gpus_per_node"],
        gpus_stranded=nodes * x["gpus_per_node"] - deployed * gpus_per_replica,
        fleet_sufficient=replicas <= deployed,
        utilization_peak=load / (active * rate),
        utilization_safe=load / (active * safe),
        utilization_deployed=load / (deployed * rate),
        utilization_deployed_safe=load / (deployed * safe),
        arrival_rate_safe_deployed=deployed * safe,
        replicas_after_loss=deployed,
        arrival_rate_safe_after_loss=deployed * safe,
        headroom_kept_after_loss=load <= deployed * safe * (1 + 1e-12),
        slo_held_after_loss=load <= deployed * rate * (1 + 1e-12),
        arrival_rate_next_step=max(deployed - x["redundancy"], 0.0) * safe,
    )
    _add_point(x, m, load / active)


def _add_point(x: dict[str, Any], m: dict[str, Any], planned: float) -> None:
    """What an active replica does at `planned` requests per second."""
    load, output = x["arrival_rate"], m["output_tokens_mean"]
    busy = planned * m["request_work_s"]
    times = x["times"]
    tpot = times.at(times.settled(planned * output / (1.0 - busy))) / (1.0 - busy) if busy < 1 else None
    latency = None if tpot is None else x["prefill_latency_s"] + output * tpot
    m.update(
        busy=busy,
        tpot_s=tpot,
        output_tokens_per_s_replica=planned * output,
        batch_mean=None if tpot is None else planned * output * tpot,
        burst_to_slo=m["replicas_active"] * m["lambda_instance"] / load,
        prefill_demand=load * x["prefill_work_s"],
        decode_demand=load * x["decode_work_s"],
        e2e_latency_used_s=latency,
        in_flight=None if latency is None else load * latency,
    )


def add_cost(x: dict[str, Any], m: dict[str, Any]) -> None:
    """The bill by the node, and what it comes to per request and token at the average load."""
    average = x["arrival_rate"] / x["peak_to_average"]
    requests = average * (x["hours_per_month"] * 3600.0)
    gpu_hour = x["usd_per_node_hour"] / x["gpus_per_node"]
    scale = gpu_hour * m["gpus_per_replica"] / 3600 * 1e6
    m["arrival_rate_average"], m["requests_per_month"] = average, requests
    m["output_tokens_per_month"] = requests * m["output_tokens_mean"]
    m["usd_per_gpu_hour_used"] = gpu_hour
    m["usd_per_mtok_prefill_full"] = scale * m["prefill_compute_per_token_s"]
    if m["nodes"] is None:
        m.update(dict.fromkeys((*_BILL, *(f"usd_per_mtok_{kind}" for kind in _MTOK), "usd_per_mtok_decode_full")))
        return
    hour = m["nodes"] * x["usd_per_node_hour"]
    month = hour * x["hours_per_month"]
    m["usd_per_hour"], m["usd_per_day"], m["usd_per_month"] = hour, hour * 24.0, month
    m["usd_per_request"] = month / requests
    for kind, tokens in _MTOK.items():
        m[f"usd_per_mtok_{kind}"] = month / requests * (1e6 / m[tokens])
    m["usd_per_mtok_decode_full"] = scale * m["decode_step_s"] / m["decode_batch_quoted"]
