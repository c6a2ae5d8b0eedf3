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
        spot = lookup(lambda i: None if i is None else catalog.instance(i).spot_usd, self.shape)
        of_shape = self.labels.of("instance", self.shape, catalog.instance)
        values["spot_usd_per_node_hour"] = resolver.resolve("spot_usd_per_node_hour", spot, of_shape)
        # A price of a GPU, where stated, is the price; that of a node does not count beside it.
        values["usd_per_node_hour"] = combine(_unless, values["usd_per_node_hour"], values["usd_per_gpu_hour"])
        if {"usd_per_gpu_hour", "usd_per_node_hour"} <= set(resolver.grid.given):
            resolver.problem("usd_per_gpu_hour and usd_per_node_hour are two prices: give one", "usd_per_node_hour")
        return values

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

    def texts(self) -> dict[str, Field]:
        """What sets the price, of which date, of which kind."""
        catalog = self.labels.catalog
        dates = {name: self._stated_date(name) for name in ("usd_per_gpu_hour", "usd_per_node_hour")}

        def text(instance: str | None, of_gpu: float, of_node: float, scaled: float, attribute: str) -> str | None:
            named = "usd_per_gpu_hour" if not math.isnan(of_gpu) else "usd_per_node_hour"
            if not (math.isnan(of_gpu) and math.isnan(of_node)):
                return {"id": named, "as_of": dates[named], "price_kind": "given"}[attribute]
            if instance is None or catalog.instance(instance).usd_per_node_hour is None:
                return None
            found: str | None = getattr(catalog.instance(instance), attribute)
            return "given" if attribute == "price_kind" and scaled else found

        def of(attribute: str) -> Field:
            fields = (self.shape, self.per_gpu, self.per_node, self._scaled())
            return lookup(lambda i, g, n, s: text(i, g, n, s, attribute), *fields, dtype=object)

        return {"priced_by": of("id"), "price_as_of": of("as_of"), "price_kind": of("price_kind")}

    def _scaled(self) -> Field:
        """1 where a scenario scales the price: it is no longer the one that was listed."""
        names, scenarios = {"usd_per_gpu_hour", "usd_per_node_hour"}, self.labels.resolver.grid.scenarios
        scaled = [float(bool(names & set(scenario.changes))) for scenario in scenarios]
        if not any(scaled):
            return self.labels.space.constant(0.0, np.float64)
        return self.labels.space.along("scenario", scaled, np.float64)

    def _stated_date(self, name: str) -> str | None:
        given = self.labels.resolver.grid.given.get(name)
        return (given.as_of if given else "") or None
