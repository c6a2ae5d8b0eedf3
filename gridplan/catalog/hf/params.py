"""Exact parameter counts of a plan: by part, and those that the catalog's entry names."""

from __future__ import annotations

from collections.abc import Iterable

from gridplan.catalog.hf.base import Plan
from gridplan.catalog.hf.weights import PARTS, Weight, total

__all__ = ["active", "by_part", "replicated", "routed"]

_DOWN = (".q_a_proj", ".kv_a_proj_with_mqa", ".wq_a", ".wkv", ".wgate")
"""Down projections of latent attention, and what compresses its cache: every tensor-parallel rank holds them whole."""


def by_part(weights: Iterable[Weight]) -> dict[str, int]:
    """Parameters of each part that there is [count].

    >>> by_part([Weight("norm", "norms", 4096), Weight("embed_tokens", "embedding", 128256, 4096)])
    {'embedding': 525336576, 'norms': 4096}
    """
    held = list(weights)
    counts = {part: total(weight for weight in held if weight.part == part) for part in PARTS}
    return {part: count for part, count in counts.items() if count}


def active(plan: Plan, weights: Iterable[Weight]) -> int:
    """Parameters that one token of text uses: all but the tower and the routed experts it is not sent to [count]."""
    passed = [weight for weight in weights if weight.part != "vision"]
    spread, experts = total(filter(_is_routed, passed)), plan.facts.get("num_experts")
    everything = total(passed)
    if not experts:
        return everything
    return everything - spread + spread * int(plan.facts["experts_per_token"]) // int(experts)


def routed(weights: Iterable[Weight]) -> int:
    """Matrices of routed experts [count], those of extra layers too; as in the catalog, biases are in no part."""
    return total(weight for weight in weights if _is_routed(weight) and weight.columns > 1)


def _is_routed(weight: Weight) -> bool:
    return weight.part == "experts" or weight.routed


def replicated(weights: Iterable[Weight]) -> int:
    """Matrices that every tensor-parallel rank holds whole: down projections of latent attention and the indexer.

    Routers are too, and the catalog counts them by itself; norms and biases (below 0.1%) are in no part of it.
    """
    held = [weight for weight in weights if weight.columns > 1]
    return total(
        weight
        for weight in held
        if weight.part == "indexer" or (weight.part == "attention" and weight.name.endswith(_DOWN))
    )
