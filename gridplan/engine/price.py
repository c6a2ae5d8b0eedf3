"""Price and node size: of the instance; else as given; else of the cheapest listed shape that holds a replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gridplan.catalog import cheapest_list_instance
from gridplan.engine.field import Field, lookup
from gridplan.engine.labels import Labels

__all__ = ["price_labels", "price_values", "priced_shape"]


def priced_shape(labels: Labels, known: Mapping[str, Field]) -> Field:
    """The rentable shape whose price and size count in each cell, or None."""
    resolver, catalog = labels.resolver, labels.catalog
    stated = resolver.is_given("usd_per_node_hour") or resolver.is_given("usd_per_gpu_hour")

    def shape(instance: str | None, gpu: str | None, tp: float, pp: float) -> str | None:
        if instance is not None or gpu is None or stated:
            return instance
        found = cheapest_list_instance(catalog, gpu, int(tp), int(pp))
        return None if found is None else found.id

    return lookup(
        shape, labels.instance, labels.gpu, known["tensor_parallel"], known["pipeline_parallel"], dtype=object
    )


def price_values(labels: Labels, shape: Field) -> dict[str, Field]:
    """`usd_per_gpu_hour`, `usd_per_node_hour`, `gpus_per_node`, `scale_up_gpus`; a stated GPU price hides a node's."""
    resolver, catalog = labels.resolver, labels.catalog
    values = {"usd_per_gpu_hour": resolver.resolve("usd_per_gpu_hour")}
    by_gpu = resolver.is_given("usd_per_gpu_hour")
    for name in ("usd_per_node_hour", "gpus_per_node", "scale_up_gpus"):
        hidden = by_gpu and name == "usd_per_node_hour"

        def attribute(instance: str | None, name: str = name, hidden: bool = hidden) -> Any:
            return None if instance is None or hidden else getattr(catalog.instance(instance), name)

        default = lookup(attribute, shape)
        values[name] = resolver.resolve(name, default, labels.of("instance", shape, catalog.instance))
    return values


def price_labels(labels: Labels, shape: Field) -> dict[str, Field]:
    """What sets the price, of which date, of which kind."""
    resolver, catalog = labels.resolver, labels.catalog
    named = next((n for n in ("usd_per_gpu_hour", "usd_per_node_hour") if resolver.is_given(n)), None)
    if named is not None:
        given = resolver.grid.given.get(named)
        texts = {"priced_by": named, "price_as_of": (given.as_of if given else "") or None, "price_kind": "given"}
        return {name: labels.space.constant(text, object) for name, text in texts.items()}

    def of(attribute: str) -> Field:
        def label(instance: str | None) -> str | None:
            if instance is None or catalog.instance(instance).usd_per_node_hour is None:
                return None
            text: str | None = getattr(catalog.instance(instance), attribute)
            return text

        return lookup(label, shape, dtype=object)

    return {"priced_by": of("id"), "price_as_of": of("as_of"), "price_kind": of("price_kind")}
