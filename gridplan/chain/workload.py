"""Traffic of one replica: conventions that turn classes of requests into lengths."""

from __future__ import annotations

import numpy as np

from gridplan.chain.codes import choices, code
from gridplan.chain.graph import Array
from gridplan.chain.kernels import kernels

__all__ = ["resident_tokens", "step_context_tokens"]


def resident_tokens(
    class_weight: Array, class_prompt_tokens: Array, class_output_tokens: Array, resident_context_code: Array
) -> Array:
    """Resident tokens of a sequence by the convention of each cell."""
    options = [
        kernels.resident_tokens(class_weight, class_prompt_tokens, class_output_tokens, convention)
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
