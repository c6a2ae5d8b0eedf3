"""What cannot be planned: a model that one figure per token misdescribes, an illegal split, a format the GPU lacks."""

from __future__ import annotations

from gridplan.catalog.entries import Dtype, Gpu, Model

__all__ = [
    "attention_kind",
    "compute_flops",
    "dtype_problem",
    "planning_problem",
    "tensor_parallel_problem",
    "unsupported_reason",
]

_WRONG = "per-token KV figures would be wrong"


def unsupported_reason(
    num_layers: int,
    sliding: int,
    chunked: int,
    linear: int,
    window: int | None,
    index_head_dim: int | None,
) -> str | None:
    """Why a model cannot be planned with one KV figure per token, from its layer counts; None when it can.

    >>> unsupported_reason(24, 12, 0, 0, 128, None)
    '12 of 24 layers are sliding-window attention (window 128): per-token KV figures would be wrong'
    """
    span = "not stated" if window is None else str(window)
    parts = [
        f"{sliding} of {num_layers} layers are sliding-window attention (window {span})" if sliding else "",
        f"{chunked} of {num_layers} layers are chunked-local attention (chunk {span})" if chunked else "",
        f"{linear} of {num_layers} layers keep a fixed state (linear attention or Mamba) instead of KV"
        if linear
        else "",
        f"sparse attention also caches indexer keys (index_head_dim {index_head_dim})" if index_head_dim else "",
    ]
    found = [part for part in parts if part]
    return f"{' and '.join(found)}: {_WRONG}" if found else None


def planning_problem(model: Model) -> str | None:
    """Why the model is refused, and how a catalog selection leaves such models out; None when it can be planned.

    >>> from gridplan.catalog import load_catalog
    >>> planning_problem(load_catalog().model("llama-3-8b")) is None
    True
    """
    if model.unsupported_reason is None:
        return None
    return f"{model.unsupported_reason}; a catalog selection leaves such models out with `where: {{supported: true}}`"


def attention_kind(attention_heads: int, kv_heads: int, kv_lora_rank: int | None) -> str:
    """mla, mqa, gqa or mha, from the counts and never from a label.

    >>> attention_kind(32, 8, None), attention_kind(71, 1, None), attention_kind(128, 128, 512)
    ('gqa', 'mqa', 'mla')
    """
    if kv_lora_rank is not None:
        return "mla"
    if kv_heads == attention_heads:
        return "mha"
    return "mqa" if kv_heads == 1 else "gqa"


def tensor_parallel_problem(model: Model, tp: int) -> str | None:
    """Why `tp` ranks cannot split the model; None when they can. What is not known of the MLP is not checked.

    Heads and the MLP's width must divide by tp; KV heads divide by tp or into it (they are replicated then); MLA keeps
    a full copy of the latent on every rank, so its KV heads do not matter. Source: the engines' own load-time checks
    (vLLM's `divide` and `QKVParallelLinear`).

    >>> from gridplan.catalog import load_catalog
    >>> tiny = load_catalog().model("qwen2.5-0.5b")
    >>> [tp for tp in (1, 2, 4, 7, 8, 14) if tensor_parallel_problem(tiny, tp) is None]
    [1, 2]
    """
    if tp < 1:
        return f"tensor_parallel is at least 1, not {tp}"
    if model.attention_heads % tp:
        return f"{model.attention_heads} attention heads do not divide by tensor_parallel {tp}"
    if model.attention != "mla" and model.kv_heads % tp and tp % model.kv_heads:
        return f"{model.kv_heads} KV heads divide neither by tensor_parallel {tp} nor into it"
    has_dense_mlp = not model.num_experts or model.num_moe_layers < model.num_layers
    if has_dense_mlp and model.intermediate_size is not None and model.intermediate_size % tp:
        return f"the MLP's intermediate size {model.intermediate_size} does not divide by tensor_parallel {tp}"
    if model.num_experts and model.moe_intermediate_size is not None and model.moe_intermediate_size % tp:
        return f"the experts' intermediate size {model.moe_intermediate_size} does not divide by tensor_parallel {tp}"
    return None


def dtype_problem(dtype: Dtype, gpu: Gpu) -> str | None:
    """Why the GPU cannot hold this format in this role; None when it can.

    >>> from gridplan.catalog import load_catalog
    >>> shipped = load_catalog()
    >>> dtype_problem(shipped.dtype("weight", "bf16"), shipped.gpu("t4"))
    't4 has no bf16 path, which weight bf16 requires'
    """
    if dtype.vendor and gpu.vendor.casefold() != dtype.vendor.casefold():
        return f"{dtype.role} {dtype.name} runs on {dtype.vendor} GPUs only, and {gpu.id} is not one"
    if dtype.requires and dtype.requires not in gpu.flops:
        return f"{gpu.id} has no {dtype.requires} path, which {dtype.role} {dtype.name} requires"
    return None


def compute_flops(dtype: Dtype, gpu: Gpu) -> float | None:
    """Dense peak [FLOP/s] at which weights of this format compute; None where the catalog has no rate for it.

    Formats with a fallback compute at the 16-bit rate (bf16, else fp16) where the GPU lacks their own path.

    >>> from gridplan.catalog import load_catalog
    >>> shipped = load_catalog()
    >>> compute_flops(shipped.dtype("weight", "fp8"), shipped.gpu("a100-sxm-80gb")) / 1e12
    312.0
    """
    own = gpu.flops.get(dtype.compute_column)
    if own is not None or not dtype.fallback:
        return own
    return gpu.flops.get("bf16", gpu.flops.get("fp16"))
