"""Traffic of one replica: conventions that turn classes of requests into lengths."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import choices, code
from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels

__all__ = ["longest_prefill", "resident_tokens", "step_context_tokens"]


def resident_tokens(
    class_weight: Array,
    class_prompt_tokens: Array,
    class_output_tokens: Array,
    context_tokens_max: Array,
    resident_context_code: Array,
) -> Array:
    """Resident tokens of a sequence by the convention of each cell.

    The longest is that of the requests, which the longest node of a distribution may fall short of.
    """
    options = [
        context_tokens_max
        if convention == "max"
        else kernels.resident_tokens(class_weight, class_prompt_tokens, class_output_tokens, convention)
        for convention in choices("resident_context")
    ]
    return np.choose(resident_context_code, options)


def step_context_tokens(
    class_weight: Array, class_prompt_tokens: Array, class_output_tokens: Array, step_context_code: Array
) -> Array:
    """Tokens that a decode step reads per sequence by the convention of each cell."""
    mean = kernels.step_context_tokens_mean(class_weight, class_prompt_tokens, class_output_tokens)
    final = kernels.step_context_tokens_final(class_weight, class_prompt_tokens, class_output_tokens)
    return np.asarray(np.where(step_context_code == code("step_context", "mean"), mean, final))


def longest_prefill(
    class_weight: Array, class_prompt_tokens_max: Array, class_prefix_hit_ratio: Array
) -> tuple[Array, Array]:
    """Prompt [tokens] and prefix hits [1] of the class, of those that occur, whose prefill is the longest."""
    weight, prompt, hit = np.broadcast_arrays(class_weight, class_prompt_tokens_max, class_prefix_hit_ratio)
    left = np.where(weight == 0.0, -np.inf, kernels.uncached_tokens(prompt, hit))
    which = np.argmax(left, axis=-1, keepdims=True)
    return np.take_along_axis(prompt, which, axis=-1)[..., 0], np.take_along_axis(hit, which, axis=-1)[..., 0]
