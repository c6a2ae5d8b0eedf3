"""What every decoder states, and the plan that the families of layers fill: weights, cache and fields of the entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gridplan.catalog.hf.fields import MOST_LAYERS, Fields
from gridplan.catalog.hf.weights import Weight
from gridplan.catalog.layers import KINDS

__all__ = ["Base", "Block", "Plan", "grouped", "read_base"]


@dataclass(frozen=True, slots=True)
class Base:
    """The sizes of the whole model."""

    layers: int
    hidden: int
    vocab: int
    tied: bool


@dataclass(frozen=True)
class Block:
    """One kind of sublayer: the weights it has in layer i, the cache of each layer, and fields of the entry."""

    weights: Callable[[int], Iterable[Weight]]
    groups: list[dict[str, Any]] = field(default_factory=list)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A model as its config describes it.

    `weights` are what serving loads; `extra` are parts that it can do without (`mtp`, `vision`), by name. `not_counted`
    says why a part that the config names is not in `extra`.
    """

    base: Base
    weights: tuple[Weight, ...]
    groups: list[dict[str, Any]]
    facts: Mapping[str, Any]
    extra: Mapping[str, tuple[Weight, ...]] = field(default_factory=dict)
    not_counted: Mapping[str, str] = field(default_factory=dict)


def read_base(fields: Fields, tied: bool, layers: int | None = None) -> Base:
    """Layers, hidden size, vocabulary, and whether the embedding serves as lm_head too (`tied` where it is silent)."""
    return Base(
        layers=layers if layers is not None else fields.count("num_hidden_layers", most=MOST_LAYERS),
        hidden=fields.count("hidden_size"),
        vocab=fields.count("vocab_size"),
        tied=fields.flag("tie_word_embeddings", tied),
    )


def grouped(caches: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Layer groups of the caches of all layers, one item a layer: equal ones are one group.

    Groups are in the order of the kinds, those beside others last.

    >>> grouped([{"kind": "shared"}, {"kind": "full", "kv_heads": 8}, {"kind": "shared"}])
    [{'kind': 'full', 'layers': 1, 'kv_heads': 8}, {'kind': 'shared', 'layers': 2}]
    """
    counts: dict[tuple[tuple[str, Any], ...], int] = {}
    for cache in caches:
        key = tuple(cache.items())
        counts[key] = counts.get(key, 0) + 1
    groups = [{"kind": dict(key)["kind"], "layers": count, **dict(key)} for key, count in counts.items()]
    return sorted(groups, key=lambda group: (group.get("beside", False), KINDS.index(group["kind"])))
