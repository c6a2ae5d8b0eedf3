"""What one sequence is charged for in a cache of several layer groups: blocks of a window, of everything, or a state.

A model's layers fall into groups that keep the same kind of cache: full attention, a sliding window, a chunk, a
recurrent state. Every group g hands out blocks of B_g tokens and b_g bytes (all its layers of one rank together), keeps
at most the last `limit` tokens of a sequence, and some blocks beside them whatever its length: the block that a moving
window straddles, the state of a recurrence. So one equation covers all kinds:

    charge(S) = sum over g of (ceil(min(S, limit_g) / B_g) + extra_g) b_g

The group axis is the last one of the four arrays; everything before it broadcasts with the tokens. Source: the KV
cache specifications of vLLM V1 (`max_memory_usage_bytes` of each kind of layer), which reproduce the concurrency that
its start-up logs print.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact

__all__ = ["kv_charge_bytes", "kv_charge_bytes_unrounded"]


def kv_charge_bytes(
    tokens: Value,
    group_block_bytes: Value,
    group_block_tokens: Value,
    group_limit_tokens: Value,
    group_extra_blocks: Value,
) -> Value:
    """Bytes that a sequence of `tokens` occupies in whole blocks: sum (ceil(min(S, limit) / B) + extra) b [bytes].

    tokens [tokens]; group_block_bytes [bytes], group_block_tokens [tokens], group_limit_tokens [tokens, inf for full
    attention, 0 for a state], group_extra_blocks [count], group axis last. gpt-oss-120b with 8,192 batched tokens (18
    full layers of 2,048 B a token and 18 that keep a window of 128), at 131,072 tokens and at 8,192:

    >>> groups = ([589824.0, 589824.0], [16, 16], [float("inf"), 127 + 8192], [0, 1])
    >>> kv_charge_bytes(131072, *groups) / 131072, kv_charge_bytes(8192, *groups) / 8192
    (39208.5, 73800.0)
    """
    return _summed(ceil_exact, tokens, group_block_bytes, group_block_tokens, group_limit_tokens, group_extra_blocks)


def kv_charge_bytes_unrounded(
    tokens: Value,
    group_block_bytes: Value,
    group_block_tokens: Value,
    group_limit_tokens: Value,
    group_extra_blocks: Value,
) -> Value:
    """The same without rounding up to whole blocks: sum (min(S, limit) / B + extra) b [bytes].

    For a cache whose lost share is already in an efficiency, and for the bytes that a decode step reads.

    >>> kv_charge_bytes_unrounded(100, [2097152.0], [16], [float("inf")], [0])
    13107200.0
    """
    return _summed(lambda x: x, tokens, group_block_bytes, group_block_tokens, group_limit_tokens, group_extra_blocks)


def _summed(whole: Any, tokens: Value, block_bytes: Value, block_tokens: Value, limit: Value, extra: Value) -> Value:
    length = np.asarray(tokens, dtype=np.float64)[..., np.newaxis]
    size = np.asarray(block_tokens, dtype=np.float64)
    # A state keeps no tokens: its limit of 0 must give 0 blocks also where the length is not known.
    held = np.where(np.asarray(limit) == 0.0, 0.0, np.minimum(length, limit))
    result = np.sum((whole(held / size) + extra) * np.asarray(block_bytes, dtype=np.float64), axis=-1)
    return float(result) if np.ndim(result) == 0 else result
