"""Memory that an engine takes beside weights and KV cache, as named terms that add up, for one GPU of a cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gridplan import formulas
from gridplan.catalog import Catalog, Engine, Model

__all__ = ["Deployed", "activation_bytes", "budget_terms", "cuda_graphs_bytes", "lora_bytes", "non_torch_bytes"]

GIB = 2**30

_WITHOUT_EXPERT_BUFFERS = ("mxfp4",)
"""Weight formats whose expert kernels keep no 16-bit buffers (gpt-oss-20b on vLLM 0.19: 2.87 GiB, the sampler's alone;
llm-d-incubation/llm-d-planner@2d557dc, class measurement)."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """What the terms depend on beside engine and model; NaN where it is not known."""

    tensor_parallel: float
    max_num_seqs: float
    max_num_batched_tokens: float
    gpu_memory_utilization: float
    weight_dtype: str | None = None
    max_loras: float = 0.0
    max_lora_rank: float = 16.0


def budget_terms(catalog: Catalog, engine: Engine, model: Model, deployed: Deployed) -> Mapping[str, float] | None:
    """The engine's own terms for one GPU [bytes]: non_torch, activation, cuda_graphs, lora; None where one lacks.

    >>> from gridplan.catalog import load_catalog
    >>> known = load_catalog()
    >>> at = Deployed(1, 1024, 8192, 0.9)
    >>> terms = budget_terms(known, known.engine("vllm@0.19"), known.model("llama-3.1-8b"), at)
    >>> {name: round(value / 2**30, 2) for name, value in terms.items()}
    {'non_torch': 0.27, 'activation': 1.9, 'cuda_graphs': 0.0, 'lora': 0.0}
    """
    terms = {
        "non_torch": non_torch_bytes(engine, deployed),
        "activation": activation_bytes(catalog, engine, model, deployed),
        "cuda_graphs": cuda_graphs_bytes(engine),
        "lora": lora_bytes(model, deployed),
    }
    known = {name: value for name, value in terms.items() if value is not None}
    return known if len(known) == len(terms) else None


def non_torch_bytes(engine: Engine, deployed: Deployed) -> float | None:
    """Device memory outside the tensor library [bytes]: communication buffers, library handles, device context."""
    gib = engine.non_torch_gib_tp1 if deployed.tensor_parallel == 1 else engine.non_torch_gib_tp2plus
    if gib is None:
        return None
    if engine.fraction_meaning == "of_free_static":
        return _known(formulas.context_share_bytes(gib * GIB, deployed.gpu_memory_utilization))
    return gib * GIB


def cuda_graphs_bytes(engine: Engine) -> float | None:
    """CUDA graphs as far as the budget counts them [bytes]; elsewhere they come out of what the fraction leaves."""
    if engine.cuda_graphs_in_budget is None:
        return None
    if not engine.cuda_graphs_in_budget:
        return 0.0
    return None if engine.cuda_graphs_gib is None else engine.cuda_graphs_gib * GIB


def lora_bytes(model: Model | None, deployed: Deployed) -> float | None:
    """Adapter slots [bytes]: 0 without any; None for layers whose adapters are not understood (latent, linear)."""
    if deployed.max_loras == 0:
        return 0.0
    if model is None or model.head_dim is None or model.num_linear_layers:
        return None
    tensor_parallel = deployed.tensor_parallel
    return _known(
        formulas.lora_bytes(
            deployed.max_loras,
            deployed.max_lora_rank,
            model.num_layers,
            model.hidden_size,
            model.attention_heads * model.head_dim,
            model.kv_heads * model.head_dim,
            _dense_width(model),
            tensor_parallel,
            min(tensor_parallel, model.kv_heads),
        )
    )


def activation_bytes(catalog: Catalog, engine: Engine, model: Model, deployed: Deployed) -> float | None:
    """Peak of the profiling run [bytes] by the engine's rule; 0 where the static fraction leaves room for it."""
    rule = engine.activation_rule
    if rule == "none":
        return 0.0
    if rule == "by_family":
        return catalog.activation_family(model).activation_gib * GIB
    if rule not in ("sampler_forward", "sampler_forward_kept"):
        return None
    tokens, tensor_parallel, hidden = deployed.max_num_batched_tokens, deployed.tensor_parallel, model.hidden_size
    # An engine of a contract that gives no bytes per logit samples as the first ones did: by a sort.
    rate = () if engine.sampler_bytes_per_logit is None else (engine.sampler_bytes_per_logit,)
    peak = formulas.activation_peak_bytes if rule == "sampler_forward" else formulas.activation_peak_kept_bytes
    return _known(
        peak(
            formulas.activation_sampler_bytes(deployed.max_num_seqs, model.vocab_size, *rate),
            formulas.activation_forward_bytes(hidden, _dense_width(model), tensor_parallel, tokens),
            formulas.hidden_states_bytes(hidden, tokens),
            _expert_bytes(model, deployed),
        )
    )


def _dense_width(model: Model) -> float:
    """Width of the MLP of the layers that are not mixtures of experts; 0 where there are none."""
    all_experts = bool(model.num_experts) and model.num_moe_layers >= model.num_layers
    return 0.0 if all_experts else float(model.intermediate_size or 0)


def _expert_bytes(model: Model, deployed: Deployed) -> float:
    if not model.num_experts or not model.experts_per_token or deployed.weight_dtype in _WITHOUT_EXPERT_BUFFERS:
        return 0.0
    width = model.moe_intermediate_size or model.intermediate_size or 0
    tokens = deployed.max_num_batched_tokens
    return float(
        formulas.expert_workspace_bytes(
            model.hidden_size, width, model.experts_per_token, deployed.tensor_parallel, tokens
        )
    )


def _known(value: object) -> float | None:
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else None
