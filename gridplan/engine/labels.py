"""The label fields of a grid (instance, gpu, model, engine, formats) and attributes of the entries they name.

A catalog look-up is an elementwise function of label fields, so an axis, a constant, a coordinate along `instance` and
a scenario's override all take the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gridplan.catalog import Catalog, Model
from gridplan.dictionary import dictionary
from gridplan.engine.field import Field, lookup
from gridplan.engine.resolve import Origin, OriginOf, Resolver

__all__ = ["Labels"]


def _kv_default(weight: str | None, gpu_has_bf16: bool) -> str:
    """The 16-bit type of the weights: their own if they have one, else bf16 where the GPU has it."""
    if weight in ("bf16", "fp16"):
        return str(weight)
    return "bf16" if gpu_has_bf16 else "fp16"


class Labels:
    """Label fields of one grid: what the contract names, else what follows from another label."""

    def __init__(self, resolver: Resolver, catalog: Catalog) -> None:
        self.resolver, self.catalog, self.space = resolver, catalog, resolver.space
        self.instance = resolver.resolve("instance")
        of_instance = lookup(lambda i: None if i is None else catalog.instance(i).gpu, self.instance, dtype=object)
        self.gpu = resolver.resolve("gpu", of_instance, lambda _: Origin("fact", "the instance", provider="instance"))
        self.model = resolver.resolve("model")
        self.draft_model = resolver.resolve("draft_model")
        engine_applies = resolver.is_given("gpu_memory_bytes")
        engine = lookup(lambda g: "vllm" if g or engine_applies else None, self.gpu, dtype=object)
        self.engine = resolver.resolve("engine", engine)
        self.capacity_model = resolver.resolve("capacity_model", self.space.constant("replica_seconds", object))
        native = lookup(lambda m: None if m is None else catalog.model(m).native_weight_dtype, self.model, dtype=object)
        self.weight_dtype = resolver.resolve("weight_dtype", native, self.of("model", self.model, catalog.model))
        kv = lookup(self._kv_default, self.model, self.weight_dtype, self.gpu, dtype=object)
        self.kv_dtype = resolver.resolve("kv_dtype", kv, self._kv_origin)

    def _kv_default(self, model: str | None, weight: str | None, gpu: str | None) -> str:
        """The format of the cache that the model's checkpoint brings, else the 16-bit one."""
        own = None if model is None else self.catalog.model(model).native_kv_dtype
        if own is not None:
            return own
        return _kv_default(weight, gpu is None or "bf16" in self.catalog.gpu(gpu).flops)

    def _kv_origin(self, index: Mapping[str, int]) -> Origin:
        """The model, where its checkpoint brings a format of the cache."""
        label = self.model.at(self.space, index)
        if label is not None and self.catalog.model(label).native_kv_dtype is not None:
            return self.of("model", self.model, self.catalog.model)(index)
        return Origin(dictionary()["kv_dtype"].cls, "default", provider="default")

    def of(self, kind: str, labels: Field, entry: Callable[[str], Any]) -> OriginOf:
        """Provenance of an attribute: that of the catalog entry in the cell."""

        def origin(index: Mapping[str, int]) -> Origin:
            label = labels.at(self.space, index)
            if label is None:
                return Origin("", "not given", provider="none")
            found = entry(label)
            return Origin(found.cls, found.source, found.as_of or "", f"{kind} {label}")

        return origin

    def attribute(self, kind: str, labels: Field, entry: Callable[[str], Any], name: str, attribute: str) -> Field:
        """Input `name`: what the contract says, else `attribute` of the entry that the label names."""
        default = lookup(lambda label: None if label is None else getattr(entry(label), attribute), labels)
        return self.resolver.resolve(name, default, self.of(kind, labels, entry))

    def by_model(self, get: Callable[[Model], float | None]) -> Field:
        """A number of the model in each cell; NaN where none is named, or the number is not known."""
        model = self.catalog.model
        return lookup(lambda name: None if name is None else get(model(name)), self.model)

    def by_engine(self, get: Callable[..., float | None], *more: Field) -> Field:
        """A number of the engine in each cell, `more` beside it as arguments; NaN as for a model."""
        engine = self.catalog.engine
        return lookup(lambda name, *rest: None if name is None else get(engine(name), *rest), self.engine, *more)

    def memory_source(self) -> Field:
        """Where the memory figure of each cell comes from."""
        if self.resolver.is_given("gpu_memory_bytes"):
            return self.space.constant("contract", object)
        return lookup(
            lambda g: None if g is None else self.catalog.gpu(g).memory_source or None, self.gpu, dtype=object
        )

    def fields(self) -> dict[str, Field]:
        """All label fields by name."""
        names = ("instance", "gpu", "model", "engine", "weight_dtype", "kv_dtype", "capacity_model")
        return {name: getattr(self, name) for name in names}
