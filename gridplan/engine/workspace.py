"""Memory that an engine takes beside weights and KV cache, as named terms that add up, for one GPU of every cell.

What an engine or a model brings to a rule is looked up by its label; the rule itself is one broadcast formula. NaN
where a rule or one of its numbers is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridplan import formulas
from gridplan.catalog import Engine, Model
from gridplan.engine.field import Field, combine, lookup
from gridplan.engine.labels import Labels
from gridplan.formulas.activation import SAMPLER_BYTES_PER_LOGIT

__all__ = ["activation_bytes", "cuda_graphs_bytes", "draft_weights_bytes", "lora_bytes", "non_torch_bytes", "nothing"]

GIB = 2**30

_WITHOUT_EXPERT_BUFFERS = ("mxfp4",)
"""Weight formats whose expert kernels keep no 16-bit buffers (gpt-oss-20b on vLLM 0.19: 2.87 GiB, the sampler's alone;
llm-d-incubation/llm-d-planner@2d557dc, class measurement)."""

_FREED, _KEPT = "sampler_forward", "sampler_forward_kept"
_RULES = ("none", "by_family", _FREED, _KEPT)
"""Rules of the activation peak."""


def non_torch_bytes(labels: Labels, known: Mapping[str, Field]) -> Field:
    """Device memory outside the tensor library [bytes]: communication buffers, library handles, device context."""

    def gib(engine: Engine, tensor_parallel: float) -> float | None:
        return engine.non_torch_gib_tp1 if tensor_parallel == 1 else engine.non_torch_gib_tp2plus

    held = labels.by_engine(gib, known["tensor_parallel"])
    measures_free = labels.by_engine(lambda engine: float(engine.fraction_meaning == "of_free_static"))

    def term(gib: NDArray[Any], free: NDArray[Any], fraction: NDArray[Any]) -> NDArray[Any]:
        return np.where(free == 1, formulas.context_share_bytes(gib * GIB, fraction), gib * GIB)

    return combine(term, held, measures_free, known["gpu_memory_utilization"])


def cuda_graphs_bytes(labels: Labels, _: Mapping[str, Field]) -> Field:
    """CUDA graphs as far as the budget counts them [bytes]; elsewhere they come out of what the fraction leaves."""

    def counted(engine: Engine) -> float | None:
        if engine.cuda_graphs_in_budget is None:
            return None
        if not engine.cuda_graphs_in_budget:
            return 0.0
        return None if engine.cuda_graphs_gib is None else engine.cuda_graphs_gib * GIB

    return labels.by_engine(counted)


def draft_weights_bytes(labels: Labels, known: Mapping[str, Field]) -> Field:
    """Weights of a draft model on one GPU, in its own format and split as the target is [bytes]; 0 without one."""
    catalog = labels.catalog

    def weights(name: str | None, tensor_parallel: float) -> float | None:
        if name is None:
            return 0.0
        model = catalog.model(name)
        if model.params_total is None:
            return None
        bits = catalog.dtype("weight", model.native_weight_dtype).bits_per_element
        stored = formulas.weights_bytes(model.params_total, bits)
        return float(formulas.draft_weights_bytes_per_gpu(stored, tensor_parallel))

    return lookup(weights, labels.draft_model, known["tensor_parallel"])


def nothing(labels: Labels, _: Mapping[str, Field]) -> Field:
    """A term that no rule gives: 0 unless the contract states it [bytes]."""
    return labels.space.constant(0.0, np.float64)


def lora_bytes(labels: Labels, known: Mapping[str, Field]) -> Field:
    """Adapter slots [bytes]: 0 without any; NaN for layers whose adapters are not understood (latent, linear)."""
    shapes: tuple[Callable[[Model], float], ...] = (
        lambda m: m.num_layers,
        lambda m: m.hidden_size,
        lambda m: m.attention_heads * (m.head_dim or 0),
        lambda m: m.kv_heads * (m.head_dim or 0),
        _dense_width,
    )

    def width(get: Callable[[Model], float]) -> Field:
        return labels.by_model(lambda m: get(m) if _takes_adapters(m) else None)

    widths = [width(get) for get in shapes]
    kv_heads = labels.by_model(lambda m: m.kv_heads if _takes_adapters(m) else None)
    shards = combine(np.minimum, known["tensor_parallel"], kv_heads)
    slots = known["max_loras"]
    held = combine(formulas.lora_bytes, slots, known["max_lora_rank"], *widths, known["tensor_parallel"], shards)
    return combine(lambda count, size: np.where(count == 0, 0.0, size), slots, held)


def _takes_adapters(model: Model) -> bool:
    return model.head_dim is not None and not model.num_linear_layers


def activation_bytes(labels: Labels, known: Mapping[str, Field]) -> Field:
    """Peak of the profiling run [bytes] by the engine's rule; 0 where the static fraction leaves room for it."""
    rule = labels.by_engine(lambda e: _RULES.index(e.activation_rule) if e.activation_rule in _RULES else None)
    by_family = labels.by_model(lambda m: labels.catalog.activation_family(m).activation_gib * GIB)
    tokens, tensor_parallel = known["max_num_batched_tokens"], known["tensor_parallel"]
    hidden, vocabulary = (labels.by_model(attrgetter(name)) for name in ("hidden_size", "vocab_size"))
    # An engine of a contract that gives no bytes per logit samples as the first ones did: by a sort.
    rate = labels.by_engine(lambda e: e.sampler_bytes_per_logit or SAMPLER_BYTES_PER_LOGIT)
    peaks = (
        combine(formulas.activation_sampler_bytes, known["max_num_seqs"], vocabulary, rate),
        combine(formulas.activation_forward_bytes, hidden, labels.by_model(_dense_width), tensor_parallel, tokens),
        combine(formulas.hidden_states_bytes, hidden, tokens),
        _expert_buffers(labels, hidden, tensor_parallel, tokens),
    )
    freed, kept = (
        combine(peak, *peaks) for peak in (formulas.activation_peak_bytes, formulas.activation_peak_kept_bytes)
    )
    choices = {"none": combine(np.zeros_like, rule), "by_family": by_family, _FREED: freed, _KEPT: kept}

    def chosen(code: NDArray[Any], *terms: NDArray[Any]) -> NDArray[Any]:
        return np.select([code == place for place in range(len(_RULES))], terms, np.nan)

    return combine(chosen, rule, *(choices[name] for name in _RULES))


def _dense_width(model: Model) -> float:
    """Width of the MLP of the layers that are not mixtures of experts; 0 where there are none."""
    all_experts = bool(model.num_experts) and model.num_moe_layers >= model.num_layers
    return 0.0 if all_experts else float(model.intermediate_size or 0)


def _expert_buffers(labels: Labels, hidden: Field, tensor_parallel: Field, tokens: Field) -> Field:
    """Buffers of the fused expert kernel [bytes]; 0 without experts."""

    def of_token(model: str | None, dtype: str | None) -> float | None:
        if model is None:
            return None
        entry = labels.catalog.model(model)
        if not entry.num_experts or not entry.experts_per_token or dtype in _WITHOUT_EXPERT_BUFFERS:
            return 0.0
        return entry.experts_per_token

    experts = lookup(of_token, labels.model, labels.weight_dtype)
    width = labels.by_model(lambda m: m.moe_intermediate_size or m.intermediate_size or 0)
    return combine(formulas.expert_workspace_bytes, hidden, width, experts, tensor_parallel, tokens)
