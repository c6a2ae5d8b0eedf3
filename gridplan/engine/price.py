"""Price and node size: of the instance; else as given; else of the cheapest listed shape that holds a replica.

Everything is decided cell by cell, so a scenario that states a price changes its own cells and no others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gridplan.catalog import cheapest_list_instance
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.resolve import Origin
from gridplan.formulas import reserved_usd_per_hour

__all__ = ["Pricing"]


def _unless(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """`value` where `other` is not given."""
    return np.asarray(np.where(np.isnan(other), value, np.nan))


@dataclass(frozen=True)
class Pricing:
    """The rentable shape whose price and size count in each cell (None where a price is stated), and stated prices."""

    labels: Labels
    shape: Field
    per_gpu: Field
    per_node: Field

    @classmethod
    def of(cls, labels: Labels, known: Mapping[str, Field]) -> Pricing:
        """Choose the shape of every cell."""
        catalog, peek = labels.catalog, labels.resolver.peek
        per_gpu, per_node, size = peek("usd_per_gpu_hour"), peek("usd_per_node_hour"), peek("gpus_per_node")

        def shape(
            instance: str | None, gpu: str | None, tp: float, pp: float, gpus: float, of_gpu: float, of_node: float
        ) -> str | None:
            stated = not (math.isnan(of_gpu) and math.isnan(of_node))
            if instance is not None or gpu is None or stated:
                return instance
            found = cheapest_list_instance(catalog, gpu, int(tp), int(pp), None if math.isnan(gpus) else int(gpus))
            return None if found is None else found.id

        parallel = (known["tensor_parallel"], known["pipeline_parallel"])
        chosen = lookup(shape, labels.instance, labels.gpu, *parallel, size, per_gpu, per_node, dtype=object)
        return cls(labels, chosen, per_gpu, per_node)

    def values(self) -> dict[str, Field]:
        """`usd_per_gpu_hour`, `usd_per_node_hour`, `gpus_per_node`, `scale_up_gpus`; a GPU price hides a node's."""
        resolver, catalog = self.labels.resolver, self.labels.catalog
        values = {"usd_per_gpu_hour": resolver.resolve("usd_per_gpu_hour")}
        for name in ("usd_per_node_hour", "gpus_per_node", "scale_up_gpus"):

            def attribute(instance: str | None, of_gpu: float, name: str = name) -> float | None:
                hidden = name == "usd_per_node_hour" and not math.isnan(of_gpu)
                if instance is None or hidden:
                    return None
                value: float | None = getattr(catalog.instance(instance), name)
                return value

            default = lookup(attribute, self.shape, self.per_gpu)
            if name == "gpus_per_node":
                self._refuse_other_size(default)
            values[name] = resolver.resolve(name, default, self.labels.of("instance", self.shape, catalog.instance))
        # A price of a GPU, where stated, is the price; that of a node does not count beside it.
        values["usd_per_node_hour"] = combine(_unless, values["usd_per_node_hour"], values["usd_per_gpu_hour"])
        spot = lookup(lambda i: None if i is None else catalog.instance(i).spot_usd, self.shape)
        of_shape = self.labels.of("instance", self.shape, catalog.instance)
        values["spot_usd_per_node_hour"] = resolver.resolve("spot_usd_per_node_hour", spot, of_shape)
        values["reserved_usd_per_node_hour"] = self._reserved(values["usd_per_node_hour"])
        if {"usd_per_gpu_hour", "usd_per_node_hour"} <= set(resolver.grid.given):
            resolver.problem("usd_per_gpu_hour and usd_per_node_hour are two prices: give one", "usd_per_node_hour")
        return values

    def _reserved(self, on_demand: Field) -> Field:
        """The price of a node under a commitment: as stated, else the list price less the discount."""
        resolver = self.labels.resolver
        discount, name = resolver.resolve("reserved_discount"), "reserved_usd_per_node_hour"
        if np.isnan(discount.data).all():
            return resolver.resolve(name)
        bare = combine(lambda price, share: np.asarray(reserved_usd_per_hour(price, share)), on_demand, discount)
        return resolver.resolve(name, bare, lambda _: Origin("assumption", "list price less reserved_discount"))

    def _refuse_other_size(self, of_shape: Field) -> None:
        """An instance has the size it has: its price is for that many GPUs."""
        stated, priced = self.labels.resolver.peek("gpus_per_node").data, np.isnan(self.per_node.data)
        differs = np.not_equal(stated, of_shape.data) & ~np.isnan(stated) & ~np.isnan(of_shape.data)
        scaled = any(
            "gpus_per_node" in scenario.changes and scenario.changes["gpus_per_node"].op != "set"
            for scenario in self.labels.resolver.grid.scenarios
        )
        if (differs & priced).any() or (scaled and (priced & ~np.isnan(of_shape.data)).any()):
            message = "contradicts the instance; its price is for the size it has"
            self.labels.resolver.problem(f"gpus_per_node {message}", "gpus_per_node")
