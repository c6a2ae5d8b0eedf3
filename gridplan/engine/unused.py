"""Inputs that a contract states and nothing in it reads: said aloud, never ignored in silence."""

from __future__ import annotations

import numpy as np

from gridplan.contract.grid import By
from gridplan.contract.sections import LIMITS
from gridplan.engine.class_inputs import CLASS_INPUTS, stated_by_classes
from gridplan.engine.resolve import Resolver
from gridplan.engine.unused_purchase import unused_purchase

__all__ = ["unused"]

_BY_MODEL = {
    "lambda_instance_given": "measured",
    "e2e_latency_s": "littles_law",
    "e2e_latency_basis": "littles_law",
}
"""Inputs that only one capacity model reads."""

_BESIDE = {
    "decode_tokens_at_concurrency": "decode_tokens_per_s",
    "ttft_slo_percentile": "ttft_slo_s",
    "tpot_slo_percentile": "tpot_slo_s",
    "e2e_slo_percentile": "e2e_slo_s",
    "itl_slo_percentile": "itl_slo_s",
    "decode_context_tokens": "output_tokens",
    "load_floor": "peak_to_average",
}
"""Inputs that say something about another one."""


_LIMITS_NO_RATE = {"goodput_target": "goodput_held", "itl_slo_s": "slo_held"}
"""Limits that few or no capacity models hold, and the measure on request that says whether the planned point does."""

_BY_QUEUEING = {"itl_slo_s"}
"""Those of them that capacity model `queueing` holds, beside the limits of single classes."""

_OF_WORKSPACE = ("max_loras", "max_lora_rank")
"""Inputs that only a term of the workspace reads."""

_OF_LAYERS = ("sliding_policy", "in_flight_steps", "state_blocks", "num_speculative_tokens", "draft_layers")
"""Inputs that only the charge of a model's layer groups reads."""


_PRICES = (
    *("usd_per_node_hour", "usd_per_gpu_hour", "spot_usd_per_node_hour", "reserved_usd_per_node_hour"),
    "capital_usd_per_node",
)
"""Inputs of which any makes a bill."""


def unused(resolver: Resolver) -> list[str]:
    """One sentence for every stated input that no cell of the grid reads."""
    said = []
    models = resolver.fields["capacity_model"].unique
    for name, model in _BY_MODEL.items():
        if resolver.is_given(name) and model not in models:
            said.append(f"{name} is not used: no cell has capacity_model {model}")
    if set(models) == {"queueing"}:
        said += [
            f"{name} is not used: capacity_model queueing takes the times of a step"
            for name in ("decode_tokens_per_s", "machine_intensity", "compute_ceiling_model")
            if resolver.is_given(name)
        ]
    has_classes = any(workload.classes for workload in resolver.grid.workloads)
    for name, other in _BESIDE.items():
        known = resolver.is_given(other) or (other == "output_tokens" and has_classes)
        if resolver.is_given(name) and not known:
            said.append(f"{name} is not used: {other} is not given")
    if not np.isnan(resolver.peek("workspace_bytes").data).any():
        said += [f"{name} is not used: workspace_bytes is given" for name in _OF_WORKSPACE if resolver.is_given(name)]
        if resolver.is_given("draft_model") and not resolver.is_given("draft_weights_bytes"):
            said.append("the weights of draft_model are not counted: workspace_bytes is given, and must hold them")
    elif resolver.is_given("max_lora_rank") and not resolver.is_given("max_loras"):
        said.append("max_lora_rank is not used: max_loras is not given")
    if not np.isnan(resolver.peek("kv_bytes_per_token_given").data).any():
        because = "is not used: kv_bytes_per_token_given is given"
        said += [f"{name} {because}" for name in _OF_LAYERS if resolver.is_given(name)]
        if resolver.is_given("draft_model"):
            said.append("the cache of draft_model is not counted: kv_bytes_per_token_given is given, and must hold it")
    if resolver.is_given("users") and not any(_has_value(resolver, name) for name in _PRICES):
        said.append("users is not used: no cell has a price")
    if resolver.is_given("api_usd_per_mtok_cached") and not _may_hit(resolver):
        said.append("api_usd_per_mtok_cached is not used: no prompt token is cached (prefix_hit_ratio)")
    said += _told_on_request(resolver)
    said += unused_purchase(resolver)
    return [*said, *_of_fleets(resolver)]


def _of_fleets(resolver: Resolver) -> list[str]:
    """Inputs of failures that nothing reads."""
    names = ("failure_domain", "lost_domain", "maintenance_domain")
    domains = {label for name in names for label in resolver.fields[name].unique}
    said = []
    if resolver.is_given("zones") and "zone" not in domains:
        said.append(
            "zones is not used: no failure_domain, lost_domain or maintenance_domain is zone (measures of a lost zone, "
            "such as survives_zone_loss_slo, do read it)"
        )
    pairs = {"mtbf_h": "mttr_h", "mttr_h": "mtbf_h", "usd_per_kwh": "pue"}
    counts = {"maintenance_domain": "maintenance_units", "lost_domain": "lost_units"}
    for name, other in pairs.items():
        if resolver.is_given(name) and not resolver.is_given(other):
            said.append(f"{name} is not used: {other} is not given")
    for name, count in counts.items():
        if resolver.is_given(name) and not (resolver.fields[count].data > 0).any():
            said.append(f"{name} is not used: {count} is 0")
    if resolver.grid.axis("failure_policy") is not None and not _differ_by(resolver, "failure_policy"):
        said.append("the axis failure_policy changes nothing: no input differs by it (by: failure_policy)")
    return said


def _differ_by(resolver: Resolver, dimension: str) -> bool:
    """Whether some input has a value per label of a dimension."""
    stated = [*resolver.grid.given.values(), *(item for one in resolver.grid.workloads for item in one.given.values())]
    values = [item.value for item in stated]
    values += [change.value for scenario in resolver.grid.scenarios for change in scenario.changes.values()]
    return any(isinstance(value, By) and value.dimension == dimension for value in values)


def _has_value(resolver: Resolver, name: str) -> bool:
    """Whether the contract or the catalog gives a number anywhere."""
    known = resolver.fields.get(name)
    return known is not None and not bool(np.isnan(known.data).all())


def _may_hit(resolver: Resolver) -> bool:
    """Whether the contract speaks of prompt tokens that the prefix cache holds."""
    return resolver.is_given("prefix_hit_ratio") or stated_by_classes(resolver, "prefix_hit_ratio")


def _told_on_request(resolver: Resolver) -> list[str]:
    """Limits that a plan does not hold by itself, and percentiles of classes without a limit."""
    others = [name for name in resolver.fields["capacity_model"].unique if name not in (None, "queueing")]
    of = (
        f" of capacity_model {', '.join(others)}" if len(others) < len(resolver.fields["capacity_model"].unique) else ""
    )
    said = [
        f"{name} limits no rate{of if name in _BY_QUEUEING else ''}: {measure} (on request) says whether the planned "
        "point meets it"
        for name, measure in _LIMITS_NO_RATE.items()
        if resolver.is_given(name) and (others or name not in _BY_QUEUEING)
    ]
    if others and any(stated_by_classes(resolver, f"{name}_slo_s") for name in LIMITS):
        said.append(
            f"limits of single classes limit no rate{of}: slo_held (on request) says whether each class meets its own "
            "(capacity_model queueing holds them)"
        )
    for name in CLASS_INPUTS:
        limit = name.replace("_percentile", "_s")
        if not stated_by_classes(resolver, name) or limit == name:
            continue
        if not resolver.is_given(limit) and not stated_by_classes(resolver, limit):
            said.append(f"{name} of a class is not used: {limit} is not given")
    return said
