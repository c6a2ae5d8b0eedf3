"""What cannot be planned: a format that the GPU lacks."""

from __future__ import annotations

from gridplan.catalog.entries import Dtype, Gpu

__all__ = ["attention_kind", "compute_flops", "dtype_problem"]


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
