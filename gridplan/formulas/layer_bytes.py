"""Bytes that one layer keeps on one rank: of a token where it keeps keys and values, of a sequence where a state.

Symbols: H KV heads, d_k and d_v head dimensions of keys and values, b bytes an element. Heads are replicated when
tensor parallelism exceeds them, a latent cache is whole on every rank, a recurrent state is sharded. Sources: vLLM's KV
cache specifications, reproduced by the bytes per token of public start-up logs; for sparse attention the FP8 layout of
DeepSeek-V3.2 (FlashMLA).
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact

__all__ = [
    "layer_bytes_per_token_attention",
    "layer_bytes_per_token_indexer",
    "layer_bytes_per_token_latent",
    "layer_bytes_per_token_latent_fp8",
    "layer_state_bytes",
]

FP8_SCALE_TOKENS_LATENT = 128
"""Latent elements that share one FP32 scale in the FP8 layout of sparse MLA (fact: FlashMLA, DeepSeek-V3.2)."""

CONV_WINDOW_TOKENS = 3.0
"""Tokens that the convolution of a recurrent layer keeps: its kernel of 4 less 1 (fact: vLLM's mamba state shapes)."""

BYTES_16BIT, BYTES_32BIT, BITS_PER_BYTE = 2.0, 4.0, 8.0


@formula
def layer_bytes_per_token_attention(
    kv_heads: Value, k_head_dim: Value, v_head_dim: Value, kv_element_bytes: Value, tensor_parallel: Value = 1.0
) -> Value:
    """Keys and values of one token in one layer of a rank: max(1, ceil(H/tp)) (d_k + d_v) b [bytes].

    Llama-3 (8 heads of 128, 16 bits) on one GPU, on 4, and on 16, where each head is held twice:

    >>> [layer_bytes_per_token_attention(8, 128, 128, 2, tp) for tp in (1, 4, 16)]
    [4096.0, 1024.0, 512.0]
    """
    heads = np.maximum(ceil_exact(kv_heads / tensor_parallel), 1.0)
    return heads * (k_head_dim + v_head_dim) * kv_element_bytes


@formula
def layer_bytes_per_token_latent(kv_lora_rank: Value, qk_rope_head_dim: Value, kv_element_bytes: Value) -> Value:
    """Latent vector of one token in one MLA layer, on every rank alike: (rank + rope) b [bytes].

    >>> layer_bytes_per_token_latent(512, 64, 2)
    1152.0
    """
    return (kv_lora_rank + qk_rope_head_dim) * kv_element_bytes


@formula
def layer_bytes_per_token_latent_fp8(kv_lora_rank: Value, qk_rope_head_dim: Value) -> Value:
    """The same in the FP8 layout of sparse MLA: rank + 4 rank/128 + 2 rope [bytes].

    FP8 elements, an FP32 scale for each 128 of them, and the rotary part in 16 bits:

    >>> layer_bytes_per_token_latent_fp8(512, 64)
    656.0
    """
    scales = BYTES_32BIT * ceil_exact(kv_lora_rank / FP8_SCALE_TOKENS_LATENT)
    return kv_lora_rank + scales + BYTES_16BIT * qk_rope_head_dim


@formula
def layer_bytes_per_token_indexer(index_head_dim: Value) -> Value:
    """Indexer key of one token in one layer of sparse attention: d + 4 d/128, always FP8 with its scales [bytes].

    >>> layer_bytes_per_token_indexer(128)
    132.0
    """
    return index_head_dim + BYTES_32BIT * ceil_exact(index_head_dim / FP8_SCALE_TOKENS_LATENT)


@formula
def layer_state_bytes(
    recurrent_elements: Value,
    conv_elements: Value,
    recurrent_bits: Value,
    tensor_parallel: Value = 1.0,
    num_speculative_tokens: Value = 0.0,
) -> Value:
    """State of one sequence in one recurrent layer of a rank: (n_rec bits/8 + 2 n_conv (1 + k/3)) / tp [bytes].

    The convolution's window stays in 16 bits; it holds the last three tokens (kernel 4, as all published models have)
    and the k speculative ones. Qwen3-Next-80B on two GPUs, its state in 16 bits; Qwen3.5-122B with one MTP token:

    >>> layer_state_bytes(524288, 24576, 16, 2), layer_state_bytes(1048576, 36864, 32, 1, 1)
    (548864.0, 4292608.0)
    """
    window = conv_elements * (1.0 + num_speculative_tokens / CONV_WINDOW_TOKENS)
    return (recurrent_elements * recurrent_bits / BITS_PER_BYTE + window * BYTES_16BIT) / tensor_parallel
