"""What a reader of a cube must know beside its numbers: sentences about a contract that is legal and may mislead."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from gridplan.catalog import Catalog
from gridplan.catalog.layers import WHOLE_CONTEXT, WINDOWED
from gridplan.contract.grid import Lengths
from gridplan.engine.catalog_warnings import lacking_entries, old_prices
from gridplan.engine.field import Field
from gridplan.engine.portfolio import portfolio_unused
from gridplan.engine.resolve import Resolver
from gridplan.engine.unused import unused

__all__ = ["warnings_of"]

SMALLEST_BYTES = 2.0**20
"""Below it a memory size is taken for a slip of the unit (policy)."""

_POOL_SETTINGS = ("gpu", "model", "kv_dtype", "weight_dtype", "engine", "tensor_parallel", "pipeline_parallel")
"""What a measured pool depends on."""

_WINDOWS, _STATES = ("a window", WINDOWED), ("a recurrent state", ("state",))
_KINDS_OF: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sliding_policy": _WINDOWS,
    "in_flight_steps": _WINDOWS,
    "state_blocks": _STATES,
    "num_speculative_tokens": _STATES,
    "draft_layers": ("a layer that keeps the whole context", WHOLE_CONTEXT),
}
"""Inputs that only some kinds of layer read."""


def warnings_of(
    resolver: Resolver, values: Mapping[str, Field], labels: Mapping[str, Field], catalog: Catalog
) -> tuple[str, ...]:
    """What a reader of the cube must know, one sentence each."""
    warnings = [*dict.fromkeys(resolver.warnings), *unused(resolver), *portfolio_unused(resolver, values)]
    if resolver.is_given("decode_tokens_per_s") and not resolver.is_given("decode_tokens_at_concurrency"):
        warnings.append(
            "decode_tokens_per_s has no decode_tokens_at_concurrency: a throughput measured at "
            "another batch than planned does not hold"
        )
    mixed = any(len(workload.classes) > 1 for workload in resolver.grid.workloads) or bool(_random(resolver))
    if mixed and not resolver.is_given("resident_context"):
        warnings.append(
            "resident_context final (the default) averages classes over arrivals; long outputs stay longer, so a "
            "pool of mixed classes holds another number: compare with residence_weighted"
        )
    warnings += _open_ended(resolver)
    if (values["gpu_memory_utilization"].data >= 0.99).any():
        warnings.append("gpu_memory_utilization of 0.99 and more leaves the driver no memory: engines fail to start")
    warnings += _tiny(resolver)
    warnings += _one_pool(resolver)
    warnings += _idle_layers(resolver, catalog)
    warnings += _towers(resolver, catalog)
    warnings += lacking_entries(values, labels, catalog)
    if resolver.grid.priced_on:
        warnings += old_prices(labels, date.fromisoformat(resolver.grid.priced_on), "priced_on")
    return (*warnings, *_percentiles_as_means(resolver))


def _open_ended(resolver: Resolver) -> list[str]:
    """Random lengths without a longest one: what must fit is then that of the longest node."""
    found = [said for said, length in _random(resolver) if length.longest is None]
    several = ", ".join(dict.fromkeys(found))
    said = "no max: the longest request is taken from its longest node, which real ones exceed"
    return [f"{several} has {said}"] if found else []


def _random(resolver: Resolver) -> list[tuple[str, Lengths]]:
    """Lengths of classes that differ from request to request, and how a message names them."""
    return [
        (f"{name} of class {item.name}" if item.name else name, length)
        for workload in resolver.grid.workloads
        for item in workload.classes
        for name, length in (("prompt_tokens", item.prompt_tokens), ("output_tokens", item.output_tokens))
        if isinstance(length, Lengths) and length.scv != 0
    ]


def _tiny(resolver: Resolver) -> list[str]:
    """Sizes that were meant in another unit: no pool, GPU or model takes less than a MiB."""
    said = []
    for name in ("kv_pool_bytes_given", "gpu_memory_bytes", "weights_bytes"):
        stated = resolver.peek(name).data
        small = stated[stated < SMALLEST_BYTES]
        if small.size:
            said.append(f"{name} of {float(small[0]):g} is in bytes: write a unit, as in {float(small[0]):g} GiB")
    return said


def _one_pool(resolver: Resolver) -> list[str]:
    """A pool was measured in one setting; over several it is the same number for all."""
    several = [name for name in _POOL_SETTINGS if len(resolver.fields[name].unique) > 1]
    return [
        f"{name} is one measured pool for several of {', '.join(several)}: it holds for one of them"
        for name in ("kv_pool_bytes_given", "kv_pool_tokens_given")
        if several and resolver.is_given(name) and len(set(resolver.peek(name).data.ravel().tolist())) == 1
    ]


def _idle_layers(resolver: Resolver, catalog: Catalog) -> list[str]:
    """Inputs about windows and states on a grid in which no model has any."""
    models = [catalog.model(name) for name in resolver.fields["model"].unique if name is not None]
    kinds = {group.kind for model in models for group in model.layer_groups}
    return [
        f"{name} is not used: no model of the grid has {what}"
        for name, (what, readers) in _KINDS_OF.items()
        if models and resolver.is_given(name) and kinds.isdisjoint(readers)
    ]


def _towers(resolver: Resolver, catalog: Catalog) -> list[str]:
    """Models whose vision tower is loaded and not counted."""
    if any(resolver.is_given(name) for name in ("params_vision", "weights_bytes", "kv_pool_bytes_given")):
        return []
    models = [name for name in resolver.fields["model"].unique if name and catalog.model(name).params_vision is None]
    said = "is loaded and not counted in the weights: state params_vision (0 where it is not loaded) or weights_bytes"
    return [f"the vision tower of {', '.join(models)} {said}"] if models else []


def _percentiles_as_means(resolver: Resolver) -> list[str]:
    """One sentence where limits at a percentile are applied to means, since nothing predicts the percentile."""
    if "replica_seconds" not in resolver.fields["capacity_model"].unique:
        return []
    said = []
    for limit in ("ttft", "tpot", "e2e"):
        stated = resolver.fields[f"{limit}_slo_percentile"].unique
        named = [f"{label:g}" if isinstance(label, float) else str(label) for label in stated if label != "mean"]
        if named and resolver.is_given(f"{limit}_slo_s"):
            said.append(f"{limit} at percentile {', '.join(named)}")
    basis = "capacity_model replica_seconds applies limits to means (slo_basis), not to percentiles"
    return [f"{basis}: {', '.join(said)}"] if said else []
