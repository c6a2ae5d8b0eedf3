"""Prompt tokens that the prefix cache does not hold: of a class, of a mix of classes, and of the longest prefill.

The class axis is the last one of every argument, as in `workload`; weights sum to 1 along it. Symbols: w weight, P
prompt tokens, h share of them found in the cache. A cached token is resident and not prefilled. Source: "Inference
system design chains" for the prefill work p P (1 - h); by class because half the requests hitting fully and all hitting
half have one mean and not one queue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridplan.formulas._broadcast import formula
from gridplan.formulas._types import Value
from gridplan.formulas.workload import over_classes

__all__ = ["prefix_hit_ratio_mean", "uncached_tokens", "uncached_tokens_max", "uncached_tokens_mean"]


@formula
def uncached_tokens(class_prompt_tokens: Value, class_prefix_hit_ratio: Value) -> Value:
    """Prompt tokens of a class that are prefilled [tokens]: P (1 - h).

    >>> uncached_tokens(2000, 0.75)
    500.0
    """
    return class_prompt_tokens * (1.0 - class_prefix_hit_ratio)


def prefix_hit_ratio_mean(class_weight: Value, class_prompt_tokens: Value, class_prefix_hit_ratio: Value) -> Value:
    """Share of all prompt tokens of a mix found in the cache [1]: sum w P h / sum w P.

    Exactly the common ratio where all classes have one. 0.9 of a prompt of 3,000 tokens and none of one of 1,000:

    >>> round(prefix_hit_ratio_mean([0.5, 0.5], [3000, 1000], [0.9, 0.0]), 12)
    0.675
    """
    return over_classes(_mean_ratio, class_weight, class_prompt_tokens, class_prefix_hit_ratio)


def uncached_tokens_mean(class_weight: Value, class_prompt_tokens: Value, class_prefix_hit_ratio: Value) -> Value:
    """Mean number of prompt tokens that are prefilled [tokens]: sum w P (1 - h).

    >>> round(uncached_tokens_mean([0.5, 0.5], [3000, 1000], [0.9, 0.0]), 9)
    650.0
    """
    return over_classes(_mean, class_weight, class_prompt_tokens, class_prefix_hit_ratio)


def uncached_tokens_max(class_weight: Value, class_prompt_tokens: Value, class_prefix_hit_ratio: Value) -> Value:
    """Most prompt tokens that a request prefills [tokens]: max P (1 - h) over the classes that occur (weight above 0).

    The longest prompt need not be it:

    >>> uncached_tokens_max([0.5, 0.5], [3000, 1000], [0.9, 0.0])
    1000.0
    """
    return over_classes(_most, class_weight, class_prompt_tokens, class_prefix_hit_ratio)


def _mean_ratio(w: Any, p: Any, h: Any) -> Any:
    # From the lowest ratio up: with one ratio for all, the sum is 0 and nothing is rounded.
    lowest = np.min(np.where(w == 0.0, np.inf, w * 0.0 + h), axis=-1, keepdims=True)
    return lowest[..., 0] + np.sum(w * p * (h - lowest), axis=-1) / np.sum(w * p, axis=-1)


def _mean(w: Any, p: Any, h: Any) -> Any:
    return np.sum(w * p, axis=-1) * (1.0 - _mean_ratio(w, p, h))


def _most(w: Any, p: Any, h: Any) -> Any:
    return np.max(np.where(w == 0.0, -np.inf, w * 0.0 + p * (1.0 - h)), axis=-1)
