"""Inputs that follow from the model, the GPU and the number formats: geometry, bytes, rates, and what is illegal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter

import numpy as np

from gridplan.catalog import (
    compute_flops,
    context_parallel_problem,
    data_parallel_problem,
    dtype_problem,
    expert_parallel_problem,
    pipeline_parallel_problem,
    tensor_parallel_problem,
)
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.engine.weights import weight_values

__all__ = ["gpu_values", "legality", "model_values", "parallelism"]

_DEGREES = (
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "expert_parallel",
    "decode_context_parallel",
)
_GEOMETRY = ("kv_layers", "kv_heads", "head_dim", "kv_lora_rank", "qk_rope_head_dim", "max_position_embeddings")


def parallelism(labels: Labels) -> dict[str, Field]:
    """Tensor, pipeline, data, expert and decode context parallelism, 1 where not given."""
    one = labels.space.constant(1.0, np.float64)
    return {name: labels.resolver.resolve(name, one) for name in _DEGREES}


def model_values(labels: Labels, degrees: Mapping[str, Field]) -> dict[str, Field]:
    """KV geometry, parameter counts, bits of the formats, and bytes of the weights."""
    resolver, model = labels.resolver, labels.catalog.model
    of_model = labels.of("model", labels.model, model)
    values: dict[str, Field] = {}
    for name in _GEOMETRY:
        resolver.origins[name] = of_model
        values[name] = labels.by_model(attrgetter(name))
    values["kv_is_mla"] = lookup(lambda m: float(m is not None and model(m).attention == "mla"), labels.model)
    total = labels.attribute("model", labels.model, model, "params_total", "params_total")
    # A dense model multiplies all its parameters, also where the contract overrides their number.
    sparse = lookup(
        lambda m: model(m).params_active if m is not None and model(m).num_experts else np.nan, labels.model
    )
    is_sparse = lookup(lambda m: float(m is not None and bool(model(m).num_experts)), labels.model)
    active = combine(_active, is_sparse, sparse, total)
    values["params_total"] = total
    values["params_active"] = resolver.resolve("params_active", active, of_model)
    values["params_embedding"] = labels.attribute("model", labels.model, model, "params_embedding", "params_embedding")
    values["params_vision"] = labels.attribute("model", labels.model, model, "params_vision", "params_vision")
    untied = lookup(lambda m: float(m is not None and not model(m).tie_word_embeddings), labels.model)
    values["params_lm_head"] = combine(np.multiply, untied, values["params_embedding"])
    values.update(_formats(labels))
    values.update(weight_values(labels, {**degrees, **values}))
    return values


def _active(is_sparse: np.ndarray, sparse: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(is_sparse == 1, sparse, total))


def _formats(labels: Labels) -> dict[str, Field]:
    """Bits per element of weights and KV cache."""
    values = {}
    for role, name, field in (("weight", "weight_bits", labels.weight_dtype), ("kv", "kv_bits", labels.kv_dtype)):
        entry = partial(labels.catalog.dtype, role)
        values[name] = lookup(lambda d, entry=entry: None if d is None else entry(d).bits_per_element, field)
        labels.resolver.origins[name] = labels.of(f"{role}_dtype", field, entry)
    return values


def gpu_values(labels: Labels) -> dict[str, Field]:
    """Memory, bandwidth and compute rate of one GPU."""
    resolver, gpu = labels.resolver, labels.catalog.gpu
    values = {
        "gpu_memory_bytes": labels.attribute("gpu", labels.gpu, gpu, "gpu_memory_bytes", "memory_bytes"),
        "memory_bandwidth_bytes_per_s": labels.attribute(
            "gpu", labels.gpu, gpu, "memory_bandwidth_bytes_per_s", "memory_bandwidth_bytes_per_s"
        ),
    }

    values["power_w_per_gpu"] = labels.attribute("gpu", labels.gpu, gpu, "power_w_per_gpu", "tdp_w")

    def flops(name: str | None, weight: str | None) -> float | None:
        if name is None or weight is None:
            return None
        return compute_flops(labels.catalog.dtype("weight", weight), gpu(name))

    rate = lookup(flops, labels.gpu, labels.weight_dtype)
    values["peak_flops"] = resolver.resolve("peak_flops", rate, labels.of("gpu", labels.gpu, gpu))
    values["machine_intensity"] = resolver.resolve("machine_intensity")
    return values


def legality(labels: Labels, known: Mapping[str, Field]) -> dict[str, Field]:
    """1 where the GPU can hold the formats, and where the parallelism can split the model inside one instance."""
    catalog = labels.catalog

    def supported(gpu: str | None, weight: str | None, kv: str | None) -> float:
        pairs = (("weight", weight), ("kv", kv))
        return float(
            gpu is None
            or all(d is None or dtype_problem(catalog.dtype(role, d), catalog.gpu(gpu)) is None for role, d in pairs)
        )

    def tensor(model: str | None, tp: float, ep: float, instance: str | None, stated: float, node: float) -> float:
        # A node whose size alone is stated is taken for the whole of its fast interconnect.
        alone = np.inf if np.isnan(node) else node
        of_shape = alone if instance is None else catalog.instance(instance).scale_up_gpus
        fits = tp <= (of_shape if np.isnan(stated) else stated)
        splits = model is None or tensor_parallel_problem(catalog.model(model), int(tp), int(ep)) is None
        return float(fits and splits)

    def rule(problem: Callable[..., str | None], *degrees: str) -> Field:
        def legal(model: str | None, *given: float) -> float:
            entry = None if model is None else catalog.model(model)
            return float(problem(entry, *map(int, given)) is None)

        return lookup(legal, labels.model, *(known[f"{name}_parallel"] for name in degrees))

    peek = labels.resolver.peek
    of_fabric = (known["expert_parallel"], labels.instance, peek("scale_up_gpus"), peek("gpus_per_node"))
    return {
        "dtype_supported": lookup(supported, labels.gpu, labels.weight_dtype, labels.kv_dtype),
        "tensor_parallel_legal": lookup(tensor, labels.model, known["tensor_parallel"], *of_fabric),
        "pipeline_parallel_legal": rule(pipeline_parallel_problem, "pipeline"),
        "data_parallel_legal": rule(data_parallel_problem, "tensor", "data", "expert"),
        "expert_parallel_legal": rule(expert_parallel_problem, "tensor", "data", "expert"),
        "context_parallel_legal": rule(context_parallel_problem, "tensor", "decode_context"),
    }
