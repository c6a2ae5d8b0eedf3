"""Terms of the memory budget as inputs: what the contract says of each, else the engine's rule with its provenance.

A term is also an input, so a measured one replaces the rule. `workspace_bytes` is their sum unless the contract gives
it; where it does, the terms are not known and stay empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gridplan import formulas
from gridplan.catalog import load_catalog
from gridplan.catalog.versions import range_text
from gridplan.engine.field import Field, combine, varying
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Origin, OriginOf
from gridplan.engine.workspace import (
    activation_bytes,
    cuda_graphs_bytes,
    draft_weights_bytes,
    lora_bytes,
    non_torch_bytes,
    nothing,
)

__all__ = ["BUDGET_TERMS", "budget_values"]

Rule = Callable[[Labels, Mapping[str, Field]], Field]

DRAFT = "draft_weights_bytes"

_RULES: Mapping[str, Rule] = {
    "non_torch_bytes": non_torch_bytes,
    "activation_bytes": activation_bytes,
    "cuda_graphs_bytes": cuda_graphs_bytes,
    "lora_bytes": lora_bytes,
    DRAFT: draft_weights_bytes,
    "multimodal_bytes": nothing,
    "reserve_bytes": nothing,
}

BUDGET_TERMS = tuple(_RULES)
"""Inputs whose sum is `workspace_bytes`, in the order of the sum."""


def budget_values(labels: Labels, known: Mapping[str, Field], own: Mapping[str, Field]) -> dict[str, Field]:
    """Each term of the workspace [bytes per GPU], the adapter slots behind one of them, and `workspace_bytes`."""
    resolver, space = labels.resolver, labels.space
    values = {
        "max_loras": resolver.resolve("max_loras", space.constant(0.0, np.float64)),
        "max_lora_rank": resolver.resolve("max_lora_rank", space.constant(16.0, np.float64)),
    }
    stated = resolver.peek("workspace_bytes")
    read = {**known, **own, **values}
    for name, rule in _RULES.items():
        default = rule(labels, read)
        if not np.isnan(stated.data).all():
            default = combine(lambda term, total: np.where(np.isnan(total), term, np.nan), default, stated)
        # A rule reads what it might need; a term depends on what makes a difference to it.
        default = varying(space, default)
        values[name] = resolver.resolve(name, default, _origin_of(labels, name, rule, known))
    total = combine(formulas.budget_sum_bytes, *(values[name] for name in BUDGET_TERMS))
    derived = Origin("assumption", " + ".join(BUDGET_TERMS), provider="derived")
    values["workspace_bytes"] = resolver.resolve("workspace_bytes", total, lambda _: derived)
    return values


def _origin_of(labels: Labels, name: str, rule: Rule, known: Mapping[str, Field]) -> OriginOf | None:
    if name == DRAFT:
        return labels.of("draft_model", labels.draft_model, labels.catalog.model)
    return None if rule is nothing else _origin(labels, name.removesuffix("_bytes"), known)


def _origin(labels: Labels, term: str, known: Mapping[str, Field]) -> OriginOf:
    """Provenance of a term: the rule, the versions it was measured on, and where; the engine entry's own elsewhere."""

    def origin(index: Mapping[str, int]) -> Origin:
        label = labels.engine.at(labels.space, index)
        if label is None:
            return Origin("", "not given", provider="none")
        if term == "lora":
            return Origin("fact", "slots x rank x widths of the target modules x 2 B", provider="derived")
        engine = labels.catalog.engine(label)
        row = labels.catalog.memory_term(engine, term, float(known["tensor_parallel"].at(labels.space, index)))
        if row is None or engine not in load_catalog().engines:  # a contract's own entry speaks for itself
            return Origin(engine.cls, engine.source, engine.as_of or "", f"engine {label}")
        versions = range_text(row.version_from, row.version_to)
        return Origin(
            row.cls, f"{row.rule} ({engine.name} {versions}): {row.source}", row.as_of or "", f"engine {label}"
        )

    return origin
