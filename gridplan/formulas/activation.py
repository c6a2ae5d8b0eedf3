"""Peak of activation memory in an engine's profiling run, which it subtracts from the KV pool.

Two peaks compete: the sampler (logits of every sequence, not divided by tensor parallelism) and the forward pass over
one step's tokens. Because the second grows with the token budget, which some engines set from the context length, the
pool may shrink as the context grows.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["activation_forward_bytes", "activation_peak_bytes", "activation_sampler_bytes"]

SAMPLER_BYTES_PER_SEQUENCE_AND_TOKEN_TYPE = 38.7
"""Bytes per sequence and vocabulary entry. Class measurement: public vLLM start-up logs (V0, and V1 to about 0.11),
read 2026-11-29; 1.2 to 1.4 GiB at 256 sequences, 4.8 to 7.4 GiB at 1,024."""

FORWARD_BYTES_PER_TOKEN_AND_CHANNEL = 6.0
"""Bytes per batched token and channel of hidden plus sharded intermediate state. Class measurement: the same logs, read
2026-11-29; within 7% on dense models (Llama-3.1-8B: 2.07 GiB at 20,000 tokens, 2.99 GiB at 29,000)."""


@formula
def activation_sampler_bytes(max_num_seqs: Value, vocab_size: Value) -> Value:
    """Bytes of the sampler's peak: 38.7 B times sequences times vocabulary [bytes].

    >>> round(activation_sampler_bytes(256, 128256) / 2**30, 2)
    1.18
    """
    return SAMPLER_BYTES_PER_SEQUENCE_AND_TOKEN_TYPE * max_num_seqs * vocab_size


@formula
def activation_forward_bytes(
    hidden_size: Value, intermediate_size: Value, tensor_parallel: Value, max_num_batched_tokens: Value
) -> Value:
    """Bytes of the forward pass's peak: 6 B times (hidden + intermediate / tp) times tokens of a step [bytes].

    >>> round(activation_forward_bytes(4096, 14336, 1, 20000) / 2**30, 2)
    2.06
    """
    channels = hidden_size + intermediate_size / tensor_parallel
    return FORWARD_BYTES_PER_TOKEN_AND_CHANNEL * channels * max_num_batched_tokens


@formula
def activation_peak_bytes(
    max_num_seqs: Value,
    vocab_size: Value,
    hidden_size: Value,
    intermediate_size: Value,
    tensor_parallel: Value,
    max_num_batched_tokens: Value,
) -> Value:
    """Bytes of the larger of the two peaks [bytes].

    >>> round(activation_peak_bytes(256, 128256, 4096, 14336, 1, 2048) / 2**30, 2)
    1.18
    """
    sampler = SAMPLER_BYTES_PER_SEQUENCE_AND_TOKEN_TYPE * max_num_seqs * vocab_size
    channels = hidden_size + intermediate_size / tensor_parallel
    return np.maximum(sampler, FORWARD_BYTES_PER_TOKEN_AND_CHANNEL * channels * max_num_batched_tokens)
