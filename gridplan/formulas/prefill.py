"""Time of a prompt: parameters that multiply, causal attention over what is cached before it, and the bytes it moves.

A request of P prompt tokens of which U are not cached multiplies 2 N U FLOP in its linear layers. Attention pairs each
new token with every token before it: U (P - U/2) pairs, or at most the window W of a sliding layer, each worth
2 heads (d_qk + d_v) FLOP in a layer. It is small below some 10,000 tokens and outgrows the linear part after. Source:
FLOP counts of FlashAttention, Dao et al. 2022, arXiv:2205.14135; Narayanan et al. 2021, arXiv:2104.04473, appendix.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.rounding import ceil_exact

__all__ = ["attended_pairs", "attention_flop_per_pair", "prefill_chunks", "prefill_uncached_s"]


@formula
def attention_flop_per_pair(num_layers: Value, attention_heads: Value, qk_head_dim: Value, v_head_dim: Value) -> Value:
    """Attention of one pair of tokens: 2 L heads (d_qk + d_v) [FLOP]: scores, and the weighted sum of the values.

    With equal dimensions 4 L heads d. Queries count all heads, whatever the number of KV heads.

    >>> attention_flop_per_pair(80, 64, 128, 128)
    2621440.0
    """
    return 2.0 * num_layers * attention_heads * (qk_head_dim + v_head_dim)


@formula
def attended_pairs(prompt_tokens: Value, uncached_tokens: Value, window_tokens: Value = np.inf) -> Value:
    """Pairs of tokens that a causal prefill of the last U of P tokens attends to: U (P - U/2), less beyond a window.

    Token number t looks at min(t, W) tokens: A(P) - A(P - U) with A(x) = x^2 / 2 up to W, W x - W^2 / 2 beyond.

    >>> attended_pairs(1000, 1000), attended_pairs(1000, 100), attended_pairs(1000, 100, 50)
    (500000.0, 95000.0, 5000.0)
    """

    def area(tokens: Value) -> Value:
        inside = np.minimum(tokens, window_tokens)
        beyond = tokens - inside
        return inside * inside / 2.0 + np.where(beyond > 0, window_tokens * beyond, 0.0)

    return area(prompt_tokens) - area(prompt_tokens - uncached_tokens)


@formula
def prefill_chunks(uncached_tokens: Value, max_num_batched_tokens: Value) -> Value:
    """Steps that a prompt of U uncached tokens takes alone: ceil(U / C) [steps]; at least 1 where U > 0.

    Without a known budget (NaN) it is one step.

    >>> prefill_chunks(2048, 2048), prefill_chunks(2049, 2048), prefill_chunks(100.0, float("nan"))
    (1.0, 2.0, 1.0)
    """
    steps = np.where(np.isnan(max_num_batched_tokens), 1.0, ceil_exact(uncached_tokens / max_num_batched_tokens))
    return np.where(uncached_tokens == 0, 0.0, steps + 0.0 * uncached_tokens)


@formula
def prefill_uncached_s(
    prefill_per_token_s: Value,
    uncached_tokens: Value,
    attention_flop: Value,
    attention_flops: Value,
    chunks: Value = 0.0,
    chunk_experts_s: Value = 0.0,
    chunk_overhead_s: Value = 0.0,
) -> Value:
    """Time of a prompt's prefill: max(p U + attention, chunks x experts read) + chunks x overhead [s].

    prefill_per_token_s [s] of the linear layers and all-reduces, attention_flop [FLOP] of the whole prompt at
    attention_flops [FLOP/s], achieved; each of `chunks` steps reads chunk_experts_s [s] at least and costs
    chunk_overhead_s [s] more than one without a prompt.

    >>> prefill_uncached_s(1e-5, 1000, 4e9, 1e12)
    0.014
    >>> prefill_uncached_s(1e-5, 1000, 0.0, 1e12, 2, 0.02, 0.001)
    0.042
    """
    multiplied = prefill_per_token_s * uncached_tokens + np.where(
        attention_flop == 0, 0.0, attention_flop / attention_flops
    )
    return np.maximum(multiplied, chunks * chunk_experts_s) + chunks * chunk_overhead_s
