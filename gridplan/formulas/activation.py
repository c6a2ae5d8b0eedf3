"""Peak of activation memory in an engine's profiling run, which it subtracts from the KV pool.

Two peaks compete: the sampler (logits of every sequence, not divided by tensor parallelism) and the forward pass over
one step's tokens. Because the second grows with the token budget, which some engines set from the context length, the
pool may shrink as the context grows.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = [
    "activation_forward_bytes",
    "activation_peak_bytes",
    "activation_peak_kept_bytes",
    "activation_sampler_bytes",
    "expert_workspace_bytes",
    "hidden_states_bytes",
]

BYTES_16BIT = 2.0

SAMPLER_BYTES_PER_LOGIT = 38.25
"""Bytes per sequence and vocabulary entry of a sampler that sorts the logits. Class measurement: public vLLM start-up
logs (V0, and V1 to about 0.15), read 2026-11-29: within 2% on ten rows of vocabularies from 50,272 to 201,088. The sort
holds 16-bit and FP32 logits, and values and 64-bit indices twice."""

FORWARD_BYTES_PER_TOKEN_AND_CHANNEL = 6.0
"""Bytes per batched token and channel of hidden plus sharded intermediate state: three 16-bit tensors (gate, up and
their product; residual, input and output). Class measurement: the same logs, read 2026-11-29; within 1% on
Llama-3.1-8B (2.07 GiB at 20,000 tokens, 2.99 GiB at 29,000)."""


@formula
def activation_sampler_bytes(
    max_num_seqs: Value, vocab_size: Value, sampler_bytes_per_logit: Value = SAMPLER_BYTES_PER_LOGIT
) -> Value:
    """Bytes of the sampler's peak: b S V [bytes].

    max_num_seqs S [sequences], vocab_size V [count], sampler_bytes_per_logit b [bytes]: an engine's own, by version.

    >>> round(activation_sampler_bytes(256, 151936) / 2**30, 3)
    1.386
    """
    return sampler_bytes_per_logit * max_num_seqs * vocab_size


@formula
def activation_forward_bytes(
    hidden_size: Value, intermediate_size: Value, tensor_parallel: Value, max_num_batched_tokens: Value
) -> Value:
    """Bytes of the forward pass's peak: 6 B times (hidden + intermediate / tp) times tokens of a step [bytes].

    intermediate_size is that of the dense layers, 0 where every layer is a mixture of experts.

    >>> round(activation_forward_bytes(4096, 14336, 1, 20000) / 2**30, 2)
    2.06
    """
    channels = hidden_size + intermediate_size / tensor_parallel
    return FORWARD_BYTES_PER_TOKEN_AND_CHANNEL * channels * max_num_batched_tokens


@formula
def hidden_states_bytes(hidden_size: Value, max_num_batched_tokens: Value) -> Value:
    """Bytes of one step's hidden states, alive while the sampler runs: 2 B times hidden times tokens [bytes].

    >>> hidden_states_bytes(4096, 8192)
    67108864.0
    """
    return BYTES_16BIT * hidden_size * max_num_batched_tokens


@formula
def expert_workspace_bytes(
    hidden_size: Value,
    moe_intermediate_size: Value,
    experts_per_token: Value,
    tensor_parallel: Value,
    max_num_batched_tokens: Value,
) -> Value:
    """Bytes of a fused expert kernel's buffers: 2 B T k (max(2 I, h) + I), I the experts' width over tp [bytes].

    Each of T tokens passes k experts; gate and up (2 I) share one buffer with the output (h), their product (I) has
    its own. Source: the 16-bit fused kernel of vLLM; measured on vLLM 0.19 as the excess over the sampler's peak.

    >>> round(expert_workspace_bytes(2048, 768, 8, 1, 8192) / 2**30, 3)
    0.344
    """
    width = moe_intermediate_size / tensor_parallel
    rows = max_num_batched_tokens * experts_per_token
    return BYTES_16BIT * rows * (np.maximum(2.0 * width, hidden_size) + width)


@formula
def activation_peak_bytes(
    sampler_bytes: Value, forward_bytes: Value, hidden_bytes: Value, expert_bytes: Value = 0.0
) -> Value:
    """Bytes of the larger peak where buffers of the forward pass are freed before the sampler runs [bytes].

    max(sampler + hidden states, forward + experts): vLLM V0, and V1 to 0.16.

    >>> activation_peak_bytes(30.0, 20.0, 2.0, 5.0)
    32.0
    """
    return np.maximum(sampler_bytes + hidden_bytes, forward_bytes + expert_bytes)


@formula
def activation_peak_kept_bytes(
    sampler_bytes: Value, forward_bytes: Value, hidden_bytes: Value, expert_bytes: Value = 0.0
) -> Value:
    """Bytes of the larger peak where hidden states and expert buffers stay for the whole run [bytes].

    max(sampler, forward) + hidden states + experts: vLLM from 0.17, measured on 0.19.

    >>> activation_peak_kept_bytes(30.0, 20.0, 2.0, 5.0)
    37.0
    """
    return np.maximum(sampler_bytes, forward_bytes) + hidden_bytes + expert_bytes
