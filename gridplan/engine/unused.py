"""Inputs that a contract states and nothing in it reads: said aloud, never ignored in silence."""

from __future__ import annotations

import numpy as np

from gridplan.engine.resolve import Resolver

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
    "decode_context_tokens": "output_tokens",
}
"""Inputs that say something about another one."""


_OF_WORKSPACE = ("max_loras", "max_lora_rank")
"""Inputs that only a term of the workspace reads."""

_OF_LAYERS = ("sliding_policy", "in_flight_steps", "state_blocks", "num_speculative_tokens", "draft_layers")
"""Inputs that only the charge of a model's layer groups reads."""


def unused(resolver: Resolver) -> list[str]:
    """One sentence for every stated input that no cell of the grid reads."""
    said = []
    models = resolver.fields["capacity_model"].unique
    for name, model in _BY_MODEL.items():
        if resolver.is_given(name) and model not in models:
            said.append(f"{name} is not used: no cell has capacity_model {model}")
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
    domains = {*resolver.fields["failure_domain"].unique, *resolver.fields["lost_domain"].unique}
    if resolver.is_given("zones") and "zone" not in domains:
        said.append("zones is not used: neither failure_domain nor lost_domain is zone")
    return said
