"""Reads of routed experts: a step reads the experts that any of its tokens chose, so few tokens read few experts.

Each token chooses K of E experts in every layer. With choices that are even and independent, a step of T tokens touches
the share 1 - (1 - K/E)^T of them; real routing is less even, so this is an upper figure (assumption). T counts every
token that passes the experts in the step: one for each decoding sequence and those of a prompt's chunk; where
data-parallel ranks share the experts, the tokens of all ranks. Attention, shared experts and dense layers are read by
every step. Source of the union: expected number of distinct items in repeated draws; Pope et al. 2022,
arXiv:2211.05102, for a step that is bound by the weights it reads.
"""

from __future__ import annotations

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["chunk_experts_s", "experts_touched_share", "step_experts_s", "step_weights_at_batch_s"]


def _touched(num_experts: Value, experts_per_token: Value, step_tokens: Value) -> Value:
    # In logarithms a small share keeps its digits; no token would be 0 times infinity where every expert is chosen.
    share = -np.expm1(step_tokens * np.log1p(-experts_per_token / num_experts))
    return np.where(step_tokens == 0, 0.0, share)


@formula
def experts_touched_share(num_experts: Value, experts_per_token: Value, step_tokens: Value) -> Value:
    """Expected share of the experts that at least one of `step_tokens` tokens chooses: 1 - (1 - K/E)^T [1].

    step_tokens [tokens] may be a mean, so need not be whole; 0 tokens touch none. At two of four experts each:

    >>> experts_touched_share(4, 2, 0), experts_touched_share(4, 2, 1), experts_touched_share(4, 2, 2)
    (0.0, 0.5, 0.75)
    >>> round(experts_touched_share(128, 8, 64), 4)  # 1 - (15/16)**64
    0.9839
    """
    return _touched(num_experts, experts_per_token, step_tokens)


@formula
def step_experts_s(
    experts_bytes: Value, expert_ranks: Value, memory_bandwidth_bytes_per_s: Value, mbu_experts: Value
) -> Value:
    """Time to read all routed experts once: W_e / (r BW mbu) [s], the most that a step spends on them.

    experts_bytes [bytes] of the whole model, expert_ranks the GPUs they are spread over, bandwidth [bytes/s] of one
    GPU, mbu_experts the share of it that expert kernels reach [1]. 8 GB over 4 GPUs of 1 TB/s at half of it:

    >>> step_experts_s(8e9, 4, 1e12, 0.5)
    0.004
    """
    return experts_bytes / (expert_ranks * memory_bandwidth_bytes_per_s * mbu_experts)


@formula
def step_weights_at_batch_s(
    step_fixed_s: Value, step_experts_s: Value, num_experts: Value, experts_per_token: Value, decode_batch: Value
) -> Value:
    """Part of a decode step that its context does not change: t_w(n) = t_fixed + t_experts (1 - (1 - K/E)^n) [s].

    Where step_experts_s is 0 (a dense model) it is step_fixed_s, and the counts of experts may be NaN.

    >>> step_weights_at_batch_s(0.002, 0.008, 4, 2, 2)
    0.008
    >>> step_weights_at_batch_s(0.002, 0.0, float("nan"), float("nan"), 2)
    0.002
    """
    read = step_experts_s * _touched(num_experts, experts_per_token, decode_batch)
    return step_fixed_s + np.where(step_experts_s == 0, 0.0, read)


@formula
def chunk_experts_s(
    step_experts_s: Value, num_experts: Value, experts_per_token: Value, chunk_tokens: Value, decode_batch: Value
) -> Value:
    """Reads that a prompt's chunk adds to the step it rides in: t_experts ((1 - K/E)^n - (1 - K/E)^(n + c)) [s].

    A chunk costs at least that, however fast it multiplies: a short prompt of a large MoE is bound by its experts'
    bytes. Beside a large batch n it adds nothing, since the batch reads them anyway. 0 where step_experts_s is 0.

    >>> chunk_experts_s(0.008, 4, 2, 1, 1), chunk_experts_s(0.008, 4, 2, 1, 0)
    (0.002, 0.004)
    """
    alone = _touched(num_experts, experts_per_token, decode_batch)
    added = _touched(num_experts, experts_per_token, decode_batch + chunk_tokens) - alone
    return np.where(step_experts_s == 0, 0.0, step_experts_s * added)
