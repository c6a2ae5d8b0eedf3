"""Inputs that a contract states and nothing in it reads: said aloud, never ignored in silence."""

from __future__ import annotations

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
    domains = {*resolver.fields["failure_domain"].unique, *resolver.fields["lost_domain"].unique}
    if resolver.is_given("zones") and "zone" not in domains:
        said.append("zones is not used: neither failure_domain nor lost_domain is zone")
    return said
