"""Which degrees of tensor parallelism a model allows."""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["tensor_parallel_legal"]


@formula
def tensor_parallel_legal(
    attention_heads: Value, kv_heads: Value, intermediate_size: Value, tensor_parallel: Value
) -> Value:
    """Whether a model can be sharded so: a bool.

    Attention heads and the MLP's intermediate size must divide by tensor_parallel, and KV heads must divide by it or
    divide it (they are replicated then). NaN is not checked: kv_heads under latent attention, intermediate_size where a
    model has no single one. Source: the divisibility checks of vLLM's parallel layers. Qwen2.5-0.5B has 14 heads, 2 KV
    heads and 4,864 channels:

    >>> [tensor_parallel_legal(14, 2, 4864, tp) for tp in (1, 2, 4, 7)]
    [True, True, False, False]
    """
    broken = np.remainder(attention_heads, tensor_parallel) > 0.0
    broken = broken | (np.remainder(intermediate_size, tensor_parallel) > 0.0)
    apart = (np.remainder(kv_heads, tensor_parallel) > 0.0) & (np.remainder(tensor_parallel, kv_heads) > 0.0)
    return ~(broken | apart)
