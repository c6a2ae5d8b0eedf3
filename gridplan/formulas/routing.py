"""Routing and quotas in replica time: when to leave a warm replica, what an output token counts.

Source: "Inference system design chains" (prefix-affinity spill rule, quota units).
"""

from __future__ import annotations

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value

__all__ = ["quota_context_per_unit", "quota_units_per_output_token", "spill_threshold_s"]


@formula
def spill_threshold_s(prefill_per_token_s: Value, shared_prefix_tokens: Value) -> Value:
    """Prefill work that a warm replica saves: p times the shared prefix [s].

    Route to the warm replica unless its queue holds more than this beyond the shortest. 70B on two H200:

    >>> round(spill_threshold_s(2 * 70.55e9 / (2 * 1979e12 * 0.5), 6000) * 1e3, 1)
    427.8
    """
    return prefill_per_token_s * shared_prefix_tokens


@formula
def quota_units_per_output_token(
    step_per_context_token_s: Value, context_tokens: Value, prefill_per_token_s: Value
) -> Value:
    """Prompt tokens that one output token is worth in replica time: k c / p [prompt tokens].

    >>> k, p = 81920 / (3.35e12 * 0.75), 2 * 70.55e9 / (4 * 1979e12 * 0.5)
    >>> round(quota_units_per_output_token(k, 1700, p), 3), round(quota_units_per_output_token(k, 32768, p), 2)
    (1.555, 29.97)
    """
    return step_per_context_token_s * context_tokens / prefill_per_token_s


@formula
def quota_context_per_unit(prefill_per_token_s: Value, step_per_context_token_s: Value) -> Value:
    """Context at which an output token costs as much as a prompt token: p / k [tokens].

    >>> round(quota_context_per_unit(2 * 70.55e9 / (4 * 1979e12 * 0.5), 81920 / (3.35e12 * 0.75)), 1)
    1093.4
    """
    return prefill_per_token_s / step_per_context_token_s
