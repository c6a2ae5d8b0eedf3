"""Bytes of KV cache per token of a model whose layers are alike: of the whole model, and of one rank after sharding.

Symbols: L layers that hold KV, H KV heads, d head dimension, b bytes per element. Source: "Capacity Planning: From
Traffic Profile to GPU Count", section 2.1; the per-rank rules are those of vLLM (KV heads are replicated when tensor
parallelism exceeds them; a latent-attention cache is a full copy on every tensor-parallel rank), which reproduce the
bytes per token in public start-up logs. A pipeline stage holds whole layers, so the fullest stage decides.
"""

from __future__ import annotations

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.formulas.layer_bytes import layer_bytes_per_token_attention, layer_bytes_per_token_latent
from gridplan.rounding import ceil_exact

__all__ = [
    "kv_bytes_per_sequence",
    "kv_bytes_per_token_attention",
    "kv_bytes_per_token_mla",
    "kv_bytes_per_token_per_gpu_attention",
    "kv_bytes_per_token_per_gpu_mla",
]


@formula
def kv_bytes_per_token_attention(kv_layers: Value, kv_heads: Value, head_dim: Value, kv_element_bytes: Value) -> Value:
    """KV bytes of one token in the whole model, keys and values: 2 L H d b [bytes].

    kv_layers [count], kv_heads [count], head_dim [count], kv_element_bytes [bytes]. Llama-3-8B in BF16 holds 128 KiB:

    >>> kv_bytes_per_token_attention(32, 8, 128, 2)
    131072.0
    """
    return kv_layers * layer_bytes_per_token_attention(kv_heads, head_dim, head_dim, kv_element_bytes)


@formula
def kv_bytes_per_token_mla(
    kv_layers: Value, kv_lora_rank: Value, qk_rope_head_dim: Value, kv_element_bytes: Value
) -> Value:
    """KV bytes of one token under multi-head latent attention: L (rank + rope) b [bytes].

    One compressed vector stands for keys and values, so there is no factor 2. kv_layers [count], kv_lora_rank [count],
    qk_rope_head_dim [count], kv_element_bytes [bytes]. DeepSeek-V3 in BF16:

    >>> kv_bytes_per_token_mla(61, 512, 64, 2)
    70272.0
    """
    return kv_layers * layer_bytes_per_token_latent(kv_lora_rank, qk_rope_head_dim, kv_element_bytes)


@formula
def kv_bytes_per_token_per_gpu_attention(
    kv_layers: Value,
    kv_heads: Value,
    head_dim: Value,
    kv_element_bytes: Value,
    tensor_parallel: Value,
    pipeline_parallel: Value,
) -> Value:
    """KV bytes of one token on one rank: 2 ceil(L/pp) max(1, ceil(H/tp)) d b [bytes].

    Heads are replicated when tensor_parallel exceeds them. Llama-3.3-70B (80 layers, 8 heads) at TP4, then at TP16:

    >>> kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, 4, 1)
    81920.0
    >>> kv_bytes_per_token_per_gpu_attention(80, 8, 128, 2, 16, 1)
    40960.0
    """
    layer = layer_bytes_per_token_attention(kv_heads, head_dim, head_dim, kv_element_bytes, tensor_parallel)
    return ceil_exact(kv_layers / pipeline_parallel) * layer


@formula
def kv_bytes_per_token_per_gpu_mla(
    kv_layers: Value,
    kv_lora_rank: Value,
    qk_rope_head_dim: Value,
    kv_element_bytes: Value,
    pipeline_parallel: Value,
) -> Value:
    """KV bytes of one token on one rank under latent attention: ceil(L/pp) (rank + rope) b [bytes].

    Tensor parallelism does not divide it: every rank keeps the whole compressed vector.

    >>> kv_bytes_per_token_per_gpu_mla(61, 512, 64, 2, 2)
    35712.0
    """
    layers = ceil_exact(kv_layers / pipeline_parallel)
    return layers * layer_bytes_per_token_latent(kv_lora_rank, qk_rope_head_dim, kv_element_bytes)


@formula
def kv_bytes_per_sequence(resident_tokens: Value, kv_bytes_per_token: Value) -> Value:
    """KV bytes of one resident sequence, the m of the sizing formula: tokens times bytes per token [bytes].

    With the bytes per token of one rank the result is that rank's. 2,150 tokens of Llama-3.3-70B on one of four GPUs:

    >>> kv_bytes_per_sequence(2150, 81920)
    176128000.0
    """
    return resident_tokens * kv_bytes_per_token
